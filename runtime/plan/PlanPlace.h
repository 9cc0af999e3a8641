#pragma once

#include "runtime/artifact/Status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace frit {

/// The current position in a plan, for messages. It becomes text only for an error, because a load
/// passes thousands of positions.
struct PlanPlace {
  const char *what = "";
  std::optional<uint64_t> number = std::nullopt;
  const char *kind = nullptr;

  Status malformed(const std::string &why) const {
    return Status::error(ErrorKind::BadArtifact, std::string("the plan is malformed at ") + what +
                                                     (number ? " " + std::to_string(*number) : "") +
                                                     (kind ? std::string(" (") + kind + ")" : "") +
                                                     ": " + why + "; compile it again");
  }
};

} // namespace frit
