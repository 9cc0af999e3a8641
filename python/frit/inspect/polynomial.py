"""Polynomials with integer coefficients over named quantities: the values of a plan's registers before the sizes of a call are known."""


class Polynomial:
    """A sum of terms, monomial -> coefficient. A monomial is a sorted tuple of (name, power); the empty one is the constant. Immutable."""

    __slots__ = ("terms",)

    def __init__(self, terms):
        self.terms = {monomial: factor for monomial, factor in terms.items() if factor}

    @staticmethod
    def of(value):
        """Converts a number, a name, or a Polynomial to a Polynomial."""
        if isinstance(value, Polynomial):
            return value
        return Polynomial({((value, 1),): 1} if isinstance(value, str) else {(): value})

    @property
    def number(self):
        """The value if it is a constant, else None."""
        return self.terms.get((), 0) if set(self.terms) <= {()} else None

    @property
    def names(self):
        """The names that occur in it."""
        return {name for monomial in self.terms for name, _ in monomial}

    def __add__(self, other):
        terms = dict(self.terms)
        for monomial, factor in Polynomial.of(other).terms.items():
            terms[monomial] = terms.get(monomial, 0) + factor
        return Polynomial(terms)

    def __neg__(self):
        return Polynomial({monomial: -factor for monomial, factor in self.terms.items()})

    def __sub__(self, other):
        return self + -Polynomial.of(other)

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        terms = {}
        for mine, factor in self.terms.items():
            for theirs, by in Polynomial.of(other).terms.items():
                powers = dict(mine)
                for name, power in theirs:
                    powers[name] = powers.get(name, 0) + power
                monomial = tuple(sorted(powers.items()))
                terms[monomial] = terms.get(monomial, 0) + factor * by
        return Polynomial(terms)

    __radd__, __rmul__ = __add__, __mul__

    def __eq__(self, other):
        return isinstance(other, (int, Polynomial)) and self.terms == Polynomial.of(other).terms

    def __hash__(self):
        return hash(frozenset(self.terms.items()))

    def at(self, values):
        """The Polynomial with some names replaced by numbers or polynomials."""
        total = Polynomial({})
        for monomial, factor in self.terms.items():
            product = Polynomial.of(factor)
            for name, power in monomial:
                for _ in range(power):
                    product = product * values.get(name, name)
            total = total + product
        return total

    def is_never_below(self, other, least):
        """Whether it is proved to be at least `other` wherever each name is at least `least[name]` (0 for a name that `least` does not have). False
        if it is not known."""
        difference = (self - other).at({name: Polynomial.of(name) + low for name, low in least.items()})
        return all(factor > 0 for factor in difference.terms.values())

    def __str__(self):
        shown = ""
        for monomial, factor in sorted(self.terms.items(), key=lambda term: (-sum(power for _, power in term[0]), term[0])):
            factors = [name if power == 1 else f"{name}^{power}" for name, power in monomial]
            if abs(factor) != 1 or not factors:
                factors.insert(0, f"{abs(factor)}")
            sign = " - " if factor < 0 else " + "
            shown += (sign if shown else sign.strip(" +")) + "*".join(factors)
        return shown or "0"

    def __repr__(self):
        return f"Polynomial({self})"


def largest(candidates, least):
    """The candidates that may be the largest: each for which no other candidate is proved to be at least as large."""
    found = []
    for one in dict.fromkeys(map(Polynomial.of, candidates)):
        if not any(other.is_never_below(one, least) for other in found):
            found = [other for other in found if not one.is_never_below(other, least)] + [one]
    return found
