// Every pass of the room: graph in, graph out. In pipeline order.
#ifndef FRIT_PASSES_TD
#define FRIT_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Stage contracts
//===----------------------------------------------------------------------===//

def VerifyImportedFormPass : Pass<"frit-verify-imported-form", "::mlir::ModuleOp"> {
  let summary = "check that a module is what the importer promises";
  let description = [{
    A module holds `frit.graph`s only, and a graph only operator calls
    (`frit.aten`), calls of graphs, size and scalar arithmetic, `frit.bind`,
    `frit.store`, `frit.none` and `frit.return`. No region, kernel or legalised
    tensor operation exists yet: if one does, the importer made it.

    ```mlir
    frit.graph @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = frit.aten "aten.relu.default"(%a) [#frit.operand<0>]
           {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]}
           : (tensor<4xf32>) -> tensor<4xf32>
      frit.return %0 : tensor<4xf32>
    }
    ```
  }];
}

#endif
