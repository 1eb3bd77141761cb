"""Random programs over the whole language, each with the same program as plain Python over NumPy scalars.

Every piece is a pair of texts: of the kernel language, and of Python, which writes out what differs (wrapping integers,
copies of structs, results for references; see random_language_meaning.py). Integers are int32, int64 and uint8, floats
float64 and float32, and nothing is computed that a platform's maths library could round otherwise: both agree in every
bit. A program is a function p(ks, xs, ko, xo) of four arrays; many are called by one kernel (see make_batch).
"""

import random

SIZE = 8  # of the arrays that come in and go out

PRELUDE = """
import warp as wp
from typing import Any

f64 = wp.float64
vec3d = wp.types.vector(length=3, dtype=wp.float64)
mat22d = wp.types.matrix(shape=(2, 2), dtype=wp.float64)
WEIGHTS = (3, -1, 4, 1)

@wp.struct
class P:
    a: int
    v: vec3d

@wp.struct
class R:
    p: P
    b: wp.uint8

@wp.func
def bump(x: wp.ref[int], by: int):
    x += by
    if x > 1000:
        x = by

@wp.func
def blend(x: wp.ref[f64], y: f64):
    x = x * f64(0.5) + y

@wp.func
def fill(a: wp.array(dtype=int), n: int, start: int) -> int:
    for i in range(n):
        a[i] ^= start + i
    return a[n - 1]

@wp.func
def pair(n: int, x: f64):
    return n + 1, x * f64(0.25)

@wp.func
def moved(p: P, n: int) -> P:
    p.a = p.a - n
    p.v = p.v * f64(0.5)
    return p

@wp.func
def doubled(x: Any):
    return x + x

@wp.func
def pick(n: int, x: f64, scale: f64 = f64(2.0), limit: int = 5) -> f64:
    if n > limit:
        return x * scale
    for i in range(4):
        if i == n:
            return x - f64(i)
    return -x

@wp.func
def first_above(a: wp.array(dtype=f64), x: f64) -> int:
    for i in range(a.shape[0]):
        if a[i] > x:
            return i
    return -1

@wp.func
def apply_twice(f: wp.Function, n: int) -> int:
    return f(f(n, 3), 5)

@wp.func
def plus(a: int, b: int) -> int:
    return a + b

@wp.func
def less(a: int, b: int) -> int:
    return a - b
"""


class Maker:
    """One program: `kernel` and `python` are the lines of its body."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.kernel, self.python, self.depth = [], [], 0
        self.names = 0
        self.make()

    def line(self, kernel, python=None):
        indent = "    " * (self.depth + 1)
        self.kernel.append(indent + kernel)
        self.python.append(indent + (kernel if python is None else python))

    def name(self, letter):
        self.names += 1
        return f"{letter}{self.names}"

    # ---- expressions: (kernel, python) ----

    @staticmethod
    def both(text):
        return (text, text)

    def whole(self, depth=2):
        """An int32."""
        r = self.r
        if depth == 0 or r.random() < 0.3:
            k = r.randrange(6)
            if k == 0:
                n = r.randrange(-9, 10)
                return (f"({n})", f"np.int32({n})")
            if k == 1:
                return self.both(r.choice(["i0", "i1", "i2", "p.a", "s.p.a"]))
            if k == 2:
                return ("int(s.b)", "np.int32(s.b)")
            if k == 3:
                return ("int(h0)", "int32(h0)")
            name, mask = r.choice([("la", 3), ("ks", 7)])
            index = self.index(depth, mask)
            return (f"{name}[{index[0]}]", f"{name}[{index[1]}]")
        a, b = self.whole(depth - 1), self.whole(depth - 1)
        k = r.randrange(15)
        if k < 3:
            op = "+-*"[k]
            return (f"({a[0]} {op} {b[0]})", f"int32(int({a[1]}) {op} int({b[1]}))")
        if k == 3:
            op = r.choice("&|^")
            return (f"({a[0]} {op} {b[0]})", f"({a[1]} {op} {b[1]})")
        if k == 4:
            f = r.choice(["min", "max"])
            return (f"wp.{f}({a[0]}, {b[0]})", f"{f}({a[1]}, {b[1]})")
        if k == 5:
            c = self.condition(depth - 1)
            return (f"({a[0]} if {c[0]} else {b[0]})", f"({a[1]} if {c[1]} else {b[1]})")
        if k == 6:
            d = r.choice([-5, -3, -2, 1, 2, 3, 4, 5])
            op, meaning = r.choice([("//", "floordiv"), ("/", "quotient"), ("%", "remainder")])
            return (f"({a[0]} {op} ({d}))", f"{meaning}({a[1]}, {d})")
        if k == 7:
            op = r.choice(["<<", ">>"])
            return (f"({a[0]} {op} ({b[0]} & 7))", f"int32(int({a[1]}) {op} (int({b[1]}) & 7))")
        if k == 8:
            x = self.real(depth - 1)
            return (f"int({x[0]})", f"truncated({x[1]})")
        if k == 9:
            return (f"wp.clamp({a[0]}, -7, 9)", f"max(np.int32(-7), min({a[1]}, np.int32(9)))")
        if k == 10:
            return (f"wp.abs({a[0]})", f"int32(abs(int({a[1]})))")
        if k == 11:
            return (f"doubled({a[0]})", f"int32(2 * int({a[1]}))")
        if k == 12:
            f = r.choice(["plus", "less"])
            return (f"apply_twice({f}, {a[0]})", f"int32(int({a[1]}) {'+' if f == 'plus' else '-'} 8)")
        if k == 13:
            x = self.real(depth - 1)
            return (f"first_above(xs, {x[0]})", f"first_above(xs, {x[1]})")
        return (f"(~{a[0]} - {b[0]})", f"int32(~int({a[1]}) - int({b[1]}))")

    def index(self, depth, mask):
        e = self.whole(depth - 1) if depth > 0 else self.both("i0")
        return (f"({e[0]}) & {mask}", f"({e[1]}) & {mask}")

    def real(self, depth=2):
        """A float64."""
        r = self.r
        if depth == 0 or r.random() < 0.3:
            k = r.randrange(7)
            if k == 0:
                x = r.randrange(-8, 9) / 4
                return (f"f64({x})", f"np.float64({x})")
            if k == 1:
                return self.both(r.choice(["x0", "x1", "v[1]", "p.v[2]", "t[1]", "s.p.v[0]", "v[-2]"]))
            if k == 2:
                e = self.whole(0)
                return (f"f64({e[0]})", f"np.float64({e[1]})")
            if k == 3:
                return ("f64(y0)", "np.float64(y0)")
            if k == 4:
                index = self.index(depth, 1)
                return (f"m[{index[0]}, 1]", f"m[{index[1]}][1]")
            name, mask = r.choice([("lf", 1), ("xs", 7)])
            index = self.index(depth, mask)
            return (f"{name}[{index[0]}]", f"{name}[{index[1]}]")
        a, b = self.real(depth - 1), self.real(depth - 1)
        k = r.randrange(10)
        if k < 3:
            return tuple(f"({x} {'+-*'[k]} {y})" for x, y in zip(a, b, strict=True))
        if k == 3:
            f = r.choice(["min", "max"])
            return (f"wp.{f}({a[0]}, {b[0]})", f"np.f{f}({a[1]}, {b[1]})")
        if k == 4:
            n = self.whole(depth - 1)
            named = r.choice(["", ", limit=2", ", scale=f64(0.5)", ", limit=-1, scale=f64(4.0)"])
            return (f"pick({n[0]}, {a[0]}{named})", f"pick({n[1]}, {a[1]}{named.replace('f64', 'np.float64')})")
        if k == 5:
            return (f"doubled({a[0]})", f"({a[1]} + {a[1]})")
        if k == 6:
            return (f"wp.dot(v, vec3d({a[0]}, {b[0]}, x0))", f"dot3(v, ({a[1]}, {b[1]}, x0))")
        if k == 7:
            return (f"(-{a[0]} / f64(4.0))", f"(-{a[1]} / 4.0)")
        if k == 8:
            return (f"wp.abs({a[0]})", f"abs({a[1]})")
        c = self.condition(depth - 1)
        return (f"wp.where({c[0]}, {a[0]}, {b[0]})", f"({a[1]} if {c[1]} else {b[1]})")

    def condition(self, depth=1):
        make = self.r.choice([self.whole, self.real])
        a, b = make(max(depth, 0)), make(max(depth, 0))
        op = self.r.choice(["<", "<=", "==", "!=", ">"])
        c = tuple(f"{x} {op} {y}" for x, y in zip(a, b, strict=True))
        k = self.r.random()
        if k < 0.2:
            d = self.condition(0)
            word = self.r.choice(["and", "or"])
            c = tuple(f"({x}) {word} ({y})" for x, y in zip(c, d, strict=True))
        elif k < 0.3:
            d = make(0)
            c = tuple(f"{x} < {y}" for x, y in zip(c, d, strict=True)) if op == "<" else c
        elif k < 0.4:
            c = tuple(f"not ({x})" for x in c)
        return c

    # ---- statements ----

    def statement(self, depth):
        r = self.r
        if depth > 0 and r.random() < 0.4:
            return r.choice([self.branch, self.count, self.over, self.loop, self.unrolled])(depth - 1)
        return r.choice([self.numbers, self.memory, self.vectors, self.structs, self.functions])()

    def numbers(self):
        r = self.r
        i, x = r.choice(["i0", "i1", "i2"]), r.choice(["x0", "x1"])
        e, f = self.whole(), self.real()
        r.choice(
            [
                lambda: self.line(f"{i} = int({e[0]})", f"{i} = {e[1]}"),
                lambda: self.line(f"{x} = {f[0]}", f"{x} = {f[1]}"),
                lambda: self.line(f"{i} += {e[0]}", f"{i} = int32(int({i}) + int({e[1]}))"),
                lambda: self.line(f"{i} <<= {e[0]} & 3", f"{i} = int32(int({i}) << (int({e[1]}) & 3))"),
                lambda: self.line(f"{x} *= {f[0]}", f"{x} *= {f[1]}"),
                lambda: self.line(f"{x} -= {f[0]}", f"{x} -= {f[1]}"),
                lambda: self.line("i0, i1 = i1, i0"),
                lambda: self.line(f"i1, i2 = i2, {e[0]}", f"i1, i2 = i2, {e[1]}"),
                lambda: self.line(f"h0 = wp.int64({e[0]})", f"h0 = np.int64({e[1]})"),
                lambda: self.line(
                    f"h0 = h0 * wp.int64({e[0]}) + wp.int64(7)", f"h0 = int64(int(h0) * int({e[1]}) + 7)"
                ),
                lambda: self.line("h0 = h0 >> wp.int64(3)", "h0 = int64(int(h0) >> 3)"),
                lambda: self.line(f"y0 = wp.float32({f[0]})", f"y0 = np.float32({f[1]})"),
                lambda: self.line("y0 = y0 * y0 + wp.float32(0.5)", "y0 = y0 * y0 + np.float32(0.5)"),
                lambda: self.line(f"s.b = wp.uint8({e[0]})", f"s.b = uint8({e[1]})"),
                lambda: self.line("s.b = s.b * s.b + wp.uint8(3)", "s.b = uint8(int(s.b) * int(s.b) + 3)"),
            ]
        )()

    def memory(self):
        r = self.r
        i, x = r.choice(["i0", "i1", "i2"]), r.choice(["x0", "x1"])
        e, f = self.whole(), self.real()
        r.choice(
            [
                lambda: self.line(f"la[{i} & 3] = {e[0]}", f"la[{i} & 3] = {e[1]}"),
                lambda: self.line(
                    f"la[{i} & 3] -= {e[0]}", f"n = {i} & 3; n1 = {e[1]}; la[n] = int32(int(la[n]) - int(n1))"
                ),
                lambda: self.line(f"la[-1] ^= {e[0]}", f"la[-1] ^= {e[1]}"),
                lambda: self.line("la[0], la[1] = la[1], la[0]"),
                lambda: self.line(f"lf[{i} & 1] += {f[0]}", f"lf[{i} & 1] += {f[1]}"),
                lambda: self.line(f"lf[{i} & 1] *= {f[0]}", f"n = {i} & 1; n1 = {f[1]}; lf[n] *= n1"),
                lambda: self.line(f"{i} = len(la) + la.shape[0]", f"{i} = np.int32(8)"),
                lambda: self.slice(i, x),
                lambda: self.line(f"g[{i} & 1, 1] = {f[0]}", f"g[{i} & 1, 1] = {f[1]}"),
                lambda: self.row(i, x),
            ]
        )()

    def vectors(self):
        r = self.r
        e, f = self.whole(), self.real()
        r.choice(
            [
                lambda: self.line(f"v[-1] = {f[0]}", f"v[-1] = {f[1]}"),
                lambda: self.line("v[1:] = v[:2]", "v[1:] = v[:2].copy()"),
                lambda: self.line("v = v[::-1]", "v = v[::-1].copy()"),
                lambda: self.line(f"v.x = {f[0]}", f"v[0] = {f[1]}"),
                lambda: self.line(f"v[({e[0]}) & 1] += {f[0]}", f"n = ({e[1]}) & 1; v[n] += {f[1]}"),
                lambda: self.line("v = v * f64(0.5) - vec3d(x0, x1, v[0])", "v = v * 0.5 - np.array([x0, x1, v[0]])"),
                lambda: self.line("v = wp.cross(v, p.v)", "v = cross3(v, p.v)"),
                lambda: self.line(f"m[0, ({e[0]}) & 1] = {f[0]}", f"m[0][({e[1]}) & 1] = {f[1]}"),
                lambda: self.line("m = m * m", "m = product2(m, m)"),
                lambda: self.line("m = wp.transpose(m)", "m = m.T.copy()"),
                lambda: self.line("m[1] = m[0]", "m[1] = m[0].copy()"),
                lambda: self.line("m[1][0] -= x1"),
                lambda: self.line("x0, x1 = m[0]", "x0, x1 = m[0].copy()"),
                lambda: self.line("v = vec3d(*m[0], x1)", "v = np.array([*m[0], x1])"),
            ]
        )()

    def structs(self):
        e, f = self.whole(), self.real()
        self.r.choice(
            [
                lambda: self.line(f"p.a = {e[0]}", f"p.a = {e[1]}"),
                lambda: self.line(f"p.v[1] += {f[0]}", f"p.v[1] += {f[1]}"),
                lambda: self.line("q = p", "q = p.copy()"),
                lambda: self.line(f"p = moved(q, {e[0]})", f"p = moved(q, {e[1]})"),
                lambda: self.line("s.p = q", "s.p = q.copy()"),
                lambda: self.line("q = s.p", "q = s.p.copy()"),
                lambda: self.line(f"s.p.v[({e[0]}) & 1] = {f[0]}", f"s.p.v[({e[1]}) & 1] = {f[1]}"),
                lambda: self.line(f"s.p.a -= {e[0]}", f"s.p.a = int32(int(s.p.a) - int({e[1]}))"),
                lambda: self.line(
                    f"s = R(P({e[0]}, v), wp.uint8({e[0]}))", f"s = R(P({e[1]}, v.copy()), uint8({e[1]}))"
                ),
                lambda: self.line(f"q = P(a={e[0]}, v=p.v)", f"q = P({e[1]}, p.v.copy())"),
            ]
        )()

    def functions(self):
        r = self.r
        i, x = r.choice(["i0", "i1", "i2"]), r.choice(["x0", "x1"])
        e, f = self.whole(), self.real()
        r.choice(
            [
                lambda: self.line(f"bump({i}, {e[0]})", f"{i} = bump({i}, {e[1]})"),
                lambda: self.line(f"bump(la[{i} & 3], {e[0]})", f"n = {i} & 3; la[n] = bump(la[n], {e[1]})"),
                lambda: self.line(f"blend(lf[1], {f[0]})", f"lf[1] = blend(lf[1], {f[1]})"),
                lambda: self.line(f"blend(p.v[0], {f[0]})", f"p.v[0] = blend(p.v[0], {f[1]})"),
                lambda: self.line(f"{i} = fill(la, 3, {e[0]})", f"{i} = fill(la, 3, {e[1]})"),
                lambda: self.line(f"t = pair({e[0]}, {f[0]})", f"t = (int32(int({e[1]}) + 1), {f[1]} * 0.25)"),
                lambda: self.line(f"{i}, {x} = t"),
                lambda: self.line(f"_, {x} = pair(x={f[0]}, n={i})", f"{x} = {f[1]} * 0.25"),
            ]
        )()

    def slice(self, i, x):
        step = self.r.choice([-3, -2, -1, 1, 2])
        a, b = self.index(1, 15), self.index(1, 15)
        name = self.name("s")
        self.line(*(f"{name} = xs[({a[k]}) - 8 : ({b[k]}) - 8 : {step}]" for k in range(2)))
        size = f"{name}.shape[0]"
        self.line(f"if {size} > 0:")
        self.line(f"    {x} = {name}[{size} - 1] + {name}[0]")

    def row(self, i, x):
        name = self.name("g")
        self.line(f"{name} = g[{i} & 1]")
        self.line(f"{name}[2] = {x} + {name}[1]")

    def block(self, depth):
        self.depth += 1
        for _ in range(self.r.randrange(1, 4)):
            self.statement(depth)
        self.depth -= 1

    def branch(self, depth):
        c = self.condition()
        self.line(f"if {c[0]}:", f"if {c[1]}:")
        self.block(depth)
        if self.r.random() < 0.2:
            c = self.condition(0)
            self.line(f"elif {c[0]}:", f"elif {c[1]}:")
            self.block(depth)
        if self.r.random() < 0.5:
            self.line("else:")
            self.block(depth)

    def leave(self):
        """A break, continue or return of a loop's body."""
        c = self.condition()
        self.line(f"if {c[0]}:", f"if {c[1]}:")
        self.depth += 1
        word = self.r.choice(["break", "continue", "break", "continue", "return"])
        if word == "return":
            self.line("ko[0] = i0")
        self.line(word)
        self.depth -= 1

    def count(self, depth):
        name = self.name("j")
        bounds = self.r.choice(["3", "1, 6, 2", "i2 & 3", "4, -1, -2", "20", "i1 & 7, -2, -1"])
        python = bounds.replace("i2", "int(i2)").replace("i1", "int(i1)")
        kind = self.r.choice(["range({})", "reversed(range({}))"])
        self.line(f"for {name} in {kind.format(bounds)}:", f"for {name} in {kind.format(python)}:")
        self.depth += 1
        if self.r.random() < 0.3:
            self.leave()
        self.depth -= 1
        self.block(depth)
        self.depth += 1
        if self.r.random() < 0.3:
            self.leave()
        self.line(f"i0 ^= {name}")
        self.depth -= 1

    def over(self, depth):
        values, target = self.r.choice(
            [("(1, 5, -2)", "i2 ^= {}"), ("(i0, i1)", "i2 ^= {}"), ("v", "x0 += {}"), ("m[1]", "x1 -= {}")]
        )
        name = self.name("j")
        # The values are those before the loop.
        copied = f"{values}.copy()" if values in ("v", "m[1]") else values
        self.line(f"for {name} in {values}:", f"for {name} in {copied}:")
        self.block(depth)
        self.depth += 1
        self.line(target.format(name))
        self.depth -= 1

    def unrolled(self, depth):
        name = self.name("j")
        self.line(f"for {name} in range(4):")
        self.block(depth)
        self.depth += 1
        added = f"(3, -1, 4, 1)[{name}] * 2 + {name}"
        self.line(f"i1 += wp.static(WEIGHTS[{name}] * 2 + {name})", f"i1 = int32(int(i1) + {added})")
        self.depth -= 1

    def loop(self, depth):
        name = self.name("w")
        c = self.condition()
        self.line(f"{name} = 0")
        self.line(f"while {name} < 4 and ({c[0]}):", f"while {name} < 4 and ({c[1]}):")
        self.depth += 1
        self.line(f"{name} += 1")
        if self.r.random() < 0.4:
            self.leave()
        self.depth -= 1
        self.block(depth)

    def make(self):
        start = [
            ("i0 = ks[0]", None),
            ("i1 = ks[1]", None),
            ("i2 = ks[2]", None),
            ("x0 = xs[0]", None),
            ("x1 = xs[1]", None),
            ("h0 = wp.int64(ks[3])", "h0 = np.int64(ks[3])"),
            ("y0 = wp.float32(xs[5])", "y0 = np.float32(xs[5])"),
            ("la = wp.zeros(shape=4, dtype=int)", "la = np.zeros(4, dtype=np.int32)"),
            ("lf = wp.full(2, f64(0.5), dtype=f64)", "lf = np.full(2, 0.5)"),
            ("g = wp.zeros(shape=(2, 3), dtype=f64)", "g = np.zeros((2, 3))"),
            ("v = vec3d(xs[2], xs[3], xs[4])", "v = np.array([xs[2], xs[3], xs[4]])"),
            ("m = mat22d(xs[4], xs[5], xs[6], xs[7])", "m = np.array([[xs[4], xs[5]], [xs[6], xs[7]]])"),
            ("p = P(3, v)", "p = P(np.int32(3), v.copy())"),
            ("q = p", "q = p.copy()"),
            ("s = R(p, wp.uint8(ks[4]))", "s = R(p.copy(), uint8(ks[4]))"),
            ("t = (i0, x0)", None),
        ]
        for kernel, python in start:
            self.line(kernel, python)
        for _ in range(self.r.randrange(3, 9)):
            self.statement(2)
        ends = ["i0", "i1", "i2", "p.a", "s.p.a", "la[0] ^ la[1]", "la[3]", "int(h0) ^ int(s.b)"]
        meanings = [*ends[:-1], "int32(h0) ^ int(s.b)"]
        reals = ["x0", "x1", "v[0]", "v[2]", "q.v[1]", "s.p.v[0]", "lf[0] + lf[1]", "m[0, 1] + g[1, 2] + f64(y0)"]
        python_reals = [*reals[:-1], "m[0, 1] + g[1, 2] + np.float64(y0)"]
        for k in range(SIZE):
            self.line(f"ko[{k}] = {ends[k]}", f"ko[{k}] = {meanings[k]}")
            self.line(f"xo[{k}] = {reals[k]}", f"xo[{k}] = {python_reals[k]}")


def make_batch(seeds):
    """The text of a kernel that runs a program for each seed, and the texts of the same programs in Python."""
    kernel, calls, python = [PRELUDE], [], []
    for place, seed in enumerate(seeds):
        made = Maker(seed)
        one = "ks: wp.array(dtype=int), xs: wp.array(dtype=f64), ko: wp.array(dtype=int), xo: wp.array(dtype=f64)"
        kernel.append(f"@wp.func\ndef p{place}({one}):\n" + "\n".join(made.kernel))
        calls.append(f"    p{place}(ks[{place}, i], xs[{place}, i], ko[{place}, i], xo[{place}, i])")
        python.append("def p(ks, xs, ko, xo):\n" + "\n".join(made.python) + "\n")
    every = "ks: wp.array3d(dtype=int), xs: wp.array3d(dtype=f64), ko: wp.array3d(dtype=int), xo: wp.array3d(dtype=f64)"
    options = "module='unique', enable_backward=False, module_options={'fuse_fp': False}"
    head = f"@wp.kernel({options})\ndef k({every}):\n    i = wp.tid()\n"
    return "\n\n\n".join(kernel) + "\n\n\n" + head + "\n".join(calls) + "\n", python
