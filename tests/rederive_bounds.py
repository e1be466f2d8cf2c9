#!/usr/bin/env python3
"""Every impossible row of the separation at one length, and the lengths from which the finite theorems speak, derived
again from the certificates that `hopbound bound` prints: integers, and intervals of integers scaled by 2^-400. Shares no
code with the program; the inequalities are written down from docs/BOUNDS.md.    usage: rederive_bounds.py HOPBOUND"""
import json
import subprocess
import sys
from fractions import Fraction

BITS = 400
ONE = 1 << BITS


class Interval:
    """[low, high] / 2^400"""

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


def ln(x):
    """of a positive rational: x = 2^k·y, ln y = 2 artanh((y-1)/(y+1))"""
    x = Fraction(x)
    k = x.numerator.bit_length() - x.denominator.bit_length()
    y = as_interval(x / Fraction(2) ** k)
    return artanh_log(y) + artanh_log(Interval.of(2)) * k


def artanh_log(y):
    z = (y - 1) / (y + 1)
    square, power, total = z * z, z, Interval(0)
    for i in range(1, 520, 2):  # |z| <= 1/3
        total += power / i
        power *= square
    return (total + Interval(-4, 4)) * 2


LN2 = ln(2)


def log2(x):
    return ln(x) / LN2


# ---- certificates: proofs/CERTIFICATE.md and the statements of docs/BOUNDS.md, in logarithms ------------------------

def less(shift, left, right):
    """2^shift times the product of the a^k on the left is less than that on the right"""
    if any(a == 0 and k for a, k in left):
        return all(b > 0 for b, l in right)
    total = Interval.of(-shift)
    for sign, powers in ((-1, left), (1, right)):
        for base, exponent in powers:
            total += log2(base) * (sign * exponent) if exponent else Interval(0)
    return total.low > 0


def spreads(bits, t, q, x, Y, w):
    """Lemma 3: x draws from a class of q^t/2^bits functions take Y values at t places."""
    s, kap, E, D, G = (int(w[k]) for k in ("s", "kap", "E", "D", "G"))
    K, before = t * q * D, 0
    assert min(kap, t, E, G, Y) > 0 and x * t < 2 ** x and w["levels"] and K <= E <= K + s * Y
    for a, u, slope in (numbers(level) for level in w["levels"]):
        assert before <= a <= G
        for end in (before, a):  # u + slope·p <= s (1 - (1-p)^x) at p = end/G: in integers
            assert end == u == 0 or (u * G + slope * end) * G ** x + s * G * (G - end) ** x <= s * G * G ** x
        assert less(0, [(kap, 1), (E, t * slope)], [(u + D, 1), (E + 1, t * slope)])
        before = a
    e = s * Y - (E - K)
    return before == G and less(bits, [(E, t), (E + 1, t * e)], [(q * kap * t, t), (E, t * e)])


def p2(n, bits):
    return n ** n > 2 ** bits


def p5(m, M):
    return m ** m > 2 ** M


def p4(M, A, sizes, c, _):
    (m, n1), V = sizes, c["V"]
    return less(A[0], [(V - 1, m)], [(m, m)]) and less(n1 * M + V * A[1] + A[0], [], [(m * n1, n1 * V)])


def p4_parts(M, A, sizes, c, way):
    (m, n1), (t, s, q, x, S, Y) = sizes, (c[k] for k in ("t", "s", "q", "x", "S", "Y"))
    assert t * s <= m and t * q <= m and (Y - 1) * s < S
    return less((n1 + 1) * t * M + x * A[1] + A[0], [], [(m * n1, n1 * Y)]) and spreads(A[0], t * s, q, x, S, way)


def p7(M, A, sizes, c, _):
    (m, n1), (t, s, q, g, e, Y) = sizes, (c[k] for k in ("t", "s", "q", "g", "e", "Y"))
    assert A[0] == 0 and t * s <= m and t * q <= m and e * g <= n1
    return (less(g * M + t * s * A[1], [(Y - 1, t * s)], [(t * q, t * s)])
            and less(M * (t * s * q + m + e * g * (t + 1)) + A[1] + e * Y * A[2], [], [(m * n1, e * g * Y)]))


def p8(M, A, sizes, c, way):
    (m, n1, n2), (g, k, q, nu, x1, x, S) = sizes, (c[i] for i in ("g", "k", "q", "nu", "x_1", "x", "S"))
    rows, J = k * q, x1 * A[1]
    assert g <= m and rows <= n1 and q * nu <= n2 and less(A[0], [(x1 - 1, g)], [(m, g)])
    paid = (A[0] + A[1] + J + 1 + x * (J + 2) + x * x1 * A[2]
            + M * (x * m * n1 + x1 * g + m - g + 1 + rows * nu * (1 + x1)))
    return (less(paid, [], [(m * n1 * n2, nu * S)])
            and spreads(A[0] + rows * nu * M + J + 1, rows * x1, q, x, S, way))


def p9(M, A, sizes, c, way):
    (m, n1, n2), u, t, s, q, Y = sizes, c["u"], c["t"], c["s"], c["q"], c["Y"]
    ts, N1 = t * s, m * n1
    assert A[0] == 0 and s > 0 and q > 0 and u <= n1 and ts <= m and u * t * q <= N1
    carried, paid = min(ts * A[1], A[1] + ts * M), u * ts * q + N1 - u * ts + m + ts
    if "x" in c:
        x, a = c["x"], c["a"]
        assert u * M + carried <= a * s
        return (less(M * (paid + u * n2 * (1 + t)) + A[1] + n2 * t * x * A[2], [], [(N1 * n2, n2 * Y)])
                and spreads(a, u * t, q, x, Y, way))
    g, e = c["g"], c["e"]
    assert e * g <= n2
    return (less(u * g * M + carried, [(Y - 1, u * ts)], [(u * t * q, u * ts)])
            and less(M * (paid + u * e * g * (1 + t)) + A[1] + e * Y * A[2], [], [(N1 * n2, e * g * Y)]))


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
        c = result["certificate"]
        choices = {k: int(v) for k, v in c["integers"].items()}
        base = {"P4": 2, "P4'": 2, "P7": 2, "P8": 3, "P9": 3}[ident]
        check(result["machine_checked"] and numbers([c["m"], *c["fan"]]) == sizes, f"{what}: of other sizes")
        holds = {"P4": p4, "P4'": p4_parts, "P7": p7, "P8": p8, "P9": p9}[ident](M, A, sizes[:base], choices, c["lines"])
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
    (2, "F F", 8, 0, "P7", [0] * 3, 5.3468), (2, "F F", 17, 0, "P7", [0] * 3, 6.0595),
    (2, "F F L", 8, 1152, "P7", [0, 0, 1152], 7.5061), (2, "L F L", 8, 1152, "P4'", [1152] * 2, 4.2732),
    (2, "L F L", 17, 208, "P4", [208] * 2, 3.6697), (3, "L F L F L", 8, 1152, "P8", [1152] * 3, 9.9622),
    (3, "L F L F L", 17, 208, "P8", [208] * 3, 10.184), (3, "F F", 8, 0, "P9", [0] * 3, 5.3576),
    (3, "F F", 17, 0, "P9", [0] * 3, 6.0684), (3, "F L F L", 8, 1152, "P9", [0, 1152, 1152], 8.1983),
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
