// Generators do what the schedule says; what does not fit the kernel is refused here.
#include "codegen/gpu/kernels/Schedules.h"
#include "kernel/StagedAccesses.h"
#include "kernel/VectorAccesses.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::frit;

namespace {
class Check {
public:
  explicit Check(const KernelProgram &program) : kernel(program.getKernel()), program(program) {}

  LogicalResult pointwise(GpuPointwiseAttr as) {
    if (as.getLane().has_value() != (program.getRank() > 0)) {
      return refuse("names a lane dim exactly where the kernel has dims");
    }
    if (!as.getLane()) {
      return success();
    }
    if (!program.getReduces().empty()) {
      return refuse("is pointwise, and the kernel reduces");
    }
    if (kernel.getList() && as.getUnroll() != 1) {
      return refuse("unrolls the chunks of a list");
    }
    return vectors(*as.getLane(), as.getWidth(), 0, program.getRank());
  }

  LogicalResult transpose(GpuTransposeAttr as) {
    if (!program.getReduces().empty() || kernel.getList()) {
      return refuse("has tiles, and the kernel reduces or runs over a list");
    }
    auto neighbours = static_cast<unsigned>(as.getNeighbours());
    for (unsigned dim : {as.getLane(), as.getAcross()}) {
      if (failed(vectors(dim, neighbours, 0, program.getRank()))) {
        return failure();
      }
    }
    StagedAccesses staged(program, as.getLane(), as.getAcross(), neighbours);
    if (staged.loads.empty() && staged.stores.empty()) {
      return refuse("has tiles, and no access is contiguous along d" + Twine(as.getAcross()));
    }
    return success();
  }

  LogicalResult rows(GpuRowsAttr as) {
    if (failed(reduced(as.getLane(), as.getWidth()))) {
      return failure();
    }
    auto chunks = countRowChunks(as.getLane(), as.getWidth());
    if (as.getCluster() > 1 && !chunks) {
      return refuse("shares out a row of unknown length to a cluster");
    }
    if (!chunks || as.getKept() == 0) {
      return success();
    }
    if (*chunks == 0 || !hasWholeChunks(program, as.getLane(), as.getWidth())) {
      return refuse("keeps a row that is empty, or no whole number of chunks");
    }
    return as.getKept() * as.getThreads() * as.getCluster() < *chunks
               ? refuse("keeps fewer chunks than the row has, which is " + Twine(*chunks))
               : success();
  }

  LogicalResult splitRows(GpuSplitRowsAttr as) { return reduced(as.getLane(), as.getWidth()); }

  LogicalResult columns(GpuColumnsAttr as) {
    if (program.getReduces().empty() || !program.getAcross().empty()) {
      return refuse("reduces across its lanes, and the kernel does not, or both ways");
    }
    if (as.getSplit() > 1 && program.isReadAgain()) {
      return refuse("splits columns that are read again");
    }
    return vectors(as.getLane(), as.getWidth(), 0, program.numParallel());
  }

  LogicalResult rowsAndColumns(GpuRowsAndColumnsAttr as) {
    if (program.getAcross().empty() || program.numParallel() == 0) {
      return refuse("reduces over rows, and the kernel does not");
    }
    auto chunks = countRowChunks(as.getLane(), as.getWidth());
    if (!chunks || *chunks == 0 || !hasWholeChunks(program, as.getLane(), as.getWidth())) {
      return refuse("keeps rows whose length is unknown, 0, or no whole number of chunks");
    }
    return vectors(as.getLane(), as.getWidth(), program.numParallel(), program.getRank());
  }

  LogicalResult refuse(const Twine &why) {
    return kernel.emitError("kernel '") << kernel.getSymName() << "': its gpu_schedule " << why;
  }

private:
  std::optional<int64_t> countRowChunks(unsigned lane, int64_t width) {
    return countChunks(program, program.numParallel(), program.getRank(), lane, width)
        .getConstant();
  }

  LogicalResult reduced(unsigned lane, int64_t width) {
    return program.getReduces().empty() || !program.getAcross().empty()
               ? refuse("reduces along its lanes, and the kernel does not, or both ways")
               : vectors(lane, width, program.numParallel(), program.getRank());
  }

  /// The lane dim is one of [begin, end), and some access is a vector along it.
  LogicalResult vectors(unsigned lane, int64_t width, unsigned begin, unsigned end) {
    if (lane < begin || lane >= end) {
      return refuse("has its lanes along d" + Twine(lane) + ", one of d" + Twine(begin) + " to d" +
                    Twine(end - 1) + " is expected");
    }
    if (VectorAccesses(program, lane, static_cast<unsigned>(width)).width != width) {
      return refuse("has vectors of " + Twine(width) + " along d" + Twine(lane) +
                    ", along which no access can be one");
    }
    return success();
  }

  KernelOp kernel;
  const KernelProgram &program;
};
} // namespace

LogicalResult mlir::frit::checkGpuSchedule(const KernelProgram &program, Attribute schedule) {
  Check check(program);
  if (!schedule) {
    return check.refuse("is missing; --frit-schedule-gpu-kernels chooses one");
  }
  return llvm::TypeSwitch<Attribute, LogicalResult>(schedule)
      .Case([&](GpuPointwiseAttr as) { return check.pointwise(as); })
      .Case([&](GpuTransposeAttr as) { return check.transpose(as); })
      .Case([&](GpuRowsAttr as) { return check.rows(as); })
      .Case([&](GpuSplitRowsAttr as) { return check.splitRows(as); })
      .Case([&](GpuColumnsAttr as) { return check.columns(as); })
      .Case([&](GpuRowsAndColumnsAttr as) { return check.rowsAndColumns(as); });
}
