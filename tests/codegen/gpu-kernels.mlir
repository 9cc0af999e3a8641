// Every kernel of every family through NVIDIA's assembler, for each architecture, with no byte spilled.
// REQUIRES: ptxas
// RUN: %python %frit_source/scripts/ptxas-sweep --frit-opt frit-opt --ptxas %ptxas --passes="--frit-schedule-gpu-kernels --frit-generate-gpu-kernels" \
// RUN:   %S/Inputs/kernels.mlir | FileCheck %s
// CHECK: 79 kernels, 3 architectures, 0 spills
