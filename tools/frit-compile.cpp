// Compiles an exported program to a .frit artifact, with neither torch nor a GPU in the process.

#include "compiler/Compiler.h"

int main(int argc, char **argv) { return frit::compileMain(argc, argv); }
