// The passes that choose how kernels run.
#ifndef FRIT_SCHEDULE_PASSES_TD
#define FRIT_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChooseSchedulesPass : Pass<"frit-choose-schedules", "::mlir::frit::GraphOp"> {
  let summary = "choose the schedule of every region";
  let description = [{
    Measures a region (rows, columns, where its reads are contiguous). For a CPU
    only its kind is chosen: `schedule-cpu-kernels` chooses the rest after outlining.
    For a GPU it gets the numbers of the first candidate of `listSchedules`
    (`schedule-gpu-kernels` completes them), or of the one that `choices` names:
    `2=1;5=1` is candidate 1 for regions 2 and 5, in the order of the graph. If
    `choices` is given, also as `list`, the graph has in `frit.schedule_candidates`
    how many candidates each region has.

    ```mlir
    frit.region(%x) {schedule = #frit.schedule<row_reduction, <[4, 8]>, reduced 1, <threads = 32>>}
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "cpu or gpu">,
    Option<"arch", "arch", "unsigned", "80", "the oldest GPU architecture that is compiled for: 80, 90 or 100">,
    Option<"choices", "choices", "std::string", "", "the candidates of some regions, or list">
  ];
  let statistics = [
    Statistic<"pointwise", "pointwise", "pointwise regions">,
    Statistic<"rowReductions", "row-reductions", "row reductions">,
    Statistic<"columnReductions", "column-reductions", "column reductions">,
    Statistic<"fullReductions", "full-reductions", "full reductions">,
    Statistic<"scans", "scans", "scans">
  ];
}

def ScheduleGpuKernelsPass : Pass<"frit-schedule-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "give every kernel its schedule on a GPU";
  let description = [{
    Measures the flat program of each kernel (kernel/KernelProgram.h): along which dim accesses are
    vectors and how wide these are, whether a row fits into registers, whether tiles pay. It chooses
    the family of the kernel and completes the numbers that `choose-schedules` gave its region. It
    runs after buffers are planned, as kernels that write over their operands are measured in the
    order of that plan. A kernel that has a schedule keeps it.

    ```mlir
    frit.kernel @add(%a: tensor<64xf32>) -> tensor<64xf32> attributes {symbols = []} {...}
    ```

    becomes

    ```mlir
    frit.kernel @add(%a: tensor<64xf32>) -> tensor<64xf32>
        attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 4, threads = 256>,
                    symbols = []} {...}
    ```
  }];
  let options = [
    Option<"arch", "arch", "unsigned", "80", "the oldest GPU architecture that is compiled for: 80, 90 or 100">
  ];
  let statistics = [
    Statistic<"scheduled", "scheduled", "kernels that got a schedule">
  ];
}

def ScheduleCpuKernelsPass : Pass<"frit-schedule-cpu-kernels", "::mlir::ModuleOp"> {
  let summary = "give every kernel its schedule on a CPU";
  let description = [{
    Measures the flat program of each kernel (kernel/KernelProgram.h) and takes the
    first candidate of `listCpuSchedules`, or the one that `choices` names:
    `2=1;5=1` is candidate 1 for kernels 2 and 5, in the order of the module. If
    `choices` is given, also as `list`, each graph has in
    `frit.schedule_candidates` how many candidates each kernel of the module has. A
    kernel that has a schedule keeps it.

    ```mlir
    frit.kernel @add(%a: tensor<64xf32>) -> tensor<64xf32> attributes {symbols = []} {...}
    ```

    becomes

    ```mlir
    frit.kernel @add(%a: tensor<64xf32>) -> tensor<64xf32>
        attributes {cpu_schedule = #frit.cpu_pointwise<...>, symbols = []} {...}
    ```
  }];
  let options = [
    Option<"level", "level", "std::string", "\"x86-64-v4\"",
           "the lowest level that is compiled for: x86-64-v3 (AVX2) or x86-64-v4 (AVX-512)">,
    Option<"choices", "choices", "std::string", "", "candidates of single kernels, or list">
  ];
  let statistics = [
    Statistic<"pointwise", "pointwise", "pointwise kernels">,
    Statistic<"rows", "rows", "kernels that reduce along their vectors">,
    Statistic<"columns", "columns", "kernels that reduce across their vectors">
  ];
}

#endif
