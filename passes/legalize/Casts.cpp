// Explicit casts and copies: identities in value, up to the dtype. A cast the
// program wrote always rounds, so it is never marked implicit.
#include "passes/legalize/AtenCall.h"

using namespace mlir;
using namespace mlir::frit;

void mlir::frit::addCastRules(RuleTable &table) {
  // Only the dtype of the result matters here; device and layout are left to the plan.
  SingleRule toResult = [](AtenCall &call, TensorBuilder &b) {
    return b.cast(call.tensor(0), call.resultDtype());
  };
  table.addSingle({"aten._to_copy.default", "prims.convert_element_type.default", "aten.to.dtype",
                   "aten.to.dtype_layout", "aten.to.device", "aten.to.other",
                   "aten.type_as.default", "aten.clone.default", "aten.alias.default",
                   "aten.lift_fresh_copy.default", "aten.detach.default", "aten.contiguous.default",
                   "prims.view_of.default", "prims.clone.default"},
                  toResult);
  // copy(self, src): the value of src with self's dtype and sizes.
  table.addSingle({"aten.copy.default"}, [](AtenCall &call, TensorBuilder &b) {
    return b.cast(call.tensor("src"), call.resultDtype());
  });
}
