// Kernels over lists (ir/KernelLists.h), for lists.mlir and for ptxas.

// An optimizer's step over the 148 tensors of a GPT-2, 16384 elements a block.
frit.kernel @adamw(%p: tensor<?xf32, #frit.dims<[p0]>>, %g: tensor<?xf32, #frit.dims<[p0]>>, %m: tensor<?xf32, #frit.dims<[p0]>>,
                   %v: tensor<?xf32, #frit.dims<[p0]>>, %t: tensor<f32>, %lr: f64)
    -> (tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>)
    attributes {list = 148 : i64, sweeps = 16 : i64, symbols = [#frit.symbol<"p0", min = 0>]} {
  %b1 = arith.constant dense<1.0e-01> : tensor<f32>
  %b2 = arith.constant dense<1.0e-03> : tensor<f32>
  %k1 = frit.reindex %b1 <(d0) -> ()> : tensor<f32> -> tensor<?xf32, #frit.dims<[p0]>>
  %k2 = frit.reindex %b2 <(d0) -> ()> : tensor<f32> -> tensor<?xf32, #frit.dims<[p0]>>
  %d = arith.subf %g, %m fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %dm = arith.mulf %k1, %d fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %m1 = arith.addf %m, %dm fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %g2 = arith.mulf %g, %g fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %dv = arith.mulf %k2, %g2 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %v1 = arith.addf %v, %dv fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %power = math.powf %b2, %t : tensor<f32>
  %correction = frit.reindex %power <(d0) -> ()> : tensor<f32> -> tensor<?xf32, #frit.dims<[p0]>>
  %root = math.sqrt %v1 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %deep = arith.addf %root, %correction fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %rate = tensor.from_elements %lr : tensor<f64>
  %rate32 = arith.truncf %rate : tensor<f64> to tensor<f32>
  %rates = frit.reindex %rate32 <(d0) -> ()> : tensor<f32> -> tensor<?xf32, #frit.dims<[p0]>>
  %step = arith.mulf %rates, %m1 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %ratio = arith.divf %step, %deep fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %p1 = arith.subf %p, %ratio fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %p1, %m1, %v1 : tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>
}

// A copy of the parameters in a half type: 8 elements an access; the table fits what every driver takes.
frit.kernel @halves(%p: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xbf16, #frit.dims<[p0]>>
    attributes {list = 100 : i64, sweeps = 1 : i64, symbols = [#frit.symbol<"p0", min = 0>]} {
  %0 = arith.truncf %p : tensor<?xf32, #frit.dims<[p0]>> to tensor<?xbf16, #frit.dims<[p0]>>
  frit.yield %0 : tensor<?xbf16, #frit.dims<[p0]>>
}

// Counters: an item is a block.
frit.kernel @count(%t: tensor<f32>) -> tensor<f32> attributes {list = 5 : i64, sweeps = 1 : i64, symbols = []} {
  %one = arith.constant dense<1.0> : tensor<f32>
  %0 = arith.addf %t, %one : tensor<f32>
  frit.yield %0 : tensor<f32>
}
