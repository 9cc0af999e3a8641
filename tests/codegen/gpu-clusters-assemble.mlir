// The same kernels through NVIDIA's assembler for the architectures that have clusters, with no byte spilled.
// REQUIRES: ptxas
// RUN: %python %frit_source/scripts/ptxas-sweep --frit-opt frit-opt --ptxas %ptxas --passes="--frit-schedule-gpu-kernels --frit-generate-gpu-kernels" \
// RUN:   --architectures 90,100 %S/Inputs/cluster-kernels.mlir | FileCheck %s
// CHECK: 12 kernels, 2 architectures, 0 spills
