// What the library that stands for libcuda.so.1 in the tests of runtime/torch shares with them.

#pragma once

#include "tests/unit/runtime/cuda/ScriptedDriver.h"

/// The state of the driver in that library.
extern "C" __attribute__((visibility("default"))) fakecuda::FakeDriver *fritScriptedDriver();
