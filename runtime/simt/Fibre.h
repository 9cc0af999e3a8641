// A thread of an emulated block: a stack and a place to continue. Switching saves the six registers
// that a call preserves and nothing else, because both sides of a switch are ordinary calls.

#pragma once

#include <cstddef>
#include <cstdint>

namespace frit {

class Fibre {
public:
  Fibre() = default;
  Fibre(const Fibre &) = delete;
  Fibre &operator=(const Fibre &) = delete;

  /// Makes the fibre begin with body(argument) on [stack, stack + bytes) when it is next resumed.
  /// `body` must not return.
  void start(void *stack, size_t bytes, void (*body)(void *), void *argument);
  /// Runs the fibre until it suspends.
  void resume();
  /// Called on the fibre: back to who resumed it.
  void suspend();

private:
  void *own = nullptr;
  void *resumer = nullptr;
};

} // namespace frit
