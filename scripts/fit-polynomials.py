#!/usr/bin/env python3
"""Computes the coefficients of codegen/math: near-minimax polynomials by reweighted least squares.

Each fit minimises the weighted error on 400 Chebyshev nodes. After each round the weights are multiplied by the error, so that all
error maxima become equal (Lawson's algorithm). The initial weight makes the error relative to the function that the polynomial
is part of. Prints the error and the coefficients, lowest degree first. Needs mpmath and numpy.
"""

import mpmath as mp
import numpy as np
from numpy.polynomial import chebyshev

mp.mp.dps = 50


def fit(function, low, high, degree, weight):
    nodes = 400
    middle, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2
    t = [mp.cos(mp.pi * (2 * i + 1) / (2 * nodes)) for i in range(nodes)]
    x = [middle + half * ti for ti in t]
    values = np.array([float(function(xi)) for xi in x])
    weights = np.array([float(weight(xi)) for xi in x])
    basis = chebyshev.chebvander(np.array([float(ti) for ti in t]), degree)
    lawson, best = np.ones(nodes), None
    for _ in range(200):
        scale = weights * np.sqrt(lawson)
        coefficients = np.linalg.lstsq(basis * scale[:, None], values * scale, rcond=None)[0]
        error = np.abs((basis @ coefficients - values) * weights)
        if best is None or error.max() < best[0]:
            best = error.max(), coefficients
        lawson *= error / error.max() + 1e-3
        lawson /= lawson.max()
    # From Chebyshev polynomials of t = (x - middle) / half to powers of x.
    result = [mp.mpf(0)] * (degree + 1)
    for i, c in enumerate(chebyshev.cheb2poly(best[1])):
        for j in range(i + 1):
            result[j] += mp.mpf(float(c)) * mp.binomial(i, j) * (1 / half) ** j * (-middle / half) ** (i - j)
    return best[0], [float(c) for c in result]


def expm1_tail(r):
    return (mp.expm1(r) - r) / r**2


def tanh_tail(u):
    x = mp.sqrt(u)
    return (mp.tanh(x) - x) / x**3


def log1p_tail(t):
    return (mp.log1p(t) - t + t * t / 2) / t**3


def erf_tail(u):
    return mp.erf(mp.sqrt(u)) / mp.sqrt(u) - 1


FITS = {
    "exp: (e^r - 1 - r) / r^2": (expm1_tail, -0.3467, 0.3467, 4, lambda r: r**2 / mp.exp(r) + 1e-9),
    "tanh: (tanh x - x) / x^3 in x^2": (tanh_tail, mp.mpf("1e-6"), 0.36, 4, lambda u: u),
    "log: (log(1+t) - t + t^2/2) / t^3": (
        log1p_tail, mp.sqrt(0.5) - 1, mp.sqrt(2) - 1, 8, lambda t: abs(t**3 / mp.log1p(t)) + 1e-12),
    "erf, |x| <= 1: erf x / x - 1 in x^2": (erf_tail, mp.mpf("1e-9"), 1.0, 6, lambda u: 1 / (1 + erf_tail(u))),
    "erf, 1 < |x| <= 4: log erfc x": (
        lambda x: mp.log(mp.erfc(x)), 1.0, 4.0, 7, lambda x: mp.erfc(x) / mp.erf(x)),
    "erf of halves, |x| <= 4: log2 erfc x / x, error in units of 2^-14 min(erf x, erfc x) and 6e-8": (
        lambda x: mp.log(mp.erfc(x), 2) / x, mp.mpf("1e-9"), 4.0, 4,
        lambda x: mp.erfc(x) * x * mp.log(2) / (2.0**-14 * min(mp.erf(x), mp.erfc(x)) + 6e-8)),
}

if __name__ == "__main__":
    for name, arguments in FITS.items():
        error, coefficients = fit(*arguments)
        print(f"{name}: error {error:.1e}\n  {coefficients}")
