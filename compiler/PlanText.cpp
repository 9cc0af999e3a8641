#include "compiler/PlanText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace frit {
using namespace format;

namespace {
class PlanPrinter {
public:
  PlanPrinter(const ArtifactT &artifact, const PlanT &plan, llvm::raw_ostream &out)
      : artifact(artifact), plan(plan), out(out) {
    for (const IntConstant &one : plan.int_constants) {
      ints[one.reg()] = one.value();
    }
  }

  void print() {
    out << "plan of graph '" << artifact.graph << "' for " << EnumNameTarget(plan.target) << "\n";
    section("inputs", plan.inputs, [&](const InputT &input) {
      out << input.name << ": " << EnumNameInputKind(input.kind);
      if (input.kind == InputKind::Tensor || input.kind == InputKind::ScalarTensor) {
        printTensor(input.reg);
      } else if (input.kind != InputKind::None) {
        out << " " << (input.kind == InputKind::Float ? "f" : "i") << input.reg;
      }
      out << (input.mutated ? ", written" : "");
    });
    section("symbols", plan.symbols, [&](const SymbolT &symbol) {
      out << symbol.name << " = " << integer(symbol.reg) << ", from input " << symbol.input;
      if (symbol.dim >= 0) {
        out << (symbol.stride ? " stride " : " dim ") << symbol.dim;
      }
      out << ", " << symbol.min << " to " << symbol.max << ", hint " << symbol.hint;
    });
    section("constants", plan.constants, [&](const ConstantT &constant) {
      out << constant.name << ":";
      printTensor(constant.tensor);
    });
    section("buckets", plan.buckets, [&](const BucketT &bucket) {
      out << integer(bucket.dst) << " = of " << integer(bucket.symbol) << " in "
          << joined(bucket.sizes, [](int64_t size) { return std::to_string(size); });
    });
    section("guards", plan.guards, [&](const GuardT &guard) {
      out << EnumNameGuardKind(guard.kind) << " " << integer(guard.holds) << ": "
          << guard.requirement;
    });
    if (!ints.empty()) {
      out << "\nconstants of programs\n";
      for (auto [reg, value] : ints) {
        out << "  i" << reg << " = " << value << "\n";
      }
    }
    for (auto [number, program] : llvm::enumerate(plan.programs)) {
      out << "\nprogram " << number << (number == plan.size_program ? " (sizes)" : "") << "\n";
      for (const Instruction &one : program->code) {
        out << "  " << EnumNameOp(one.op()) << " " << one.dst() << " <- " << one.a() << ", "
            << one.b() << ", " << one.c() << "\n";
      }
    }
    section("kernels", plan.kernels, [&](const KernelT &kernel) {
      out << kernel.name << " (" << kernel.access << "), " << kernel.variants.size()
          << " variants, of " << llvm::join(kernel.operators, " ");
    });
    section("steps", plan.steps, [&](const StepT &step) { printStep(step.action); });
    section("outputs", plan.outputs, [&](const OutputT &output) {
      out << EnumNameOutputKind(output.kind);
      if (output.kind == OutputKind::Tensor) {
        printTensor(output.reg);
      } else if (output.kind != OutputKind::None) {
        out << " " << output.reg;
      }
    });
  }

private:
  template <typename Entry, typename Print>
  void section(const char *title, const std::vector<std::unique_ptr<Entry>> &entries,
               Print &&print) {
    if (!entries.empty()) {
      out << "\n" << title << "\n";
    }
    for (auto [number, entry] : llvm::enumerate(entries)) {
      out << "  " << number << " ";
      print(*entry);
      out << "\n";
    }
  }

  std::string integer(uint32_t reg) const {
    auto known = ints.find(reg);
    return reg == kNoRegister    ? "none"
           : known == ints.end() ? "i" + std::to_string(reg)
                                 : std::to_string(known->second);
  }

  template <typename T, typename Text>
  static std::string joined(const std::vector<T> &list, Text &&text) {
    return "[" + llvm::join(llvm::map_range(list, text), ", ") + "]";
  }
  std::string integers(const std::vector<uint32_t> &registers) const {
    return joined(registers, [&](uint32_t reg) { return integer(reg); });
  }
  static std::string tensors(const std::vector<uint32_t> &registers) {
    return joined(registers, [](uint32_t reg) { return "t" + std::to_string(reg); });
  }

  void printTensor(uint32_t reg) {
    if (reg == kNoRegister) {
      return;
    }
    const TensorT &tensor = *plan.tensors[reg];
    out << " t" << reg << " " << EnumNameDtype(tensor.dtype);
    if (tensor.rank >= 0) {
      out << integers(tensor.sizes);
    }
    if (!tensor.strides.empty()) {
      out << " strides " << integers(tensor.strides);
    }
  }

  std::string value(const ValueT &one) const {
    std::string name = one.name.empty() ? "" : one.name + "=";
    switch (one.kind) {
    case ValueKind::Tensor:
      return name + "t" + std::to_string(one.reg);
    case ValueKind::IntReg:
    case ValueKind::BoolReg:
      return name + integer(one.reg);
    case ValueKind::FloatReg:
      return name + "f" + std::to_string(one.reg);
    case ValueKind::Int:
    case ValueKind::Bool:
      return name + std::to_string(one.integer);
    case ValueKind::Double:
      return name + (one.real ? std::to_string(*one.real) : "0");
    case ValueKind::String:
      return name + "'" + one.string + "'";
    case ValueKind::List:
      return name + values(one.items);
    default:
      return name + EnumNameValueKind(one.kind);
    }
  }
  std::string values(const std::vector<std::unique_ptr<ValueT>> &list) const {
    return joined(list, [&](const std::unique_ptr<ValueT> &one) { return value(*one); });
  }

  void printLaunch(const LaunchT &launch) {
    out << plan.kernels[launch.kernel]->name << tensors(launch.tensors) << " ints "
        << integers(launch.ints);
    for (const auto &variant : launch.variants) {
      out << "; ";
      if (variant->guard != kNoRegister) {
        out << "if " << integer(variant->guard) << " ";
      }
      out << (plan.target == Target::Cpu ? "units " : "grid ")
          << joined(variant->launches, [&](const std::unique_ptr<LaunchSizesT> &sizes) {
               return integer(sizes->x) +
                      (sizes->y == kNoRegister ? "" : " x " + integer(sizes->y)) +
                      (sizes->z == kNoRegister ? "" : " x " + integer(sizes->z));
             });
    }
  }

  void printStep(const ActionUnion &action) {
    out << llvm::StringRef(EnumNameAction(action.type)).lower() << " ";
    auto t = [](uint32_t reg) { return "t" + std::to_string(reg); };
    if (const auto *eval = action.AsEval()) {
      out << "program " << eval->program;
    } else if (const auto *alloc = action.AsAlloc()) {
      out << EnumNameStorageClass(alloc->storage) << ", " << integer(alloc->bytes) << " bytes";
      if (alloc->arena_offset != kNoRegister) {
        out << " at " << integer(alloc->arena_offset) << " of the arena";
      }
      printTensor(alloc->tensor);
    } else if (const auto *reuse = action.AsReuse()) {
      out << "the storage of " << t(reuse->from) << " for";
      printTensor(reuse->tensor);
    } else if (const auto *freed = action.AsFree()) {
      out << t(freed->tensor);
    } else if (const auto *view = action.AsView()) {
      out << "of " << t(view->source);
      if (view->offset != kNoRegister) {
        out << " from " << integer(view->offset);
      }
      printTensor(view->tensor);
    } else if (const auto *launch = action.AsLaunch()) {
      printLaunch(*launch);
    } else if (const auto *call = action.AsAten()) {
      out << call->name << (call->overload.empty() ? "" : ".") << call->overload;
      for (const std::string &graph : call->graphs) {
        out << " " << graph.substr(0, 12);
      }
      out << values(call->arguments) << " -> " << values(call->results) << " (" << call->reason
          << ")";
    } else if (const auto *copy = action.AsCopyInto()) {
      out << t(copy->tensor) << " from " << t(copy->source);
    } else if (const auto *touch = action.AsTouch()) {
      out << t(touch->tensor);
    } else if (const auto *dim = action.AsDim()) {
      out << integer(dim->dst) << " = dim " << dim->dim << " of " << t(dim->tensor);
    } else if (const auto *item = action.AsItem()) {
      out << "register " << item->dst << " = the element of " << t(item->tensor);
    } else if (const auto *wrap = action.AsWrap()) {
      out << "register " << wrap->reg << " as";
      printTensor(wrap->tensor);
    } else if (const auto *check = action.AsCheck()) {
      out << integer(check->reg) << ", else: " << check->message;
    }
  }

  const ArtifactT &artifact;
  const PlanT &plan;
  llvm::raw_ostream &out;
  std::map<uint32_t, int64_t> ints;
};
} // namespace

std::string printPlans(const ArtifactT &artifact) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::interleave(
      artifact.plans, [&](const auto &plan) { PlanPrinter(artifact, *plan, out).print(); },
      [&] { out << "\n"; });
  return text;
}

} // namespace frit
