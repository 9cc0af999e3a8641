// Lowers a kernel to the NVVM dialect, by one conversion with one type converter. The standard
// chain of passes leaves unreconciled casts between 32- and 64-bit indices and lowers vector
// accesses through memref descriptors; here indices are 64 bits wide (the kernels compute offsets
// in i32 themselves and extend once) and pointers are bare.

#include "codegen/gpu/ptx/LowerToNvvm.h"

#include "ir/FritAttributes.h"
#include "ir/KernelLists.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

/// An index out of range stops the kernel by a trap, as the assertions of eager's kernels do; the
/// driver reports an illegal instruction.
static void trapOnFailure(gpu::GPUModuleOp module) {
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>("frit_fail");
  if (!callee) {
    return;
  }
  module.walk([&](LLVM::CallOp call) {
    if (call.getCallee() == callee.getName()) {
      OpBuilder builder(call);
      LLVM::Trap::create(builder, call.getLoc());
      call.erase();
    }
  });
  callee.erase();
}

/// Marks the table of a list as a by-value parameter; the conversion of functions would drop the
/// attribute.
static void passTablesByValue(gpu::GPUModuleOp module) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    IntegerAttr bytes = frit::kTableAttr.remove(function);
    if (!bytes) {
      continue;
    }
    Builder builder(function.getContext());
    auto table = LLVM::LLVMArrayType::get(builder.getI64Type(), bytes.getInt() / 8);
    function.setArgAttr(0, "llvm.byval", TypeAttr::get(table));
    function.setArgAttr(0, "llvm.align", builder.getI64IntegerAttr(8));
    function.setArgAttr(0, "nvvm.grid_constant", builder.getUnitAttr());
  }
}

LogicalResult frit::lowerToNvvm(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  // A kernel that fails to lower is discarded, so no rollback is needed.
  ConversionConfig config;
  config.allowPatternRollback = false;
  if (failed(rewriteMathForGpu(module))) {
    return failure();
  }
  trapOnFailure(module);
  {
    RewritePatternSet patterns(context);
    populateSCFToControlFlowConversionPatterns(patterns);
    ConversionTarget target(*context);
    target.addIllegalDialect<scf::SCFDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(module, target, std::move(patterns), config))) {
      return failure();
    }
  }
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(64);
  options.useBarePtrCallConv = true;
  LLVMTypeConverter converter(context, options);
  configureGpuToNVVMTypeConverter(converter);

  RewritePatternSet patterns(context);
  vector::populateVectorStepLoweringPatterns(patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns, /*reassociateFPReductions=*/false,
                                         /*force32BitVectorIndices=*/true,
                                         /*useVectorAlignment=*/true);
  populateGpuToNVVMConversionPatterns(converter, patterns, /*benefit=*/10);

  LLVMConversionTarget target(*context);
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  target.addLegalOp<gpu::GPUModuleOp>();
  target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect, gpu::GPUDialect,
                           math::MathDialect, vector::VectorDialect, ub::UBDialect>();
  if (failed(applyPartialConversion(module, target, std::move(patterns), config))) {
    return failure();
  }
  passTablesByValue(module);
  return success();
}

void frit::registerGpuTargetDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, gpu::GPUDialect, LLVM::LLVMDialect,
                  math::MathDialect, NVVM::NVVMDialect, scf::SCFDialect, ub::UBDialect,
                  vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}
