// Runs a .frit artifact on .npy arrays, without torch and without the compiler. See --help.

#include "runtime/standalone/RunMain.h"

int main(int argc, char **argv) { return frit::runMain(argc, argv); }
