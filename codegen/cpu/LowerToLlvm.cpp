#include "codegen/cpu/LowerToLlvm.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace mlir::frit;

void mlir::frit::registerLlvmLowering(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, index::IndexDialect,
              LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

namespace {
/// The types depend on the target only, so the converter is the same for every module.
RewritePatternSet conversions(MLIRContext *context, const LLVMTypeConverter &types) {
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  populateFuncToLLVMConversionPatterns(types, patterns);
  index::populateIndexToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  populateVectorToLLVMConversionPatterns(types, patterns);
  return patterns;
}

/// Vector operations without a direct counterpart become ones that have one.
RewritePatternSet vectorPreparations(MLIRContext *context) {
  RewritePatternSet patterns(context);
  vector::populateVectorMaskOpLoweringPatterns(patterns);
  vector::populateVectorShapeCastLoweringPatterns(patterns);
  vector::populateVectorBitCastLoweringPatterns(patterns);
  vector::populateVectorFromElementsUnrollPatterns(patterns);
  return patterns;
}

RewritePatternSet controlFlow(MLIRContext *context) {
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  return patterns;
}
} // namespace

struct LlvmLowering::Patterns {
  explicit Patterns(MLIRContext *context)
      : types(context), vectors(vectorPreparations(context)), loops(controlFlow(context)),
        all(conversions(context, types)) {}

  LLVMTypeConverter types;
  FrozenRewritePatternSet vectors, loops, all;
};

LlvmLowering::LlvmLowering() = default;
LlvmLowering::~LlvmLowering() = default;

std::unique_ptr<llvm::Module> LlvmLowering::lower(ModuleOp module, llvm::LLVMContext &llvmContext) {
  MLIRContext *context = module.getContext();
  std::call_once(isMade, [&] { patterns = std::make_unique<const Patterns>(context); });
  bool hasVectors = false;
  module.walk([&](Operation *op) {
    hasVectors |= isa_and_nonnull<vector::VectorDialect>(op->getDialect());
  });
  if (hasVectors) {
    GreedyRewriteConfig config;
    config.enableFolding(false);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(module, patterns->vectors, config))) {
      module.emitError("vectors of the kernels cannot be lowered");
      return nullptr;
    }
  }
  // A kernel that fails to lower is discarded, so no rollback is needed.
  ConversionConfig config;
  config.allowPatternRollback = false;
  {
    ConversionTarget target(*context);
    target.addIllegalOp<scf::ForOp, scf::IfOp, scf::WhileOp>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(module, target, patterns->loops, config))) {
      return nullptr;
    }
  }
  // One conversion for everything: each pass would walk the module again.
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  if (failed(applyFullConversion(module, target, patterns->all, config))) {
    return nullptr;
  }
  return translateModuleToLLVMIR(module, llvmContext);
}
