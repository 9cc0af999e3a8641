// Regions, kernels and launches; a part of FritOps.td.
#ifndef FRIT_KERNEL_OPS_TD
#define FRIT_KERNEL_OPS_TD

//===----------------------------------------------------------------------===//
// Regions and kernels
//===----------------------------------------------------------------------===//

def Frit_RegionOp : Frit_Op<"region", [
    IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "a fusion region: the operations of one kernel";
  let description = [{
    Body arguments correspond to the operands, one to one; `frit.yield` lists the
    results. `result_layouts`, if present, are the memory layouts that the
    consumers need (contiguous otherwise). `fuse-regions` creates regions,
    `choose-schedules` adds `schedule`, and `outline-regions` turns them into kernels.

    `variants` are schedules that may run where their assumptions hold, best first; `schedule`
    assumes nothing. `buffers` has the number of the graph's buffer that each result is written to,
    `writes` the graph arguments among them. Neighbours of one `group` become one launch of a
    kernel over lists (ir/KernelLists.h). `pinned`: the schedule was requested and is not the first
    candidate, so `merge-columns` does not change the region.

    ```mlir
    %y = frit.region(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%x: tensor<4xf32>, %z: tensor<4xf32>):
      %s = arith.addf %x, %z : tensor<4xf32>
      frit.yield %s : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Frit_Value>:$operands,
                       OptionalAttr<Frit_ScheduleAttr>:$schedule,
                       OptionalAttr<ArrayAttr>:$result_layouts,
                       OptionalAttr<Frit_VariantArrayAttr>:$variants,
                       OptionalAttr<I64ArrayAttr>:$buffers,
                       OptionalAttr<DenseI64ArrayAttr>:$writes,
                       OptionalAttr<I64Attr>:$group, UnitAttr:$pinned);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::ValueRange":$operands,
      "::mlir::frit::ScheduleAttr":$schedule, "::mlir::ArrayAttr":$resultLayouts), [{
    build($_builder, $_state, results, operands, schedule, resultLayouts, /*variants=*/{},
          /*buffers=*/{}, /*writes=*/{}, /*group=*/{});
  }]>];
  let assemblyFormat = [{
    `(` $operands `)` attr-dict `:` functional-type($operands, $results) $body
  }];
  let hasVerifier = 1;
}

def Frit_YieldOp : Frit_Op<"yield", [
    Pure, Terminator, ReturnLike, ParentOneOf<["RegionOp", "KernelOp"]>]> {
  let summary = "ends a region or kernel";
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def Frit_KernelOp : Frit_Op<"kernel", [
    IsolatedFromAbove, FunctionOpInterface, Symbol,
    SingleBlockImplicitTerminator<"::mlir::frit::YieldOp">]> {
  let summary = "an outlined region, in terms of its own parameters";
  let description = [{
    Sizes are in terms of `params` (p0, p1, ...), so kernels with equal text
    are the same kernel, whichever graph they come from. Arguments and results have the attribute
    `frit.layout` (strides; the offset is applied by the caller) unless they are contiguous. Created
    by `outline-regions`; `cpu_schedule` is added by `schedule-cpu-kernels`, `gpu_schedule` by
    `schedule-gpu-kernels`.

    `variants` are those of the region. A kernel over lists has the most items of a launch in `list`
    and in `sweeps` how often a GPU block repeats its sweep before the next block takes over.
    `ranges`: the narrower ranges of parameters for which the kernel is specialised.

    ```mlir
    frit.kernel @frit_add_1a2b3c4d(%a: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xf32, #frit.dims<[p0]>>
        attributes {symbols = [#frit.symbol<"p0", min = 2>], schedule = ...} { ... }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       ArrayAttr:$symbols,
                       OptionalAttr<Frit_ScheduleAttr>:$schedule,
                       OptionalAttr<AnyAttrOf<[Frit_CpuPointwiseAttr, Frit_CpuRowsAttr,
                                               Frit_CpuColumnsAttr]>>:$cpu_schedule,
                       OptionalAttr<Frit_GpuScheduleAttr>:$gpu_schedule,
                       OptionalAttr<Frit_VariantArrayAttr>:$variants,
                       OptionalAttr<Frit_AssumptionArrayAttr>:$ranges,
                       OptionalAttr<I64Attr>:$list, OptionalAttr<I64Attr>:$sweeps,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
                                 "::mlir::FunctionType":$type,
                                 "::llvm::ArrayRef<::mlir::Attribute>":$symbols)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ArrayRef<Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ArrayRef<Type> getResultTypes() { return getFunctionType().getResults(); }
    Region *getCallableRegion() { return &getBody(); }
    SizeFacts getSizeFacts();
  }];
}

def Frit_LaunchOp : Frit_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel";
  let description = [{
    `sizes` gives the kernel's parameters in order. A launch of a kernel over lists has `items`
    items: sizes, operands and results are those of the first item, then those of the second ...
    `variants`, `buffers` and `writes` are those of the region.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Frit_Value>:$operands,
                       ArrayAttr:$sizes, OptionalAttr<ArrayAttr>:$result_layouts,
                       OptionalAttr<Frit_VariantArrayAttr>:$variants,
                       OptionalAttr<I64ArrayAttr>:$buffers,
                       OptionalAttr<DenseI64ArrayAttr>:$writes, OptionalAttr<I64Attr>:$items);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::FlatSymbolRefAttr":$kernel,
      "::mlir::ValueRange":$operands, "::mlir::ArrayAttr":$sizes,
      "::mlir::ArrayAttr":$resultLayouts), [{
    build($_builder, $_state, results, kernel, operands, sizes, resultLayouts, /*variants=*/{},
          /*buffers=*/{}, /*writes=*/{}, /*items=*/{});
  }]>];
  let assemblyFormat = [{
    $kernel $sizes `(` $operands `)` attr-dict `:` functional-type($operands, $results)
  }];
}

#endif
