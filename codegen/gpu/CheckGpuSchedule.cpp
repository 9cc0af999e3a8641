// Generators do what the schedule says; what does not fit the kernel is refused here.
#include "codegen/gpu/kernels/Schedules.h"
#include "kernel/StagedAccesses.h"
#include "kernel/VectorAccesses.h"

using namespace mlir;
using namespace mlir::frit;

LogicalResult mlir::frit::refuseGpuSchedule(const KernelProgram &program, const Twine &why) {
  KernelOp kernel = program.getKernel();
  return kernel.emitError("kernel '") << kernel.getSymName() << "': its gpu_schedule " << why;
}

LogicalResult mlir::frit::checkVectors(const KernelProgram &program, unsigned lane, int64_t width,
                                       unsigned begin, unsigned end) {
  if (lane < begin || lane >= end) {
    return refuseGpuSchedule(program, "has its lanes along d" + Twine(lane) + ", one of d" +
                                          Twine(begin) + " to d" + Twine(end - 1) + " is expected");
  }
  if (VectorAccesses(program, lane, static_cast<unsigned>(width)).width != width) {
    return refuseGpuSchedule(program, "has vectors of " + Twine(width) + " along d" + Twine(lane) +
                                          ", along which no access can be one");
  }
  return success();
}

static std::optional<int64_t> countRowChunks(const KernelProgram &program, unsigned lane,
                                             int64_t width) {
  return countChunks(program, program.numParallel(), program.getRank(), lane, width).getConstant();
}

static LogicalResult checkReduced(const KernelProgram &program, unsigned lane, int64_t width) {
  return program.getReduces().empty() || !program.getAcross().empty()
             ? refuseGpuSchedule(program,
                                 "reduces along its lanes, and the kernel does not, or both ways")
             : checkVectors(program, lane, width, program.numParallel(), program.getRank());
}

LogicalResult mlir::frit::checkFits(const KernelProgram &program, GpuPointwiseAttr as) {
  if (as.getLane().has_value() != (program.getRank() > 0)) {
    return refuseGpuSchedule(program, "names a lane dim exactly where the kernel has dims");
  }
  if (!as.getLane()) {
    return success();
  }
  if (!program.getReduces().empty() || program.getScan()) {
    return refuseGpuSchedule(program, "is pointwise, and the kernel reduces");
  }
  if (KernelOp(program.getKernel()).getList() && as.getUnroll() != 1) {
    return refuseGpuSchedule(program, "unrolls the chunks of a list");
  }
  return checkVectors(program, *as.getLane(), as.getWidth(), 0, program.getRank());
}

LogicalResult mlir::frit::checkFits(const KernelProgram &program, GpuTransposeAttr as) {
  if (!program.getReduces().empty() || program.getScan() ||
      KernelOp(program.getKernel()).getList()) {
    return refuseGpuSchedule(program, "has tiles, and the kernel reduces or runs over a list");
  }
  auto neighbours = static_cast<unsigned>(as.getNeighbours());
  for (unsigned dim : {as.getLane(), as.getAcross()}) {
    if (failed(checkVectors(program, dim, neighbours, 0, program.getRank()))) {
      return failure();
    }
  }
  StagedAccesses staged(program, as.getLane(), as.getAcross(), neighbours);
  if (staged.loads.empty() && staged.stores.empty()) {
    return refuseGpuSchedule(program, "has tiles, and no access is contiguous along d" +
                                          Twine(as.getAcross()));
  }
  if (staged.bytes > kMostTileBytes) {
    return refuseGpuSchedule(program, "has tiles of " + Twine(staged.bytes) +
                                          " bytes, more than the shared memory of a launch");
  }
  return success();
}

LogicalResult mlir::frit::checkFits(const KernelProgram &program, GpuRowsAttr as) {
  if (failed(checkReduced(program, as.getLane(), as.getWidth()))) {
    return failure();
  }
  auto chunks = countRowChunks(program, as.getLane(), as.getWidth());
  if (as.getCluster() > 1 && !chunks) {
    return refuseGpuSchedule(program, "shares out a row of unknown length to a cluster");
  }
  if (!chunks || as.getKept() == 0) {
    return success();
  }
  if (*chunks == 0 || !hasWholeChunks(program, as.getLane(), as.getWidth())) {
    return refuseGpuSchedule(program, "keeps a row that is empty, or no whole number of chunks");
  }
  return as.getKept() * as.getThreads() * as.getCluster() < *chunks
             ? refuseGpuSchedule(program,
                                 "keeps fewer chunks than the row has, which is " + Twine(*chunks))
             : success();
}

LogicalResult mlir::frit::checkFits(const KernelProgram &program, GpuSplitRowsAttr as) {
  return checkReduced(program, as.getLane(), as.getWidth());
}

LogicalResult mlir::frit::checkFits(const KernelProgram &program, GpuColumnsAttr as) {
  if (program.getReduces().empty() || !program.getAcross().empty()) {
    return refuseGpuSchedule(program,
                             "reduces across its lanes, and the kernel does not, or both ways");
  }
  if (as.getSplit() > 1 && program.isReadAgain()) {
    return refuseGpuSchedule(program, "splits columns that are read again");
  }
  return checkVectors(program, as.getLane(), as.getWidth(), 0, program.numParallel());
}

LogicalResult mlir::frit::checkFits(const KernelProgram &program, GpuRowsAndColumnsAttr as) {
  if (program.getAcross().empty() || program.numParallel() == 0) {
    return refuseGpuSchedule(program, "reduces over rows, and the kernel does not");
  }
  auto chunks = countRowChunks(program, as.getLane(), as.getWidth());
  if (!chunks || *chunks == 0 || !hasWholeChunks(program, as.getLane(), as.getWidth())) {
    return refuseGpuSchedule(program,
                             "keeps rows whose length is unknown, 0, or no whole number of chunks");
  }
  return checkVectors(program, as.getLane(), as.getWidth(), program.numParallel(),
                      program.getRank());
}

LogicalResult mlir::frit::checkGpuSchedule(const KernelProgram &program) {
  Attribute schedule = KernelOp(program.getKernel()).getGpuScheduleAttr();
  if (!schedule) {
    return refuseGpuSchedule(program, "is missing; --frit-schedule-gpu-kernels chooses one");
  }
  return visitGpuSchedule(schedule, [&](auto as) { return checkFits(program, as); });
}
