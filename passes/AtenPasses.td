// The passes from ATen to the vocabulary; a part of Passes.td.
#ifndef FRIT_ATEN_PASSES_TD
#define FRIT_ATEN_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// From ATen to the vocabulary
//===----------------------------------------------------------------------===//

def FunctionalizePass : Pass<"frit-functionalize", "::mlir::frit::GraphOp"> {
  let summary = "turn writes through tensors and views into values";
  let description = [{
    Graphs of torch.compile are functional already; an exported program may contain
    `add_`, `copy_` and writes through views. Each write becomes the functional
    operator and, for a view, the operator that writes the changed part back;
    later reads see the new value. One `frit.store` at the end writes each changed
    argument back. A write without a functional form, or through a view that cannot
    be inverted, is an error.

    ```mlir
    %v = frit.aten "aten.select.int"(%x) [#frit.operand<0>, 0, 1]
    %w = frit.aten "aten.add_.Tensor"(%v, %y) [#frit.operand<0>, #frit.operand<1>, 1]
    frit.return %w
    // becomes
    %v = frit.aten "aten.select.int"(%x) [#frit.operand<0>, 0, 1]
    %w = frit.aten "aten.add.Tensor"(%v, %y) [#frit.operand<0>, #frit.operand<1>, 1]
    %n = frit.aten "aten.select_scatter.default"(%x, %w) [#frit.operand<0>, #frit.operand<1>, 0, 1]
    %r = frit.aten "aten.select.int"(%n) [#frit.operand<0>, 0, 1]
    frit.store %n into %x
    frit.return %r
    ```
  }];
  let statistics = [Statistic<"numWrites", "writes", "writes turned into values">];
}

def ResolveAliasesPass : Pass<"frit-resolve-aliases", "::mlir::frit::GraphOp"> {
  let summary = "record which results share memory, and resolve as_strided";
  let description = [{
    Runs while the graph still has the traced operators, whose schemas say what is a view of what.
    Results that share a storage become aliases of the value that owns it, and results in an
    argument's storage aliases of the argument, so that later folding and fusion cannot change
    what shares memory. `as_strided` and `as_strided_scatter` count from the start of a storage,
    on whatever view they are called, so from here on they read the owner of the storage. `copy`
    and the `*_scatter` of slices copy the whole storage of an operand. They and their views stay
    calls if `as_strided` reads memory around that operand, or if elements of it overlap.

    ```mlir
    %v = frit.aten "aten.maximum.default"(%a, %a)
    %s = frit.aten "aten.slice.Tensor"(%v) [#frit.operand<0>, 0, 1, 9223372036854775807, 1]
    frit.return %v, %s      // both of storage <fresh, 0>
    // becomes
    %v = frit.aten "aten.maximum.default"(%a, %a)
    %s = frit.alias %v <[1]> seen <[1], offset 1> <f32> : tensor<6xf32> -> tensor<5xf32>
    frit.return %v, %s
    ```
  }];
  let options = [Option<"firstKept", "first-kept", "int64_t", "-1", "the first result that only the backward sees">];
  let statistics = [
    Statistic<"numAliases", "aliases", "results that became aliases">,
    Statistic<"numRoots", "roots", "calls that read the owner of a storage">];
}

def ReplaceRandomPass : Pass<"frit-replace-random", "::mlir::frit::GraphOp"> {
  let summary = "generate random numbers in kernels, from one seed per graph";
  let description = [{
    Operators that draw random numbers (dropout in training, `rand`, `randn`, `bernoulli`,
    `uniform` ...) become formulas of `frit.random`, which fuse like any other. torch draws only a
    seed, at the position of the first such operator, so `torch.manual_seed`, the order of a program's
    draws and CUDA graphs work as before. The numbers differ from eager's. Each draw has a number
    of its own in the graph. Operators with an explicit generator, and operators whose arguments
    eager refuses, stay calls.

    ```mlir
    %y, %mask = frit.aten "aten.native_dropout.default"(%x) [#frit.operand<0>, 0.1, true]
    // becomes
    %seed = frit.aten "aten.randint.low"() [-9223372036854775808, 9223372036854775807, [], ...] : () -> tensor<i64>
    %k = arith.constant 0 : i64
    %bits = frit.random %seed, %k : tensor<i64> -> tensor<4x8xi32>
    %upper = arith.shrui %bits, %eight : tensor<4x8xi32>
    %mask = arith.cmpi slt, %upper, %limit : tensor<4x8xi32>    // 0.9 * 2^24
    %factor = arith.select %mask, %scale, %zero : tensor<4x8xi1>, tensor<4x8xf32>
    %y = arith.mulf %x, %factor : tensor<4x8xf32>
    ```

    The graph's `frit.random` counts the operators that were replaced, by name.
  }];
  let options = [
    Option<"eagerNumerics", "eager-numerics", "bool", "false",
           "allow no contraction of a multiply and an add">,
    Option<"markOperators", "mark-operators", "bool", "false",
           "number the operations of each operator in 'frit.operator'">];
  let statistics = [
    Statistic<"numReplaced", "replaced", "operators whose numbers kernels generate">,
    Statistic<"numKept", "kept", "random operators left to the dispatcher">,
    Statistic<"numSeeds", "seeds", "seeds drawn">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def LegalizeAtenPass : Pass<"frit-legalize-aten", "::mlir::ModuleOp"> {
  let summary = "lower ATen operators to the vocabulary of the dialect";
  let description = [{
    Each `frit.aten` with a rule (passes/legalize/) becomes `arith` and `math` on
    tensors of one type, `frit.reindex`, `frit.reshape`, `frit.reduce` and so on.
    Type promotion, broadcasting and roundings become explicit: half types are
    computed in f32, and the rounding back is marked `frit.implicit`, so that it
    may be skipped inside a chain; a cast that the program wrote is never marked.
    Every other operator stays and gets a `reason`.

    ```mlir
    %0 = frit.aten "aten.add.Tensor"(%a, %b) [#frit.operand<0>, #frit.operand<1>, 1]
         : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    // becomes
    %1 = frit.reindex %b <(d0, d1) -> (d1)> : tensor<8xf32> -> tensor<4x8xf32>
    %0 = arith.addf %a, %1 fastmath<contract> : tensor<4x8xf32>
    ```

    Integer division is a plain `divsi` or `divui`. At run time a zero divisor raises as in
    eager, and the most negative number over -1 wraps; code generators have to handle both.

    The graph's `frit.legalized` counts the lowered operators by name.
  }];
  let options = [
    Option<"eagerNumerics", "eager-numerics", "bool", "false",
           "allow no contraction of a multiply and an add">,
    Option<"markOperators", "mark-operators", "bool", "false",
           "number the operations of each operator in 'frit.operator'">,
    Option<"gpu", "gpu", "bool", "false",
           "follow ATen's GPU kernels, which accumulate f32 in f32 where its CPU kernels use f64">,
    Option<"deterministic", "deterministic", "bool", "false",
           "on GPUs, sort the rows that operators add at positions of data however few they are">,
    Option<"listRules", "list-rules", "bool", "false",
           "print the names of all operators with a rule">,
    Option<"mutant", "mutant", "std::string", "",
           "plant a mistake, 'OPERATOR:KIND/WHERE/NUMBER', to test tests; "
           "'*:list' lists all in 'frit.mutants'">];
  let statistics = [
    Statistic<"numLegalized", "legalized", "operators lowered to the vocabulary">,
    Statistic<"numKept", "kept", "operators left to the dispatcher">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def RestoreConstantsPass : Pass<"frit-restore-constants", "::mlir::frit::GraphOp"> {
  let summary = "move constants and arithmetic on them to rank 0";
  let description = [{
    Runs after canonicalisation, which makes constants of whole tensors. A splat
    becomes a rank-0 constant and a broadcast, and an elementwise operation on
    broadcast scalars moves to rank 0. The pass also removes identities that upstream
    finds only on static constants: x + -0.0, x - 0.0, x * 1, x / 1, the integer ones,
    and a select of a known condition.

    ```mlir
    %b = frit.reindex %c <(d0) -> ()> : tensor<f32> -> tensor<4xf32>
    %y = math.exp %b : tensor<4xf32>
    // becomes
    %e = math.exp %c : tensor<f32>
    %y = frit.reindex %e <(d0) -> ()> : tensor<f32> -> tensor<4xf32>
    ```
  }];
  let statistics = [
    Statistic<"numSplit", "split", "constants made rank 0">,
    Statistic<"numHoisted", "hoisted", "operations moved to rank 0">,
    Statistic<"numIdentities", "identities", "identities removed">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RequireErrorsPass : Pass<"frit-require-errors", "::mlir::frit::GraphOp"> {
  let summary = "compute whole what may raise an error, even if results need only a part of it";
  let description = [{
    Eager computes every element, so an index out of range or an integer division by zero raises
    an error although a later slice cuts the element away. Runs after legalisation, before anything
    is simplified. What a result, a store or a call reads whole needs nothing. Of anything else
    that may raise, a reduction reads every element (for a gather: every index) and
    `frit.require` keeps the reduction. A fold that drops an operand (x * 0) counts as a reader of nothing.

    What an error cannot undo is a store to an argument or a call of code that is not torch's. On CPUs
    everything before such an effect that may raise is required, as early as it can be known:
    `frit.require` and effects keep their order.

    ```mlir
    %q = arith.divsi %a, %b : tensor<4xi64>
    %r = frit.reindex %q <(d0) -> (d0)> : tensor<4xi64> -> tensor<1xi64>
    // becomes
    %q = arith.divsi %a, %b : tensor<4xi64>
    %m = frit.reduce <max> %q dims [0] : tensor<4xi64> -> tensor<i64>
    frit.require %m : tensor<i64>
    %r = frit.reindex %q <(d0) -> (d0)> : tensor<4xi64> -> tensor<1xi64>
    ```
  }];
  let options = [
    Option<"gpu", "gpu", "bool", "false", "the graph runs on GPUs, where a division raises nothing">];
  let statistics = [
    Statistic<"numRequired", "required", "operations that may raise and are not read whole, or precede an effect">];
  let dependentDialects = ["::mlir::frit::FritDialect"];
}

def NarrowStoresPass : Pass<"frit-narrow-stores", "::mlir::frit::GraphOp"> {
  let summary = "store only the parts of an argument that a graph writes";
  let description = [{
    After `frit-functionalize` a write to a slice of an argument (x[3:5] = v) is a store of the
    whole argument: its old parts and the new one, concatenated. A piece that is the argument's
    own part at the same place needs no store; each other piece is stored into a view of the
    argument. The concatenation remains for other readers.

    ```mlir
    %a = frit.reindex %x <(d0) -> (d0)> : tensor<9xf32> -> tensor<3xf32>
    %b = frit.reindex %x <(d0) -> (d0 + 5)> : tensor<9xf32> -> tensor<4xf32>
    %y = frit.concat %a, %v, %b dim 0 : tensor<3xf32>, tensor<2xf32>, tensor<4xf32> -> tensor<9xf32>
    frit.store %y into %x : tensor<9xf32>, tensor<9xf32>
    // becomes
    %p = frit.reindex %x <(d0) -> (d0 + 3)> : tensor<9xf32> -> tensor<2xf32>
    frit.store %v into %p : tensor<2xf32>, tensor<2xf32>
    ```
  }];
  let statistics = [
    Statistic<"numNarrowed", "narrowed", "stores of whole arguments that became stores of parts">];
}

def HostScalarsByValuePass : Pass<"frit-host-scalars-by-value", "::mlir::frit::GraphOp"> {
  let summary = "pass 0-d CPU tensors of a graph on a GPU to kernels by value";
  let description = [{
    The host knows the value of a 0-d CPU tensor that is an argument or an operator's result
    (with dynamic shapes every Python float is one). Kernels take the value, since they
    cannot read the tensor's memory. Operators left to the dispatcher keep the tensor.
    Graphs on the CPU do not change.

    ```mlir
    // %x: tensor<4xf32> on "cuda:0", %s: tensor<f32> on "cpu"
      %b = frit.reindex %s <(d0) -> ()> : tensor<f32> -> tensor<4xf32>
    // becomes
      %0 = tensor.extract %s[] : tensor<f32>
      %1 = arith.extf %0 : f32 to f64
      %2 = tensor.from_elements %1 : tensor<f64>
      %3 = arith.truncf %2 : tensor<f64> to tensor<f32>
      %b = frit.reindex %3 <(d0) -> ()> : tensor<f32> -> tensor<4xf32>
    ```
  }];
  let statistics = [Statistic<"passed", "passed", "tensors passed by value">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

#endif // FRIT_ATEN_PASSES_TD
