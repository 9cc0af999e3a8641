// The command line of frit-run: loads an artifact, runs it once on arrays from files, writes the results. No torch, no compiler.

#pragma once

namespace frit {

/// Returns the exit status; errors are one line on stderr.
int runMain(int argc, char **argv);

} // namespace frit
