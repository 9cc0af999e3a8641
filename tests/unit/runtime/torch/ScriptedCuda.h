// The interface between the tests of runtime/torch and the fake libcuda.so.1.

#pragma once

#include "tests/unit/runtime/cuda/ScriptedDriver.h"

/// The state of the driver in that library.
extern "C" __attribute__((visibility("default"))) fakecuda::FakeDriver *fritScriptedDriver();
