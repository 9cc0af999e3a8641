#include "runtime/plan/DecodeLaunches.h"

#include "runtime/plan/PlanChecks.h"

#include <algorithm>

namespace frit {

using namespace format;

Status LaunchSection::decodeKernels() {
  for (size_t number = 0; number < countOf(source.kernels()); ++number) {
    const Kernel &kernel = *source.kernels()->Get(static_cast<uint32_t>(number));
    place = {"kernel", number};
    if (countOf(kernel.variants()) == 0) {
      return wrong("it has no variant");
    }
    for (const KernelVariant *variant : *kernel.variants()) {
      for (size_t launch = 0; launch < countOf(variant->launches()); ++launch) {
        if (!variant->launches()->Get(static_cast<uint32_t>(launch))->entry()) {
          return wrong("a launch has no entry");
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

Status LaunchSection::decodeLaunch(const PlanPlace &at, const Launch &launch) {
  place = at;
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
  if (std::string fault = setTableItems(site, kernel, source.target()); !fault.empty()) {
    return wrong(fault);
  }
  FRIT_RETURN_IF_ERROR(checkRegisters(site));
  if (countOf(launch.variants()) != countOf(kernel.variants())) {
    return wrong("the kernel has " + std::to_string(countOf(kernel.variants())) +
                 " variants, its use " + std::to_string(countOf(launch.variants())));
  }
  for (uint32_t number = 0; number < countOf(launch.variants()); ++number) {
    FRIT_RETURN_IF_ERROR(
        decodeVariant(*launch.variants()->Get(number), *kernel.variants()->Get(number), site));
  }
  if (site.items > 1 && site.variants.back().workspace != kNoRegister) {
    return wrong("a list of items has a workspace, which only a single item can have");
  }
  if (site.variants.back().guard != kNoRegister || !site.variants.back().aligned.empty()) {
    return wrong("the last variant must run always");
  }
  plan.sites.push_back(std::move(site));
  return Status::ok();
}

Status LaunchSection::checkRegisters(const LaunchSite &site) {
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
  return Status::ok();
}

/// Adds the next variant of a site.
Status LaunchSection::decodeVariant(const VariantSizes &sizes, const KernelVariant &kernel,
                                    LaunchSite &site) {
  std::string name = "variant " + std::to_string(site.variants.size());
  DecodedVariant variant = {sizes.guard(), sizes.workspace(), {}, {}};
  FRIT_RETURN_IF_ERROR(checkInt(variant.guard, true));
  for (uint32_t at = 0; at < countOf(sizes.aligned()); ++at) {
    variant.aligned.push_back(*sizes.aligned()->Get(at));
    if (variant.aligned.back().tensor() >= site.tensors.size()) {
      return wrong(name + " needs an alignment of tensor " +
                   std::to_string(variant.aligned.back().tensor()) + ", which is not there");
    }
  }
  FRIT_RETURN_IF_ERROR(checkInt(variant.workspace, true));
  if (countOf(sizes.launches()) != site.items * countOf(kernel.launches())) {
    return wrong("the number of launches of " + name + " is " +
                 std::to_string(countOf(sizes.launches())) + ", its kernel has " +
                 std::to_string(countOf(kernel.launches())) + " for each item");
  }
  for (uint32_t at = 0; at < countOf(sizes.launches()); ++at) {
    const LaunchSizes &grid = *sizes.launches()->Get(at);
    FRIT_RETURN_IF_ERROR(checkInt(grid.x()));
    FRIT_RETURN_IF_ERROR(checkInt(grid.y(), true));
    FRIT_RETURN_IF_ERROR(checkInt(grid.z(), true));
    variant.launches.push_back({grid.x(), grid.y(), grid.z()});
  }
  site.variants.push_back(std::move(variant));
  return Status::ok();
}

} // namespace frit
