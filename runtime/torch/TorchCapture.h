// The interface that a binding implements for TorchExecutable::captureGraphs. Torch exposes its
// CUDA graphs to Python only, and the runtime does not use Python.

#pragma once

#include "runtime/cuda/OperatorCapture.h"
