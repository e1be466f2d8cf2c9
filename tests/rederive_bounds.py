#!/usr/bin/env python3
"""Every impossible row of the separation at one length, and the lengths from which the finite theorems speak, derived
again from what `hopbound bound` prints: integers, and intervals of integers scaled by 2^-240. Shares no code with the
program; the inequalities are written down from docs/BOUNDS.md.    usage: rederive_bounds.py HOPBOUND"""
import json
import subprocess
import sys
from fractions import Fraction

BITS = 240
ONE = 1 << BITS


class Interval:
    """[low, high] / 2^240"""

    def __init__(self, low, high=None):
        self.low, self.high = low, low if high is None else high

    @staticmethod
    def of(x):
        x = Fraction(x)
        return Interval(x.numerator * ONE // x.denominator, -(-x.numerator * ONE // x.denominator))

    def __add__(self, other):
        other = as_interval(other)
        return Interval(self.low + other.low, self.high + other.high)

    def __neg__(self):
        return Interval(-self.high, -self.low)

    def __sub__(self, other):
        return self + -as_interval(other)

    def __mul__(self, other):
        other = as_interval(other)
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends) >> BITS, -(-max(ends) >> BITS))

    def __truediv__(self, other):
        other = as_interval(other)
        assert other.low > 0
        ends = [(a << BITS, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(a // b for a, b in ends), max(-(-a // b) for a, b in ends))

    def above(self, other):
        return self.low > as_interval(other).high


def as_interval(x):
    return x if isinstance(x, Interval) else Interval.of(x)


def exp_minus(x):
    """e^-x for an interval x >= 0: halved until small, a Taylor series, squared again."""
    x, halvings = as_interval(x), 0
    assert x.low >= 0
    while x.high >> (BITS - 4):
        x, halvings = Interval(x.low >> 1, -(-x.high >> 1)), halvings + 1
    total, term = Interval(ONE), Interval(ONE)
    for k in range(1, 70):
        term = -(term * x) / k if term.low >= 0 else -(term * x / k)
        total += term
    total += Interval(-2, 2)  # what is left of the series: below 2^-240, since x <= 1/16
    for _ in range(halvings):
        total *= total
    return total


def ln(x):
    """of a positive rational: x = 2^k·y, ln y = 2 artanh((y-1)/(y+1))"""
    x = Fraction(x)
    k = x.numerator.bit_length() - x.denominator.bit_length()
    y = as_interval(x / Fraction(2) ** k)
    return artanh_log(y) + artanh_log(Interval.of(2)) * k


def artanh_log(y):
    z = (y - 1) / (y + 1)
    square, power, total = z * z, z, Interval(0)
    for i in range(1, 320, 2):  # |z| <= 1/3
        total += power / i
        power *= square
    return (total + Interval(-4, 4)) * 2


LN2 = ln(2)


def log2(x):
    return ln(x) / LN2


def two_to_minus(x):
    return exp_minus(LN2 * as_interval(x))


def phi(x, q, delta, c):
    """Lemma 3, from below."""
    lam = Fraction(x, q)
    if "A" not in c:
        return Interval(ONE) - exp_minus(lam) - exp_minus(1) * LN2 * lam * delta
    a, b, v0, v1 = (Fraction(float(c[k])) for k in ("A", "b", "v_0", "v_1"))
    assert 0 < v0 <= 1 <= v1 and b > 0
    for v in (v0, v1):
        assert not (exp_minus(v) * v).above(b) and as_interval(b).above(exp_minus(v) * v)

    def value(v):
        return Interval(ONE) - exp_minus(v) - as_interval(a * v) + ln(v) * (b * v)

    def slope(v):
        return exp_minus(v) - a + (ln(v) + 1) * b

    s0, s1 = slope(v0), slope(v1)
    assert s1.low >= 0
    first = value(v0) - Interval(max(abs(s0.low), abs(s0.high)))
    second = value(v1) - s1 * v1
    lowest = Interval(min(first.low, second.low))
    return (Interval.of(a) - (ln(lam) + LN2 * delta) * b) * lam + lowest


# ---- the theorems ------------------------------------------------------------------------------------------------

def p2(n, bits):
    return n ** n > 2 ** bits


def p5(m, M):
    return m ** m > 2 ** M


def p4(M, A, sizes, _):
    m, n1 = sizes
    v, above = 1, m + 1  # the most with (v-1)·2^(A/m) < m
    while above - v > 1:
        middle = (v + above) // 2
        v, above = (middle, above) if (middle - 1) ** m * 2 ** A[0] < m ** m else (v, middle)
    return any((log2(m * n1) * (n1 * V)).above(n1 * M + V * A[1] + A[0]) for V in (1, v))


def p4_parts(M, A, sizes, c):
    (m, n1), x0, q, x1 = sizes, c["x_0"], c["q"], c["x_1"]
    assert x0 * q <= m
    left = phi(x1, q, Fraction(A[0], x0 * q), c) * (n1 * x0 * q) * log2(m * n1)
    return left.above((n1 + 1) * x0 * M + x1 * A[1] + A[0])


def p7(M, A, sizes, c):
    (m, n1), t, sigma, q, gamma = sizes, c["t"], c["sigma"], c["q"], c["gamma"]
    e = n1 // gamma
    assert A[0] == 0 and e >= 1 and sigma * t <= m and t * q <= m
    gain = log2(m * n1) * gamma - A[2]
    left = two_to_minus(Fraction(gamma * M, sigma * t) + A[1]) * gain * (e * t * q)
    return gain.low > 0 and left.above(M * (sigma * t * q + m + e * gamma * (t + 1)) + A[1])


def p8(M, A, sizes, c):
    (m, n1, n2), q, nu, x, g, x1 = sizes, c["q"], c["nu"], c["x"], c["g"], c["x_1"]
    rows, N1, N2 = c["kappa"] * q, m * n1, m * n1 * n2
    assert rows <= n1 and nu * q <= n2 and g <= m
    assert x1 == 1 or (two_to_minus(Fraction(A[0], g)) * m).above(x1 - 1)
    delta = Fraction(A[0] + rows * nu * M + A[1] * x1, rows * x1)
    left = phi(x, q, delta, c) * (nu * rows * x1 * q) * log2(N2)
    return left.above(A[0] + A[1] + x * x1 * (A[1] + A[2])
                      + M * (x * N1 + m - g + x1 * g + 1 + rows * nu * (1 + x1)))


def p9(M, A, sizes, c):
    (m, n1, n2), u, t, q = sizes, c["u"], c["t"], c["q"]
    s, N1, N2 = c["sigma"] * t, m * n1, m * n1 * n2
    assert A[0] == 0 and s <= m and u <= n1 and u * t * q <= N1
    carried = min(s * A[1], A[1] + s * M) if A[1] else 0
    paid = u * s * q + N1 - u * s + m + s
    if "x" in c:
        left = phi(c["x"], q, Fraction(u * M + carried, u * s), c) * (n2 * u * t * q) * log2(N2)
        return left.above(M * (paid + u * n2 * (1 + t)) + A[1] + A[2] * n2 * t * c["x"])
    gamma = c["gamma"]
    e, gain = n2 // gamma, log2(N2) * gamma - A[2]
    assert e >= 1 and gain.low > 0
    left = two_to_minus(Fraction(u * gamma * M + carried, u * s)) * gain * (e * u * t * q)
    return left.above(M * (paid + u * e * gamma * (1 + t)) + A[1])


def p7g(M, A, sizes, x, s):
    L, n, s = len(sizes), [1] + sizes[1:], [x[0]] + s
    N = [sizes[0]]
    for fan in n[1:]:
        N.append(N[-1] * fan)
    W = N[-1] // N[0]
    assert A[0] == 0 and 1 <= x[0] <= N[0] and min(x) >= 1 and min(s) >= 1
    delta = None
    for l in range(1, L):
        assert s[l] <= N[l - 1]
        k, rest = s[l] - 1, N[l - 1] - s[l] + 1
        carried = M * W + x[0] * A[1] if l == 1 else delta
        if k:
            left = log2(Fraction(N[l - 1], k)) * (k - x[l] * n[l - 1] * s[l - 1]) + log2(Fraction(N[l - 1], rest)) * rest
            if not as_interval(-x[l] * carried - 1).above(left):
                return False
        chosen = 1
        for j in range(l):
            chosen *= x[j]
        questions = W * chosen
        for i in range(l):
            product = N[i - 1] if i else 1
            for j in range(i, l):
                product *= x[j]
            questions += product
        before = (L - 1) * M * W + x[0] * x[1] * A[1] if l == 1 else x[l] * delta
        delta = (before + 1 + sum(A[1:l + 1]) + x[l] * l * (L - l) * N[l - 1] * M + M * (L - l) * questions
                 + chosen * x[l] * A[l + 1])
    return (log2(N[-1]) * (n[-1] * s[-1])).above(delta)


# ---- what the program says -----------------------------------------------------------------------------------------

def ask(hops, pattern, dim, bits, *more):
    args = [sys.argv[1], "bound", "--json", "--hops", str(hops), "--pattern", pattern, "--dim", str(dim), "--bits",
            str(bits), "--heads", "1", *map(str, more)]
    return {r["id"]: r for r in json.loads(subprocess.run(args, capture_output=True, check=True).stdout)["results"]}


def numbers(values):
    return [int(v) for v in values]


def derive(what, ident, result, M, A, say=True):
    sizes = numbers(result["sizes"])
    if ident == "P7G":
        holds = p7g(M, A, sizes, numbers(result["x"]), numbers(result["s"]))
    else:
        choices = {k: float(v) if k in ("A", "b", "v_0", "v_1") else int(v) for k, v in (result["choices"] or {}).items()}
        base = {"P4": 2, "P4'": 2, "P7": 2, "P8": 3, "P9": 3}[ident]
        holds = {"P4": p4, "P4'": p4_parts, "P7": p7, "P8": p8, "P9": p9}[ident](M, A, sizes[:base], choices)
    if say:
        print("ok   " if holds else "WRONG", what, ident, "n =", result["speaks_from_n"])
    return holds


# hops, pattern, d, state bits, m, fan; theorem, states of the gaps. p = 16.
SEPARATION = [
    (2, "L F L", 17, 208, 173, "26", "P4", [208, 208]),
    (2, "F F", 26, 0, 1610, "1954", "P7", [0, 0, 0]),
    (2, "L F L", 26, 352, 1610, "1954", "P4", [352, 352]),
    (2, "F F L", 33, 464, 45493, "8036", "P7", [0, 0, 464]),
    (3, "F F", 27, 0, 1024, "2,1718", "P9", [0, 0, 0]),
    (3, "L F L F L", 46, 656, 49858, "820,25420", "P8", [656] * 3),
]
# hops, pattern, d, state bits; theorem, states, log10 of n at most
BEGINNINGS = [
    (2, "F F", 8, 0, "P7", [0] * 3, 5.3485), (2, "F F", 17, 0, "P7", [0] * 3, 6.0604),
    (2, "F F L", 8, 1152, "P7", [0, 0, 1152], 7.5061), (2, "L F L", 8, 1152, "P4'", [1152] * 2, 4.2746),
    (2, "L F L", 17, 208, "P4", [208] * 2, 3.6697), (3, "L F L F L", 8, 1152, "P8", [1152] * 3, 9.967),
    (3, "L F L F L", 17, 208, "P8", [208] * 3, 10.193), (3, "F F", 8, 0, "P9", [0] * 3, 5.3602),
    (3, "F F", 17, 0, "P9", [0] * 3, 6.0684), (3, "F L F L", 8, 1152, "P9", [0, 1152, 1152], 8.2027),
    (2, "F F", 8, 0, "P7G", [0] * 3, 9.52), (3, "F^3", 8, 0, "P7G", [0] * 4, 32.97),
    (4, "F^4", 8, 0, "P7G", [0] * 5, 90.42), (3, "F F L F L", 8, 1152, "P7G", [0, 0, 1152, 1152], 32.97),
]


WRONG = []


def check(good, what):
    if not good:
        WRONG.append(what)
        print("WRONG", what)


def main():
    check(p5(35, 176) and not p5(34, 176) and p2(35, 96) and p2(173 * 26, 3 * 208), "P5 and P2")
    check(ask(1, "F", 9, 16, "--m", 35)["P5"]["verdict"] == "impossible", "F at m 35")
    for hops, pattern, dim, bits, *sizes in ((1, "L", 9, 96, "--m", 35), (2, "L L L", 17, 208, "--m", 173, "--fan", 26)):
        r = ask(hops, pattern, dim, 16, "--state-bits", bits, *sizes)
        check(r["P2"]["verdict"] == "impossible", f"{pattern} at {sizes}")
    for hops, pattern, dim, state, m, fan, ident, A in SEPARATION:
        r = ask(hops, pattern, dim, 16, *(["--state-bits", state] if state else []), "--m", m, "--fan", fan)[ident]
        M, what = (dim + 2) * 16, f"{pattern} at m {m}, fan {fan}:"
        check(r["verdict"] == "impossible" and numbers(r["sizes"]) == [m, *map(int, fan.split(","))], f"{what} {r}")
        check(derive(what, ident, r, M, A), what)
        check(not derive("", ident, r, 200 * M, A, say=False), f"{what} the check is blind")
    for hops, pattern, dim, state, ident, A, most in BEGINNINGS:
        r = ask(hops, pattern, dim, 16, *(["--state-bits", state] if state else []))[ident]
        what = f"{pattern}, {hops} hops, d {dim}:"
        check(r["verdict"] == "impossible" and r["log10_n"] <= most, f"{what} {ident} {r['log10_n']}")
        check(derive(what, ident, r, (dim + 2) * 16, A), what)
    print("NOT ALL WERE DERIVED" if WRONG else "all derived again")
    return 1 if WRONG else 0


if __name__ == "__main__":
    sys.exit(main())
