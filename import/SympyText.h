#pragma once

#include "ir/SizeExpr.h"

/// Sizes as torch.export writes them: sympy's constructor form (`srepr`), such as
/// `Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(-1))`.
namespace mlir::frit {

/// Returns the size, or null and the reason (one line) in `error`. `malformed` tells text that is
/// not srepr at all from a function that sizes cannot have; `facts` decide whether truncation is
/// flooring. `onHost` is asked for the innermost calls around what sizes cannot have
/// (`RoundToInt(...)`): it returns a symbol for that text, or null.
SizeExpr parseSympyText(MLIRContext *context, llvm::StringRef text, const SizeFacts &facts,
                        std::string &error, bool &malformed,
                        llvm::function_ref<SizeExpr(llvm::StringRef)> onHost = nullptr);

} // namespace mlir::frit
