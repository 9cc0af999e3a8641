#pragma once

#include "runtime/cpu/Product.h"

#include <cstdint>

/// The number of pieces into which `inPieces` splits a loop.
inline int64_t pieces = 1;

/// Splits a loop as a team of `pieces` threads would, without regard to the grain, last piece
/// first.
inline void inPieces(int64_t units, int64_t, frit::RangeBody body, void *argument) {
  for (int64_t piece = pieces; piece-- > 0;) {
    int64_t begin = units * piece / pieces, end = units * (piece + 1) / pieces;
    if (begin < end) {
      body(argument, begin, end);
    }
  }
}
