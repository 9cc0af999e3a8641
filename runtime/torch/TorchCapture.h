// What a binding implements for TorchExecutable::captureGraphs: torch shows its CUDA graphs to
// Python, and the runtime sees no Python.

#pragma once

#include "runtime/cuda/OperatorCapture.h"
