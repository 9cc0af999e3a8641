#include "runtime/plan/DecodedPlan.h"

#include "runtime/plan/PlanChecks.h"
#include "runtime/plan/PlanLiveness.h"
#include "runtime/plan/PlanPlace.h"
#include "runtime/plan/ScalarProgram.h"

#include <algorithm>

namespace frit {

using namespace format;

namespace {

constexpr uint32_t kMaxRegisters = 1u << 24;

template <typename T> Registers registersOf(const T *vector) {
  return vector ? Registers(vector->data(), vector->size()) : Registers();
}

template <typename T> size_t countOf(const T *vector) { return vector ? vector->size() : 0; }

/// Decodes one plan; stops at the first error.
class Decoder {
public:
  Decoder(const Plan &source, DecodedPlan &plan) : source(source), plan(plan) {}

  Status run() {
    FRIT_RETURN_IF_ERROR(decodeScalars());
    FRIT_RETURN_IF_ERROR(decodeTensors());
    FRIT_RETURN_IF_ERROR(decodeSignature());
    FRIT_RETURN_IF_ERROR(decodeGuards());
    FRIT_RETURN_IF_ERROR(decodeKernels());
    FRIT_RETURN_IF_ERROR(decodeSteps());
    return playThrough(plan);
  }

private:
  const Plan &source;
  DecodedPlan &plan;
  uint32_t intCount = 0, floatCount = 0, tensorCount = 0;
  PlanPlace place = {"signature"};
  /// For each kernel, the index of its first variant counter.
  std::vector<uint32_t> firstCount;

  Status wrong(const std::string &what) const { return place.malformed(what); }

  Status checkInt(uint32_t number, bool optional = false) const {
    return number < intCount || (optional && number == kNoRegister)
               ? Status::ok()
               : wrong("int register " + std::to_string(number) + " of " +
                       std::to_string(intCount));
  }
  Status checkFloat(uint32_t number) const {
    return number < floatCount ? Status::ok()
                               : wrong("float register " + std::to_string(number) + " of " +
                                       std::to_string(floatCount));
  }
  Status checkTensor(uint32_t number) const {
    return number < tensorCount ? Status::ok()
                                : wrong("tensor register " + std::to_string(number) + " of " +
                                        std::to_string(tensorCount));
  }
  Status checkScalar(uint32_t number, Dtype dtype) const {
    return isFloating(dtype) ? checkFloat(number) : checkInt(number);
  }
  Status checkInts(Registers numbers, bool optional = false) const {
    for (uint32_t number : numbers) {
      FRIT_RETURN_IF_ERROR(checkInt(number, optional));
    }
    return Status::ok();
  }

  Status decodeScalars() {
    place = {"registers"};
    intCount = source.int_count();
    floatCount = source.float_count();
    tensorCount = static_cast<uint32_t>(countOf(source.tensors()));
    if (intCount > kMaxRegisters || floatCount > kMaxRegisters) {
      return wrong("more registers than any graph needs");
    }
    plan.initialInts.resize(intCount);
    plan.initialFloats.resize(floatCount);
    if (source.int_constants()) {
      for (const IntConstant *constant : *source.int_constants()) {
        FRIT_RETURN_IF_ERROR(checkInt(constant->reg()));
        plan.initialInts[constant->reg()] = constant->value();
      }
    }
    if (source.float_constants()) {
      for (const FloatConstant *constant : *source.float_constants()) {
        FRIT_RETURN_IF_ERROR(checkFloat(constant->reg()));
        plan.initialFloats[constant->reg()] = constant->value();
      }
    }
    for (size_t number = 0; number < countOf(source.programs()); ++number) {
      const auto *code = source.programs()->Get(static_cast<uint32_t>(number))->code();
      plan.programs.push_back(
          code ? Code(reinterpret_cast<const Instruction *>(code->data()), code->size()) : Code());
      FRIT_RETURN_IF_ERROR(verifyProgram(plan.programs.back(), intCount, floatCount));
    }
    if (source.size_program() != kNoRegister) {
      if (source.size_program() >= plan.programs.size()) {
        return wrong("size program " + std::to_string(source.size_program()));
      }
      plan.sizeProgram = plan.programs[source.size_program()];
    }
    plan.paddedElements = source.padded_elements();
    plan.logicalElements = source.logical_elements();
    if ((plan.paddedElements == kNoRegister) != (plan.logicalElements == kNoRegister)) {
      return wrong("padded elements are counted without the logical ones, or the other way round");
    }
    FRIT_RETURN_IF_ERROR(checkInt(plan.paddedElements, true));
    FRIT_RETURN_IF_ERROR(checkInt(plan.logicalElements, true));
    plan.arenaBytes = source.arena_bytes();
    return checkInt(plan.arenaBytes, true);
  }

  Status decodeTensors() {
    place = {"tensor registers"};
    plan.tensors.reserve(tensorCount);
    for (uint32_t number = 0; number < tensorCount; ++number) {
      const Tensor &tensor = *source.tensors()->Get(number);
      TensorType type = {tensor.dtype(),
                         tensor.device(),
                         tensor.rank(),
                         registersOf(tensor.sizes()),
                         registersOf(tensor.strides()),
                         false};
      if (type.dtype > Dtype::MAX || type.device > Device::MAX) {
        return wrong("unknown dtype or device");
      }
      if (type.rank < -1 || type.rank > 64 ||
          type.sizes.size() != static_cast<size_t>(std::max(type.rank, 0)) ||
          (!type.strides.empty() && type.strides.size() != type.sizes.size())) {
        return wrong("rank, sizes and strides of tensor register " + std::to_string(number) +
                     " do not fit each other");
      }
      type.hasStrides = type.rank == 0 || !type.strides.empty();
      FRIT_RETURN_IF_ERROR(checkInts(type.sizes));
      FRIT_RETURN_IF_ERROR(checkInts(type.strides));
      plan.maxRank = std::max(plan.maxRank, type.sizes.size());
      plan.tensors.push_back(type);
    }
    return Status::ok();
  }

  Status decodeSignature() {
    place = {"signature"};
    for (size_t number = 0; number < countOf(source.inputs()); ++number) {
      const Input &input = *source.inputs()->Get(static_cast<uint32_t>(number));
      place = {"input", number};
      switch (input.kind()) {
      case InputKind::Tensor:
        FRIT_RETURN_IF_ERROR(checkTensor(input.reg()));
        FRIT_RETURN_IF_ERROR(checkInt(input.offset(), true));
        plan.tensors[input.reg()].needsHandle = true;
        if (plan.tensors[input.reg()].rank < 0) {
          return wrong("an input needs a rank");
        }
        break;
      case InputKind::ScalarTensor:
        FRIT_RETURN_IF_ERROR(checkTensor(input.reg()));
        FRIT_RETURN_IF_ERROR(checkScalar(input.scalar(), plan.tensors[input.reg()].dtype));
        plan.tensors[input.reg()].needsHandle = true;
        if (plan.tensors[input.reg()].rank != 0) {
          return wrong("a host scalar has rank 0");
        }
        break;
      case InputKind::Int:
      case InputKind::Bool:
        FRIT_RETURN_IF_ERROR(checkInt(input.reg()));
        FRIT_RETURN_IF_ERROR(checkInt(input.expected(), true));
        break;
      case InputKind::Float:
        FRIT_RETURN_IF_ERROR(checkFloat(input.reg()));
        break;
      case InputKind::None:
        break;
      default:
        return wrong("unknown kind");
      }
    }
    for (size_t number = 0; number < countOf(source.symbols()); ++number) {
      const Symbol &symbol = *source.symbols()->Get(static_cast<uint32_t>(number));
      place = {"symbol", number};
      FRIT_RETURN_IF_ERROR(checkInt(symbol.reg()));
      if (symbol.input() >= countOf(source.inputs())) {
        return wrong("it is bound by an input that is not there");
      }
      const Input &input = *source.inputs()->Get(symbol.input());
      bool fits = symbol.dim() < 0 ? input.kind() == InputKind::Int
                                   : input.kind() == InputKind::Tensor &&
                                         symbol.dim() < plan.tensors[input.reg()].rank;
      if (!fits) {
        return wrong("the input that binds it has no such size");
      }
      if (symbol.divisor() < 1) {
        return wrong("divisor " + std::to_string(symbol.divisor()));
      }
      if (symbol.scale() < 1) {
        return wrong("scale " + std::to_string(symbol.scale()));
      }
    }
    for (size_t number = 0; number < countOf(source.buckets()); ++number) {
      place = {"bucket", number};
      FRIT_RETURN_IF_ERROR(checkBucket(*source.buckets()->Get(static_cast<uint32_t>(number))));
    }
    for (size_t number = 0; number < countOf(source.constants()); ++number) {
      const Constant &constant = *source.constants()->Get(static_cast<uint32_t>(number));
      place = {"constant", number};
      FRIT_RETURN_IF_ERROR(checkTensor(constant.tensor()));
      plan.tensors[constant.tensor()].needsHandle = true;
    }
    for (size_t number = 0; number < countOf(source.outputs()); ++number) {
      const Output &output = *source.outputs()->Get(static_cast<uint32_t>(number));
      place = {"output", number};
      switch (output.kind()) {
      case OutputKind::Tensor:
        FRIT_RETURN_IF_ERROR(checkTensor(output.reg()));
        plan.tensors[output.reg()].needsHandle = true;
        if (output.view_of() != kNoRegister && output.view_of() >= countOf(source.inputs())) {
          return wrong("it is a view of an input that is not there");
        }
        if (output.shares_with() != kNoRegister && output.shares_with() >= number) {
          return wrong("it shares memory with an output that is not before it");
        }
        break;
      case OutputKind::Int:
      case OutputKind::Bool:
        FRIT_RETURN_IF_ERROR(checkInt(output.reg()));
        break;
      case OutputKind::Float:
        FRIT_RETURN_IF_ERROR(checkFloat(output.reg()));
        break;
      case OutputKind::None:
        break;
      case OutputKind::Input:
        if (output.reg() >= countOf(source.inputs())) {
          return wrong("it is an input that is not there");
        }
        break;
      case OutputKind::IntTensor:
        FRIT_RETURN_IF_ERROR(checkInt(output.reg()));
        break;
      case OutputKind::FloatTensor:
        FRIT_RETURN_IF_ERROR(checkFloat(output.reg()));
        break;
      default:
        return wrong("unknown kind");
      }
    }
    return Status::ok();
  }

  Status checkBucket(const Bucket &bucket) const {
    FRIT_RETURN_IF_ERROR(checkInt(bucket.dst()));
    bool isSymbol = false;
    for (size_t number = 0; number < countOf(source.symbols()); ++number) {
      isSymbol |= source.symbols()->Get(static_cast<uint32_t>(number))->reg() == bucket.symbol();
    }
    if (!isSymbol || bucket.dst() == bucket.symbol()) {
      return wrong("it is of no symbol");
    }
    if (countOf(bucket.sizes()) == 0 ||
        !std::is_sorted(bucket.sizes()->begin(), bucket.sizes()->end())) {
      return wrong("its sizes do not ascend");
    }
    return Status::ok();
  }

  Status decodeKernels() {
    for (size_t number = 0; number < countOf(source.kernels()); ++number) {
      const Kernel &kernel = *source.kernels()->Get(static_cast<uint32_t>(number));
      place = {"kernel", number};
      if (countOf(kernel.variants()) == 0) {
        return wrong("no variant");
      }
      for (const KernelVariant *variant : *kernel.variants()) {
        for (size_t launch = 0; launch < countOf(variant->launches()); ++launch) {
          if (!variant->launches()->Get(static_cast<uint32_t>(launch))->entry()) {
            return wrong("a launch without an entry");
          }
        }
      }
      firstCount.push_back(plan.variantCounts);
      if (countOf(kernel.variants()) > 1) {
        plan.kernelsWithVariants.push_back(static_cast<uint32_t>(number));
        plan.variantCounts += static_cast<uint32_t>(countOf(kernel.variants()));
      }
    }
    return Status::ok();
  }

  Status decodeGuards() {
    for (uint32_t number = 0; number < countOf(source.guards()); ++number) {
      const Guard &guard = *source.guards()->Get(number);
      place = {"guard", number};
      for (uint32_t at = 0; at < countOf(guard.symbols()); ++at) {
        if (guard.symbols()->Get(at) >= countOf(source.symbols())) {
          return wrong("symbol " + std::to_string(guard.symbols()->Get(at)) + " is not there");
        }
      }
      if (guard.kind() == GuardKind::Aligned) {
        if (guard.input() >= countOf(source.inputs()) ||
            source.inputs()->Get(guard.input())->kind() != InputKind::Tensor) {
          return wrong("input " + std::to_string(guard.input()) + " is no tensor");
        }
        plan.addressGuards.push_back(&guard);
        continue;
      }
      FRIT_RETURN_IF_ERROR(checkInt(guard.holds()));
      if (plan.sizeGuards.empty()) {
        plan.firstGuard = guard.holds();
      } else if (guard.holds() != plan.firstGuard + plan.sizeGuards.size()) {
        return wrong("its register does not follow that of the guard before");
      }
      plan.sizeGuards.push_back(&guard);
    }
    return Status::ok();
  }

  Status decodeLaunch(const Launch &launch) {
    if (launch.kernel() >= countOf(source.kernels())) {
      return wrong("kernel " + std::to_string(launch.kernel()) + " is not there");
    }
    const Kernel &kernel = *source.kernels()->Get(launch.kernel());
    LaunchSite site = {launch.kernel(),
                       registersOf(launch.tensors()),
                       registersOf(launch.ints()),
                       registersOf(launch.floats()),
                       {},
                       firstCount[launch.kernel()],
                       launch.items()};
    if (std::string fault = takeRoom(site, kernel, source.target()); !fault.empty()) {
      return wrong(fault);
    }
    for (uint32_t number : site.tensors) {
      FRIT_RETURN_IF_ERROR(checkTensor(number));
    }
    FRIT_RETURN_IF_ERROR(checkInts(site.ints));
    for (uint32_t number : site.floats) {
      FRIT_RETURN_IF_ERROR(checkFloat(number));
    }
    plan.maxPointers = std::max(plan.maxPointers, site.tensors.size());
    plan.maxInts = std::max(plan.maxInts, site.ints.size());
    plan.maxFloats = std::max(plan.maxFloats, site.floats.size());
    if (countOf(launch.variants()) != countOf(kernel.variants())) {
      return wrong("the kernel has " + std::to_string(countOf(kernel.variants())) +
                   " variants, its use " + std::to_string(countOf(launch.variants())));
    }
    for (uint32_t number = 0; number < countOf(launch.variants()); ++number) {
      const VariantSizes &sizes = *launch.variants()->Get(number);
      DecodedVariant variant = {sizes.guard(), sizes.workspace(), {}, {}};
      FRIT_RETURN_IF_ERROR(checkInt(variant.guard, true));
      for (uint32_t at = 0; at < countOf(sizes.aligned()); ++at) {
        variant.aligned.push_back(*sizes.aligned()->Get(at));
        if (variant.aligned.back().tensor() >= site.tensors.size()) {
          return wrong("variant " + std::to_string(number) +
                       " speaks of a tensor that is not there");
        }
      }
      FRIT_RETURN_IF_ERROR(checkInt(variant.workspace, true));
      if (countOf(sizes.launches()) !=
          site.items * countOf(kernel.variants()->Get(number)->launches())) {
        return wrong("number of launches of variant " + std::to_string(number));
      }
      for (uint32_t at = 0; at < countOf(sizes.launches()); ++at) {
        const LaunchSizes &grid = *sizes.launches()->Get(at);
        FRIT_RETURN_IF_ERROR(checkInt(grid.x()));
        FRIT_RETURN_IF_ERROR(checkInt(grid.y(), true));
        FRIT_RETURN_IF_ERROR(checkInt(grid.z(), true));
        variant.launches.push_back({grid.x(), grid.y(), grid.z()});
      }
      site.variants.push_back(std::move(variant));
    }
    if (site.items > 1 && site.variants.back().workspace != kNoRegister) {
      return wrong("a workspace for a list of items");
    }
    if (site.variants.back().guard != kNoRegister || !site.variants.back().aligned.empty()) {
      return wrong("the last variant must run always");
    }
    plan.sites.push_back(std::move(site));
    return Status::ok();
  }

  /// Checks the registers of an argument or result tree; `isResult` allows only the kinds of
  /// results.
  Status checkValue(const Value &value, bool isResult) {
    switch (value.kind()) {
    case ValueKind::Tensor:
      FRIT_RETURN_IF_ERROR(checkTensor(value.reg()));
      plan.tensors[value.reg()].needsHandle = true;
      return Status::ok();
    case ValueKind::IntReg:
    case ValueKind::BoolReg:
      return checkInt(value.reg());
    case ValueKind::FloatReg:
      return checkFloat(value.reg());
    case ValueKind::None:
      return Status::ok();
    case ValueKind::List:
      for (size_t at = 0; at < countOf(value.items()); ++at) {
        FRIT_RETURN_IF_ERROR(checkValue(*value.items()->Get(static_cast<uint32_t>(at)), isResult));
      }
      return Status::ok();
    default:
      return value.kind() > ValueKind::MAX || isResult ? wrong("unknown kind of value")
                                                       : Status::ok();
    }
  }

  Status checkCall(const Aten &call) {
    if (!call.name()) {
      return wrong("a call without a name");
    }
    for (size_t at = 0; at < countOf(call.arguments()); ++at) {
      FRIT_RETURN_IF_ERROR(checkValue(*call.arguments()->Get(static_cast<uint32_t>(at)), false));
    }
    for (size_t at = 0; at < countOf(call.results()); ++at) {
      FRIT_RETURN_IF_ERROR(checkValue(*call.results()->Get(static_cast<uint32_t>(at)), true));
    }
    return Status::ok();
  }

  Status needHandle(uint32_t tensor) {
    FRIT_RETURN_IF_ERROR(checkTensor(tensor));
    plan.tensors[tensor].needsHandle = true;
    return Status::ok();
  }

  /// Checks that a register's sizes and strides are known, so that it can be allocated.
  Status checkShaped(uint32_t tensor) {
    FRIT_RETURN_IF_ERROR(checkTensor(tensor));
    return plan.tensors[tensor].rank >= 0 && plan.tensors[tensor].hasStrides
               ? Status::ok()
               : wrong("tensor register " + std::to_string(tensor) + " has no sizes or strides");
  }

  Status decodeSteps() {
    plan.steps.reserve(countOf(source.steps()));
    for (uint32_t number = 0; number < countOf(source.steps()); ++number) {
      const Step &step = *source.steps()->Get(number);
      place = {"step", number, EnumNameAction(step.action_type())};
      FRIT_RETURN_IF_ERROR(decodeStep(step));
    }
    return Status::ok();
  }

  Status decodeStep(const Step &step) {
    DecodedStep decoded = {};
    switch (step.action_type()) {
    case Action::Eval: {
      decoded = {StepKind::Eval, 0, step.action_as_Eval()->program()};
      if (decoded.a >= plan.programs.size()) {
        return wrong("program " + std::to_string(decoded.a) + " is not there");
      }
      break;
    }
    case Action::Alloc: {
      const Alloc &alloc = *step.action_as_Alloc();
      FRIT_RETURN_IF_ERROR(checkShaped(alloc.tensor()));
      FRIT_RETURN_IF_ERROR(checkInt(alloc.bytes()));
      FRIT_RETURN_IF_ERROR(checkInt(alloc.arena_offset(), true));
      FRIT_RETURN_IF_ERROR(checkInt(alloc.offset(), true));
      if (alloc.offset() != kNoRegister && alloc.storage() == StorageClass::Temporary) {
        return wrong("only a result can begin inside of its storage");
      }
      FRIT_RETURN_IF_ERROR(checkInt(alloc.capacity(), true));
      if (alloc.capacity() != kNoRegister && alloc.storage() != StorageClass::Temporary) {
        return wrong("only a temporary is larger than it has to be");
      }
      plan.tensors[alloc.tensor()].offset = alloc.offset();
      plan.tensors[alloc.tensor()].capacity = alloc.capacity();
      if (alloc.storage() != StorageClass::Temporary) {
        plan.tensors[alloc.tensor()].needsHandle = true;
        if (alloc.arena_offset() != kNoRegister) {
          return wrong("what the user sees cannot lie in the arena");
        }
      }
      if (alloc.arena_offset() != kNoRegister && plan.arenaBytes == kNoRegister) {
        return wrong("the plan has no arena");
      }
      decoded = {StepKind::Alloc, static_cast<uint8_t>(alloc.storage()), alloc.tensor(),
                 alloc.bytes(), alloc.arena_offset()};
      break;
    }
    case Action::Reuse: {
      const Reuse &reuse = *step.action_as_Reuse();
      FRIT_RETURN_IF_ERROR(checkShaped(reuse.tensor()));
      FRIT_RETURN_IF_ERROR(checkTensor(reuse.from()));
      decoded = {StepKind::Reuse, 0, reuse.tensor(), reuse.from()};
      break;
    }
    case Action::Free:
      decoded = {StepKind::Free, 0, step.action_as_Free()->tensor()};
      FRIT_RETURN_IF_ERROR(checkTensor(decoded.a));
      break;
    case Action::View: {
      const View &view = *step.action_as_View();
      FRIT_RETURN_IF_ERROR(checkShaped(view.tensor()));
      FRIT_RETURN_IF_ERROR(checkTensor(view.source()));
      FRIT_RETURN_IF_ERROR(checkInt(view.offset(), true));
      decoded = {StepKind::View, view.checks(), view.tensor(), view.source(), view.offset()};
      if (view.checks()) {
        FRIT_RETURN_IF_ERROR(needHandle(view.source()));
      }
      break;
    }
    case Action::Launch:
      decoded = {StepKind::Launch, 0, static_cast<uint32_t>(plan.sites.size())};
      FRIT_RETURN_IF_ERROR(decodeLaunch(*step.action_as_Launch()));
      break;
    case Action::Aten:
      decoded = {StepKind::Aten, 0, static_cast<uint32_t>(plan.atenCalls.size())};
      FRIT_RETURN_IF_ERROR(checkCall(*step.action_as_Aten()));
      plan.atenCalls.push_back(step.action_as_Aten());
      break;
    case Action::CopyInto:
      decoded = {StepKind::CopyInto, 0, step.action_as_CopyInto()->tensor(),
                 step.action_as_CopyInto()->source()};
      FRIT_RETURN_IF_ERROR(needHandle(decoded.a));
      FRIT_RETURN_IF_ERROR(needHandle(decoded.b));
      break;
    case Action::Touch:
      decoded = {StepKind::Touch, 0, step.action_as_Touch()->tensor()};
      FRIT_RETURN_IF_ERROR(needHandle(decoded.a));
      break;
    case Action::Dim:
      decoded = {StepKind::Dim, 0, step.action_as_Dim()->tensor(), step.action_as_Dim()->dim(),
                 step.action_as_Dim()->dst()};
      FRIT_RETURN_IF_ERROR(needHandle(decoded.a));
      FRIT_RETURN_IF_ERROR(checkInt(decoded.c));
      break;
    case Action::Item:
    case Action::Wrap: {
      bool isItem = step.action_type() == Action::Item;
      decoded.kind = isItem ? StepKind::Item : StepKind::Wrap;
      decoded.a = isItem ? step.action_as_Item()->tensor() : step.action_as_Wrap()->tensor();
      decoded.b = isItem ? step.action_as_Item()->dst() : step.action_as_Wrap()->reg();
      FRIT_RETURN_IF_ERROR(needHandle(decoded.a));
      FRIT_RETURN_IF_ERROR(checkScalar(decoded.b, plan.tensors[decoded.a].dtype));
      decoded.flag = isFloating(plan.tensors[decoded.a].dtype);
      break;
    }
    case Action::Check: {
      const Check &check = *step.action_as_Check();
      FRIT_RETURN_IF_ERROR(checkInt(check.reg()));
      decoded = {StepKind::Check, 0, check.reg(), static_cast<uint32_t>(plan.checkMessages.size())};
      plan.checkMessages.push_back(check.message() ? check.message()->str() : "check failed");
      break;
    }
    default:
      return wrong("unknown step");
    }
    plan.steps.push_back(decoded);
    return Status::ok();
  }
};

} // namespace

Result<std::shared_ptr<const DecodedPlan>>
DecodedPlan::decode(std::shared_ptr<const ::frit::Artifact> artifact, const Plan &plan) {
  auto decoded = std::make_shared<DecodedPlan>();
  decoded->artifact = std::move(artifact);
  decoded->source = &plan;
  FRIT_RETURN_IF_ERROR(checkPlan(*decoded->artifact, plan));
  FRIT_RETURN_IF_ERROR(Decoder(plan, *decoded).run());
  if (plan.target() == Target::Gpu) {
    FRIT_RETURN_IF_ERROR(checkGpuCode(*decoded));
  }
  return std::shared_ptr<const DecodedPlan>(std::move(decoded));
}

bool isFloating(Dtype dtype) {
  return (dtype >= Dtype::F16 && dtype <= Dtype::F64) || dtype >= Dtype::F8E4M3FN;
}

} // namespace frit
