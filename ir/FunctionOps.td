// Functions of one number that `math` lacks; a part of FritOps.td.
#ifndef FRIT_FUNCTION_OPS_TD
#define FRIT_FUNCTION_OPS_TD

include "mlir/Interfaces/InferTypeOpInterface.td"

/// `evaluate` of each is in ir/ElementOps.cpp.
class Frit_FunctionOp<string mnemonic> : Frit_Op<mnemonic, [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<Frit_ElementOpInterface, ["getElementWeight"]>,
    DeclareOpInterfaceMethods<Frit_ElementFunctionOpInterface>] # ElementwiseMappable.traits> {
  let arguments = (ins FloatLike:$operand);
  let results = (outs FloatLike:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasFolder = 1;
  let extraClassDefinition = [{
    ::mlir::OpFoldResult $cppClass::fold(FoldAdaptor adaptor) {
      return ::mlir::frit::foldFunction(*this, adaptor.getOperand());
    }
    unsigned $cppClass::getElementWeight() { return 12; }
  }];
}

def Frit_LgammaOp : Frit_FunctionOp<"lgamma"> {
  let summary = "the logarithm of the absolute value of the gamma function";
  let description = [{
    Infinity at 0 and at negative integers, and at both infinities.

    ```mlir
    %y = frit.lgamma %x : tensor<4xf32>
    ```
  }];
}

#endif
