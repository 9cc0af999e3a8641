// Functions that the math dialect lacks. CPUs have vector code for f32 and call C's library for f64; a GPU takes its library's.
// RUN: frit-opt %s --frit-schedule-cpu-kernels --frit-generate-cpu-kernels | FileCheck %s --check-prefix=CPU
// RUN: frit-opt %s --frit-schedule-gpu-kernels --frit-generate-gpu-kernels | FileCheck %s --check-prefix=GPU
// RUN: frit-opt %s --frit-schedule-gpu-kernels --frit-generate-gpu-kernels --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX < %t.ptx

// CPU-LABEL: func.func @vectors
// CPU-NOT: llvm.call
// CPU-NOT: frit.lgamma
// CPU: arith.extf {{.*}} : vector<16xf32> to vector<16xf64>
// CPU: math.floor
// CPU: return
// GPU-LABEL: gpu.func @vectors
// GPU: frit.lgamma {{.*}} : vector<4xf32>
// PTX-LABEL: .entry vectors(
// PTX-NOT: .f64
// PTX: ret;
frit.kernel @vectors(%x: tensor<4096xf32>) -> tensor<4096xf32> attributes {symbols = []} {
  %0 = frit.lgamma %x : tensor<4096xf32>
  frit.yield %0 : tensor<4096xf32>
}

// CPU-LABEL: func.func @doubles
// CPU: llvm.call {{.*}} : !llvm.ptr, (f64) -> f64
// CPU: return
// GPU-LABEL: gpu.func @doubles
// GPU: frit.lgamma {{.*}}f64
// PTX-LABEL: .entry doubles(
// PTX: fma.rn.f64
frit.kernel @doubles(%x: tensor<4096xf64>) -> tensor<4096xf64> attributes {symbols = []} {
  %0 = frit.lgamma %x : tensor<4096xf64>
  frit.yield %0 : tensor<4096xf64>
}

// Behind a reduction it is computed on one number.
// CPU-LABEL: func.func @of_sums
// CPU: return
// GPU-LABEL: gpu.func @of_sums
// GPU: gpu.shuffle
// GPU: frit.lgamma {{.*}} : f32
frit.kernel @of_sums(%x: tensor<64x1024xf32>) -> tensor<64xf32> attributes {symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<64x1024xf32> -> tensor<64xf32>
  %1 = frit.lgamma %0 : tensor<64xf32>
  frit.yield %1 : tensor<64xf32>
}
