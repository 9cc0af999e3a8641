// The instructions of a cluster for which LLVM has no intrinsic, as inline PTX (PTX ISA 8.1, sm_90
// and newer), or whose intrinsics do not say that they order accesses of other memory. Code
// generation emits these texts, and the emulation recognises them.

#pragma once

namespace mlir::frit::cluster_instructions {

/// Of a barrier object in the block's shared memory: one arrival completes its only phase, which
/// also waits for bytes.
inline constexpr const char *kInit = "mbarrier.init.shared::cta.b64 [$0], 1;";
/// That arrival, and how many bytes the phase waits for.
inline constexpr const char *kExpect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;";
/// Stores into the shared memory of a block of the cluster, and counts the bytes at a barrier
/// object of that block.
inline constexpr const char *kSend32 =
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $1, [$2];";
inline constexpr const char *kSend64 =
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [$0], $1, [$2];";
/// Waits for the only phase of a barrier object; what was sent is visible afterwards.
inline constexpr const char *kAwait =
    "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, "
    "[$0], 0;\n"
    "@!done bra AGAIN;\n}";

} // namespace mlir::frit::cluster_instructions
