// The same kernels through NVIDIA's assembler, for each architecture, with no byte spilled.
// REQUIRES: ptxas
// RUN: %python %frit_source/scripts/ptxas-sweep --frit-opt frit-opt --ptxas %ptxas %S/emit-ptx.mlir | FileCheck %s
// CHECK: 3 kernels, 3 architectures, 0 spills
