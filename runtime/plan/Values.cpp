// Checks that the API lists the file's types in the same order.

#include "runtime/plan/Values.h"

#include "runtime/plan/DecodedPlan.h"

namespace frit {

static_assert(static_cast<uint8_t>(DataType::F8E5M2FNUZ) ==
                  static_cast<uint8_t>(format::Dtype::MAX) &&
              static_cast<uint8_t>(DataType::F32) == static_cast<uint8_t>(format::Dtype::F32) &&
              static_cast<uint8_t>(DataType::U16) == static_cast<uint8_t>(format::Dtype::U16));

size_t bytesOf(format::Dtype dtype) { return bytesOf(static_cast<DataType>(dtype)); }

const char *nameOf(format::Dtype dtype) { return nameOf(static_cast<DataType>(dtype)); }

} // namespace frit
