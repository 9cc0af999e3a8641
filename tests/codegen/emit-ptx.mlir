// RUN: frit-opt %s --frit-emit-ptx="arch=90 output=%t.90.ptx" -o /dev/null && FileCheck %s < %t.90.ptx
// RUN: frit-opt %s --frit-emit-ptx="arch=80 output=%t.80.ptx" -o /dev/null && FileCheck %s --check-prefix=SM80 < %t.80.ptx
// RUN: frit-opt %s --frit-emit-ptx="arch=100 output=%t.100.ptx" -o /dev/null && FileCheck %s --check-prefix=SM100 < %t.100.ptx
// RUN: not frit-opt %s --frit-emit-ptx="arch=75 output=%t.75.ptx" -o /dev/null 2>&1 | FileCheck %s --check-prefix=OLD
// OLD: error: no PTX for sm_75: frit knows sm_80, sm_90 and sm_100
// SM80: .target sm_80
// SM100: .target sm_100

gpu.module @kernels {
  // Read-only, not aliased pointers give the non-coherent path; 16-byte accesses stay whole; the block size is declared.
  // CHECK-LABEL: .entry vectors(
  // CHECK: .maxntid 256
  // CHECK: ld.global.nc.v4.b32
  // CHECK-NOT: ld.global
  // CHECK: add.rn.f32
  // CHECK: st.global.v4.b32
  // CHECK-NOT: st.global
  // CHECK: ret
  gpu.func @vectors(%a: !llvm.ptr<1> {llvm.noalias, llvm.readonly}, %o: !llvm.ptr<1> {llvm.noalias}, %n: i64)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %tid = gpu.thread_id x
    %bid = gpu.block_id x
    %t = arith.index_cast %tid : index to i32
    %b = arith.index_cast %bid : index to i32
    %c1024 = arith.constant 1024 : i32
    %c4 = arith.constant 4 : i32
    %base = arith.muli %b, %c1024 : i32
    %off = arith.muli %t, %c4 : i32
    %i = arith.addi %base, %off : i32
    %n32 = arith.trunci %n : i64 to i32
    %in = arith.cmpi slt, %i, %n32 : i32
    scf.if %in {
      %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %po = llvm.getelementptr %o[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %x = llvm.load %pa {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
      %y = arith.addf %x, %x : vector<4xf32>
      llvm.store %y, %po {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    }
    gpu.return
  }

  // What default numerics allows is one instruction; without the flag the rounding of IEEE stays.
  // CHECK-LABEL: .entry math(
  // CHECK-DAG: div.full.f32
  // CHECK-DAG: rcp.approx.ftz.f32
  // CHECK-DAG: div.rn.f32
  // CHECK-DAG: sqrt.approx.f32
  // CHECK-DAG: sqrt.rn.f32
  // CHECK-DAG: rsqrt.approx.f32
  // CHECK-DAG: ex2.approx.ftz.f32
  // CHECK-DAG: ex2.approx.f32
  // CHECK-DAG: max.NaN.f32
  // CHECK-NOT: call
  gpu.func @math(%a: !llvm.ptr<1> {llvm.noalias, llvm.readonly}, %o: !llvm.ptr<1> {llvm.noalias}) kernel {
    %x = llvm.load %a : !llvm.ptr<1> -> f32
    %p1 = llvm.getelementptr %a[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %y = llvm.load %p1 : !llvm.ptr<1> -> f32
    %0 = arith.divf %x, %y fastmath<contract> : f32
    %1 = arith.divf %y, %0 : f32
    %2 = math.sqrt %1 fastmath<contract> : f32
    %3 = math.sqrt %2 : f32
    %4 = math.rsqrt %3 : f32
    %5 = arith.divf %4, %x fastmath<afn> : f32
    %6 = arith.maximumf %5, %y : f32
    %7 = math.exp %6 fastmath<afn> : f32
    %exp2 = math.exp2 %7 : f32
    %8 = math.erf %exp2 : f32
    %9 = math.floor %8 : f32
    llvm.store %9, %o : f32, !llvm.ptr<1>
    gpu.return
  }

  // Shared memory is one dynamic array; barriers and shuffles are single instructions.
  // CHECK-LABEL: .entry exchange(
  // CHECK: shfl.sync.bfly.b32
  // CHECK: st.shared.b32
  // CHECK: bar.sync 0
  // CHECK: ld.shared.b32
  llvm.mlir.global external @frit_shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  gpu.func @exchange(%a: !llvm.ptr<1> {llvm.noalias, llvm.readonly}, %o: !llvm.ptr<1> {llvm.noalias})
      kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tid = gpu.thread_id x
    %t = arith.index_cast %tid : index to i32
    %pa = llvm.getelementptr %a[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %pa : !llvm.ptr<1> -> f32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %other, %valid = gpu.shuffle xor %x, %c1, %c32 : f32
    %s = llvm.mlir.addressof @frit_shared : !llvm.ptr<3>
    %ps = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %other, %ps : f32, !llvm.ptr<3>
    gpu.barrier
    %c127 = arith.constant 127 : i32
    %r = arith.subi %c127, %t : i32
    %pr = llvm.getelementptr %s[%r] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %y = llvm.load %pr : !llvm.ptr<3> -> f32
    %po = llvm.getelementptr %o[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %y, %po : f32, !llvm.ptr<1>
    gpu.return
  }
}
