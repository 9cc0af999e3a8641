// TorchHost tells CUDA graphs whether a tensor in their memory is still in use, however torch
// shares its storage.

#include "runtime/torch/Bridge.h"
#include "runtime/torch/TorchHost.h"
#include "tests/unit/runtime/cuda/FakeDriver.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

using namespace frit;

namespace {

struct KeptTensors : testing::Test {
  KeptTensors() {
    std::string bytes = fakecuda::chainOf(1);
    auto artifact =
        *Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
    plan = *DecodedPlan::decode(artifact, *artifact->plan(format::Target::Gpu));
    host = std::move(*TorchHost::create(*plan));
  }
  std::shared_ptr<const DecodedPlan> plan;
  std::unique_ptr<TorchHost> host;
};

TEST_F(KeptTensors, ATensorIsSharedAsLongAsAnybodyHasIt) {
  at::Tensor tensor = at::empty({4, 6});
  std::shared_ptr<KeptTensor> kept = host->keepTensor(tensor.unsafeGetTensorImpl());
  EXPECT_EQ(kept->begin(), tensor.data_ptr());
  EXPECT_EQ(kept->bytes(), 96u);
  EXPECT_TRUE(kept->isShared());
  at::Tensor row = tensor[2];
  tensor.reset();
  EXPECT_TRUE(kept->isShared()) << "by a view";
  c10::Storage storage = row.storage();
  row.reset();
  EXPECT_TRUE(kept->isShared()) << "by a bare storage";
  storage = {};
  EXPECT_FALSE(kept->isShared());
}

TEST_F(KeptTensors, LooksThatCallsGiveAreSeen) {
  at::Tensor tensor = at::empty({8});
  std::shared_ptr<KeptTensor> kept = host->keepTensor(tensor.unsafeGetTensorImpl());
  tensor.reset();
  TensorSlot source, slot;
  source.handle = kept->handle();
  const int64_t sizes[] = {3}, strides[] = {2};
  ASSERT_TRUE(
      host->viewTensor(source, {sizes, strides, format::Dtype::F32, format::Device::Cpu}, 1, slot)
          .isOk());
  EXPECT_TRUE(kept->isShared());
  at::Tensor copy(tensorOf(slot.handle));
  host->releaseTensor(slot.handle);
  EXPECT_TRUE(kept->isShared());
  EXPECT_FALSE(copy.requires_grad());
  EXPECT_FALSE(copy.is_view()) << "autograd saves it as it is";
  EXPECT_EQ(copy.data_ptr(), static_cast<const float *>(kept->begin()) + 1);
  copy.reset();
  EXPECT_FALSE(kept->isShared());
}

TEST_F(KeptTensors, AHoldOutlivesItsHost) {
  at::Tensor tensor = at::empty({8});
  std::shared_ptr<KeptTensor> kept = host->keepTensor(tensor.unsafeGetTensorImpl());
  host.reset();
  EXPECT_TRUE(kept->isShared());
  tensor.reset();
  EXPECT_FALSE(kept->isShared());
}

TEST_F(KeptTensors, WithoutHooksOnlyAutogradGetsThem) { EXPECT_FALSE(host->showsKeptTensors()); }

} // namespace
