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
        emitted(cpu.getOnce());
        os << (cpu.getPacks() ? ", strided operands are packed" : "");
      });
  return text;
}

std::string mlir::frit::describeGpuSchedule(Attribute schedule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto lanes = [&](unsigned dim, int64_t width) {
    os << "vectors of " << width << " along d" << dim;
  };
  auto several = [&](int64_t count, StringRef what) {
    if (count > 1) {
      os << ", " << count << " " << what;
    }
  };
  llvm::TypeSwitch<Attribute>(schedule)
      .Case([&](GpuPointwiseAttr gpu) {
        os << "pointwise: ";
        if (!gpu.getLane()) {
          os << "one point";
          return;
        }
        lanes(*gpu.getLane(), gpu.getWidth());
        os << ", blocks of " << gpu.getThreads() << " threads";
        several(gpu.getUnroll(), "vectors a thread");
      })
      .Case([&](GpuTransposeAttr gpu) {
        int64_t edge = 32 * gpu.getNeighbours();
        os << "transpose: tiles of " << edge << " by " << edge << ", d" << gpu.getLane() << " by d"
           << gpu.getAcross();
      })
      .Case([&](GpuRowsAttr gpu) {
        os << "rows: ";
        lanes(gpu.getLane(), gpu.getWidth());
        os << ", " << gpu.getThreads() << " threads a row, blocks of " << gpu.getBlock();
        several(gpu.getCluster(), "blocks a row");
        if (gpu.getKept() > 0) {
          os << ", registers keep " << gpu.getKept() << " vectors a thread";
        }
      })
      .Case([&](GpuSplitRowsAttr gpu) {
        os << "split rows: ";
        lanes(gpu.getLane(), gpu.getWidth());
        os << ", up to " << gpu.getSplit() << " blocks a row";
        several(gpu.getUnroll(), "vectors loaded at once");
      })
      .Case([&](GpuColumnsAttr gpu) {
        os << "columns: ";
        lanes(gpu.getLane(), gpu.getWidth());
        os << ", " << gpu.getThreadsX() << " of 256 threads along it";
        several(gpu.getUnroll(), "rows loaded at once");
        if (gpu.getSplit() > 1) {
          os << ", up to " << gpu.getSplit() << " blocks a column";
        }
      })
      .Case([&](GpuRowsAndColumnsAttr gpu) {
        os << "rows and columns: ";
        lanes(gpu.getLane(), gpu.getWidth());
        os << ", " << gpu.getThreads() << " threads a row, up to " << gpu.getParts()
           << " blocks of " << gpu.getBlock();
      });
  return text;
}

std::string mlir::frit::describeSchedule(KernelOp kernel) {
  if (Attribute cpu = kernel.getCpuScheduleAttr()) {
    return describeCpuSchedule(cpu);
  }
  Attribute gpu = kernel.getGpuScheduleAttr();
  return gpu ? describeGpuSchedule(gpu) : "";
}
