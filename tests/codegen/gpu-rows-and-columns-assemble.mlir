// The same kernels through NVIDIA's assembler, with no byte spilled.
// REQUIRES: ptxas
// RUN: %python %frit_source/scripts/ptxas-sweep --frit-opt frit-opt --ptxas %ptxas --passes="--frit-schedule-gpu-kernels --frit-generate-gpu-kernels" \
// RUN:   %S/Inputs/row-column-kernels.mlir | FileCheck %s
// CHECK: 14 kernels, 3 architectures, 0 spills
