// The targets of the compiler's side of the wall: text that becomes IR or options. `make test` runs them over
// the corpus (tests/unit/compiler/FuzzCorpus.cpp).

#pragma once

#include <string_view>

namespace frit {

/// A size, in the text of IR and in torch.export's; what is read is written and read again as the same.
void fuzzSizes(std::string_view text);

/// The JSON of an exported program: a module, or one diagnostic.
void fuzzProgramJson(std::string_view text);

/// Options as JSON.
void fuzzOptions(std::string_view text);

} // namespace frit
