#include "passes/schedule/DescribeSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::frit;

std::string mlir::frit::describeCpuSchedule(Attribute schedule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto vectors = [](int64_t count) { return count == 1 ? " vector" : " vectors"; };
  auto emitted = [&](bool once) { os << (once ? ", masked" : ""); };
  llvm::TypeSwitch<Attribute>(schedule)
      .Case([&](CpuPointwiseAttr cpu) {
        os << "pointwise: ";
        if (!cpu.getLane()) {
          os << "one point";
          return;
        }
        os << "vectors along d" << *cpu.getLane() << ", " << cpu.getUnroll()
           << vectors(cpu.getUnroll()) << " a step";
        emitted(cpu.getOnce());
        if (cpu.getTileDim()) {
          os << ", tiles of " << cpu.getTileRows() << " along d" << *cpu.getTileDim();
        }
        os << ", " << cpu.getStretch() << " elements a unit";
        os << (cpu.getStreams() ? ", large stores bypass the cache" : "");
      })
      .Case([&](CpuRowsAttr cpu) {
        os << "rows: reduces along vectors of d" << cpu.getLane() << ", accumulators ";
        llvm::interleave(cpu.getUnroll().asArrayRef(), os, "+");
        emitted(llvm::is_contained(cpu.getOnce().asArrayRef(), true));
        if (cpu.getSplitElements() > 0) {
          os << ", shared out in parts of " << cpu.getSplitElements() << " elements";
        }
        os << (cpu.getKeep() == 0 ? ", recomputes costly values" : "");
      })
      .Case([&](CpuColumnsAttr cpu) {
        os << "columns: vectors along d" << cpu.getLane() << ", tiles of " << cpu.getVectors()
           << vectors(cpu.getVectors());
        if (cpu.getRowDim()) {
          os << " by " << cpu.getRows() << " along d" << *cpu.getRowDim();
        }
        if (cpu.getTiles() > 1) {
          os << ", " << cpu.getTiles() << " together";
        }
        if (cpu.getPartSteps() > 0) {
          os << ", shared out in parts of " << cpu.getPartSteps() << " steps";
        }
        emitted(cpu.getOnce());
        os << (cpu.getPacks() ? ", strided operands are packed" : "");
      });
  return text;
}

std::string mlir::frit::describeSchedule(KernelOp kernel) {
  if (Attribute cpu = kernel.getCpuScheduleAttr()) {
    return describeCpuSchedule(cpu);
  }
  std::string text;
  if (auto gpu = cast_or_null<GpuScheduleInterface>(kernel.getGpuScheduleAttr())) {
    llvm::raw_string_ostream os(text);
    gpu.describe(os);
  }
  return text;
}
