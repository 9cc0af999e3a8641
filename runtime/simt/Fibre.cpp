#include "runtime/simt/Fibre.h"

#if !defined(__x86_64__)
#error "the emulation of GPU kernels runs on x86-64, like the code it emulates"
#endif

extern "C" void frit_fibre_switch(void **save, void *load);
extern "C" void frit_fibre_begin();

__asm__(R"(
.text
.p2align 4
.hidden frit_fibre_switch
.globl frit_fibre_switch
.type frit_fibre_switch, @function
frit_fibre_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
.size frit_fibre_switch, .-frit_fibre_switch
.p2align 4
.hidden frit_fibre_begin
.globl frit_fibre_begin
.type frit_fibre_begin, @function
frit_fibre_begin:
  movq %r12, %rdi
  callq *%r13
  ud2
.size frit_fibre_begin, .-frit_fibre_begin
)");

namespace frit {

void Fibre::start(void *stack, size_t bytes, void (*body)(void *), void *argument) {
  // The frame that frit_fibre_switch pops: r15, r14, r13, r12, rbx, rbp, return address. The
  // remaining stack must be 16-byte aligned, as at every call: compiled code spills vectors with
  // aligned stores.
  auto top = (reinterpret_cast<uintptr_t>(stack) + bytes) & ~uintptr_t(15);
  auto *frame = reinterpret_cast<uintptr_t *>(top - 16) - 7;
  frame[0] = frame[1] = frame[4] = frame[5] = 0;
  frame[2] = reinterpret_cast<uintptr_t>(body);
  frame[3] = reinterpret_cast<uintptr_t>(argument);
  frame[6] = reinterpret_cast<uintptr_t>(&frit_fibre_begin);
  own = frame;
}

void Fibre::resume() { frit_fibre_switch(&resumer, own); }

void Fibre::suspend() { frit_fibre_switch(&own, resumer); }

} // namespace frit
