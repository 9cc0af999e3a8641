// A thread of an emulated block: a stack and a point to continue from. A switch saves only the six
// callee-saved registers, because both sides are ordinary function calls.

#pragma once

#include <cstddef>
#include <cstdint>

namespace frit {

class Fibre {
public:
  Fibre() = default;
  Fibre(const Fibre &) = delete;
  Fibre &operator=(const Fibre &) = delete;

  /// Prepares the fibre to run body(argument) on [stack, stack + bytes) when it is next resumed.
  /// `body` must not return.
  void start(void *stack, size_t bytes, void (*body)(void *), void *argument);
  /// Runs the fibre until it suspends.
  void resume();
  /// Called on the fibre: returns to its resumer.
  void suspend();

private:
  void *own = nullptr;
  void *resumer = nullptr;
};

} // namespace frit
