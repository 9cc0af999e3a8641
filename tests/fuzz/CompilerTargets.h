// The targets of the compiler's side of the wall: text that becomes IR or options. `make test` runs
// them over the corpus (tests/unit/compiler/FuzzCorpus.cpp), scripts/fuzz runs each under
// libFuzzer.

#pragma once

#include <string_view>

namespace frit {

/// A size, in the text of IR and in torch.export's; what is read is written and read again as the
/// same.
void fuzzSizes(std::string_view text);

/// The JSON of an exported program: a module, or one diagnostic.
void fuzzProgramJson(std::string_view text);

/// Options as JSON, lists of buckets among them, and counted sizes.
void fuzzOptions(std::string_view text);

/// A `.pt2` file: an archive and the module of its model, or one line. Takes no more memory than
/// the file can account for.
void fuzzArchive(std::string_view bytes);

} // namespace frit
