#pragma once

#include "ir/SizeExpr.h"

/// Sizes as torch.export writes them: sympy's constructor form (`srepr`), such as
/// `Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(-1))`.
namespace mlir::frit {

/// Returns the size, or null and the reason (one line) in `error`. `malformed` distinguishes text
/// that is not srepr from a function that sizes cannot contain; `facts` decide whether truncation
/// is flooring. `onHost` is called with the innermost calls that sizes cannot contain
/// (`RoundToInt(...)`); it returns a symbol for the text, or null.
SizeExpr parseSympyText(MLIRContext *context, llvm::StringRef text, const SizeFacts &facts,
                        std::string &error, bool &malformed,
                        llvm::function_ref<SizeExpr(llvm::StringRef)> onHost = nullptr);

} // namespace mlir::frit
