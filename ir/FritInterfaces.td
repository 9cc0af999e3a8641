// The interfaces of operations that kernels compute element by element, and of GPU schedules.
#ifndef FRIT_INTERFACES_TD
#define FRIT_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Frit_ElementOpInterface : OpInterface<"ElementOpInterface"> {
  let cppNamespace = "::mlir::frit";
  let description = [{
    The properties of an operation with one tensor result that fusion, schedules and kernel programs
    need. The defaults describe an elementwise operation, so upstream `arith` and `math` need no
    external model.
  }];
  let methods = [
    InterfaceMethod<"The sizes that a loop nest of this operation runs over.",
      "::llvm::SmallVector<::mlir::frit::SizeExpr>", "getLoopSizes", (ins), "", [{
        return ::mlir::frit::getSizes(cast<RankedTensorType>($_op->getResult(0).getType()));
      }]>,
    InterfaceMethod<"Where an operand is read at a point of the loop nest.",
      "::mlir::frit::ElementRead", "getElementRead", (ins "unsigned":$operand), "", [{
        return ::mlir::frit::ElementRead::Here;
      }]>,
    InterfaceMethod<"The cost of one evaluation; an addition costs 1.",
      "unsigned", "getElementWeight", (ins), "", [{ return 1; }]>,
    InterfaceMethod<"Whether every element of the result is an element of an operand, unchanged.",
      "bool", "movesElements", (ins), "", [{ return false; }]>
  ];
}

def Frit_ElementFunctionOpInterface : OpInterface<"ElementFunctionOpInterface"> {
  let cppNamespace = "::mlir::frit";
  let description = [{
    A function of one number that `math` lacks. `isMathFunction` is true for it, as for operations
    of `math`. Vector code for f32 on CPUs is in `codegen/math`; f64, GPUs and their emulation call
    the function of C's math.h that has the operation's name.
  }];
  let methods = [
    InterfaceMethod<"The value of the function, as precise as f64 can be.",
      "double", "evaluate", (ins "double":$x)>
  ];
}

def Frit_GpuScheduleInterface : AttrInterface<"GpuScheduleInterface"> {
  let cppNamespace = "::mlir::frit";
  let description = [{A family of GPU kernels with its numbers.}];
  let methods = [
    InterfaceMethod<"Prints the schedule in words, for reports.", "void", "describe",
                    (ins "::llvm::raw_ostream &":$os)>
  ];
}

#endif
