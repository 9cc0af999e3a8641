#pragma once

#include "runtime/artifact/Status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace frit {

/// Where in a plan its reader is. A text is made of it only for an error: a load passes thousands
/// of places.
struct PlanPlace {
  const char *what = "";
  std::optional<uint64_t> number = std::nullopt;
  const char *kind = nullptr;

  Status malformed(const std::string &why) const {
    return Status::error(ErrorKind::BadArtifact, std::string("the plan is malformed at ") + what +
                                                     (number ? " " + std::to_string(*number) : "") +
                                                     (kind ? std::string(" (") + kind + ")" : "") +
                                                     ": " + why);
  }
};

} // namespace frit
