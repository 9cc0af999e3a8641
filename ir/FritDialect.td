// The definition of the dialect, which all its operations and attributes refer to.
#ifndef FRIT_DIALECT_TD
#define FRIT_DIALECT_TD

include "mlir/IR/OpBase.td"

def Frit_Dialect : Dialect {
  let name = "frit";
  let cppNamespace = "::mlir::frit";
  let summary = "graphs of tensors with symbolic sizes, and the regions they fuse into";
  let description = [{
    A `frit.graph` is one compiled FX graph. Elementwise math inside it is
    upstream `arith` and `math` on ranked tensors; the operations below are
    what upstream lacks: indexing maps with bounds, structured reshapes,
    reductions, data-dependent reads, calls of ATen operators, and the fusion
    regions that become kernels. The symbolic shape is part of the type
    (`#frit.dims`), so two equal types have provably equal shapes.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let extraClassDeclaration = [{ void registerAttributes(); }];
}

#endif
