"""Random kernels over the whole language, each with the same program as plain Python over NumPy scalars.

Every piece is a pair of texts: of the kernel, and of Python, which writes out what differs (wrapping division, copies
of structs, results for references). Integers are int32 and floats float64, so that both agree in every bit.
"""

import random
import warnings

import numpy as np

SIZE = 8  # of the arrays that come in and go out

PRELUDE = """
import warp as wp

f64 = wp.float64
vec3d = wp.types.vector(length=3, dtype=wp.float64)

@wp.struct
class P:
    a: int
    v: vec3d

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
"""

WRAP = 2**32


def int32(n):
    n = int(n) % WRAP
    return np.int32(n - WRAP if n >= WRAP // 2 else n)


class P:
    def __init__(self, a, v):
        self.a, self.v = a, v

    def copy(self):
        return P(self.a, self.v.copy())


def bump(x, by):
    x = int32(int(x) + int(by))
    return by if x > 1000 else x


def blend(x, y):
    return x * 0.5 + y


def fill(a, n, start):
    for i in range(n):
        a[i] = int(a[i]) ^ int(int32(int(start) + i))
    return a[n - 1]


def moved(p, n):
    return P(int32(int(p.a) - int(n)), p.v * 0.5)


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.kernel, self.python, self.depth = [], [], 0
        self.loops = 0

    def line(self, kernel, python=None):
        indent = "    " * (self.depth + 1)
        self.kernel.append(indent + kernel)
        self.python.append(indent + (kernel if python is None else python))

    # ---- expressions: (kernel, python) ----

    def whole(self, depth=2):
        r = self.r
        if depth == 0 or r.random() < 0.3:
            k = r.randrange(4)
            if k == 0:
                n = r.randrange(-9, 10)
                return (f"({n})", f"np.int32({n})")
            if k == 1:
                return self.both(r.choice(["i0", "i1", "i2", "p.a"]))
            if k == 2:
                index = self.index(depth, 3)
                return (f"la[{index[0]}]", f"la[{index[1]}]")
            index = self.index(depth, 7)
            return (f"ks[{index[0]}]", f"ks[{index[1]}]")
        a, b = self.whole(depth - 1), self.whole(depth - 1)
        k = r.randrange(7)
        if k < 3:
            op = "+-*"[k]
            return (f"({a[0]} {op} {b[0]})", f"int32(int({a[1]}) {op} int({b[1]}))")
        if k == 3:
            op = r.choice("&|^")
            return (f"({a[0]} {op} {b[0]})", f"({a[1]} {op} {b[1]})")
        if k == 4:
            return (f"wp.min({a[0]}, {b[0]})", f"min({a[1]}, {b[1]})")
        if k == 5:
            c = self.condition(depth - 1)
            return (f"({a[0]} if {c[0]} else {b[0]})", f"({a[1]} if {c[1]} else {b[1]})")
        d = r.randrange(1, 6)
        return (f"({a[0]} // {d})", f"np.int32(int({a[1]}) // {d})")

    @staticmethod
    def both(text):
        return (text, text)

    def index(self, depth, mask):
        e = self.whole(depth - 1) if depth > 0 else self.both("i0")
        return (f"({e[0]}) & {mask}", f"({e[1]}) & {mask}")

    def real(self, depth=2):
        r = self.r
        if depth == 0 or r.random() < 0.3:
            k = r.randrange(5)
            if k == 0:
                x = r.randrange(-8, 9) / 4
                return (f"f64({x})", f"np.float64({x})")
            if k == 1:
                return self.both(r.choice(["x0", "x1", "v[1]", "p.v[2]", "t[1]"]))
            if k == 2:
                e = self.whole(0)
                return (f"f64({e[0]})", f"np.float64({e[1]})")
            name, mask = r.choice([("lf", 1), ("xs", 7)])
            index = self.index(depth, mask)
            return (f"{name}[{index[0]}]", f"{name}[{index[1]}]")
        a, b = self.real(depth - 1), self.real(depth - 1)
        k = r.randrange(5)
        if k < 3:
            return tuple(f"({x} {'+-*'[k]} {y})" for x, y in zip(a, b, strict=True))
        if k == 3:
            return (f"wp.max({a[0]}, {b[0]})", f"np.fmax({a[1]}, {b[1]})")
        c = self.condition(depth - 1)
        return (f"wp.where({c[0]}, {a[0]}, {b[0]})", f"({a[1]} if {c[1]} else {b[1]})")

    def condition(self, depth=1):
        make = self.r.choice([self.whole, self.real])
        a, b = make(max(depth, 0)), make(max(depth, 0))
        op = self.r.choice(["<", "<=", "==", "!=", ">"])
        c = tuple(f"{x} {op} {y}" for x, y in zip(a, b, strict=True))
        if self.r.random() < 0.2:
            d = self.condition(0)
            word = self.r.choice(["and", "or"])
            c = tuple(f"({x}) {word} ({y})" for x, y in zip(c, d, strict=True))
        return c

    # ---- statements ----

    def statement(self, depth):
        r = self.r
        i, x = r.choice(["i0", "i1", "i2"]), r.choice(["x0", "x1"])
        e, f = self.whole(), self.real()
        simple = [
            lambda: self.line(f"{i} = int({e[0]})", f"{i} = {e[1]}"),
            lambda: self.line(f"{x} = {f[0]}", f"{x} = {f[1]}"),
            lambda: self.line(f"{i} += {e[0]}", f"{i} = int32(int({i}) + int({e[1]}))"),
            lambda: self.line(f"{x} *= {f[0]}", f"{x} *= {f[1]}"),
            lambda: self.line("i0, i1 = i1, i0"),
            lambda: self.line(f"la[{i} & 3] = {e[0]}", f"la[{i} & 3] = {e[1]}"),
            lambda: self.line(f"lf[{i} & 1] += {f[0]}", f"lf[{i} & 1] += {f[1]}"),
            lambda: self.line(f"v[-1] = {f[0]}", f"v[-1] = {f[1]}"),
            lambda: self.line("v[1:] = v[:2]", "v[1:] = v[:2].copy()"),
            lambda: self.line("v = v[::-1]", "v = v[::-1].copy()"),
            lambda: self.line(f"p.a = {e[0]}", f"p.a = {e[1]}"),
            lambda: self.line(f"p.v[1] += {f[0]}", f"p.v[1] += {f[1]}"),
            lambda: self.line("q = p", "q = p.copy()"),
            lambda: self.line(f"p = moved(q, {e[0]})", f"p = moved(q, {e[1]})"),
            lambda: self.line(f"bump({i}, {e[0]})", f"{i} = bump({i}, {e[1]})"),
            lambda: self.line(f"bump(la[{i} & 3], {e[0]})", f"n = {i} & 3; la[n] = bump(la[n], {e[1]})"),
            lambda: self.line(f"blend(lf[1], {f[0]})", f"lf[1] = blend(lf[1], {f[1]})"),
            lambda: self.line(f"blend(p.v[0], {f[0]})", f"p.v[0] = blend(p.v[0], {f[1]})"),
            lambda: self.line(f"{i} = fill(la, 3, {e[0]})", f"{i} = fill(la, 3, {e[1]})"),
            lambda: self.line(f"t = pair({e[0]}, {f[0]})", f"t = (int32(int({e[1]}) + 1), {f[1]} * 0.25)"),
            lambda: self.line(f"{i}, {x} = t"),
            lambda: self.slice(i, x, e),
        ]
        if depth == 0 or r.random() < 0.6:
            return r.choice(simple)()
        return r.choice([self.branch, self.count, self.over, self.loop])(depth - 1)

    def slice(self, i, x, e):
        step = self.r.choice([-3, -2, -1, 1, 2])
        a, b = self.index(1, 15), self.index(1, 15)
        for k, line in enumerate([self.kernel, self.python]):
            indent = "    " * (self.depth + 1)
            line.append(f"{indent}s = xs[({a[k]}) - 8 : ({b[k]}) - 8 : {step}]")
            size = "s.shape[0]"
            line.append(f"{indent}if {size} > 0:")
            line.append(f"{indent}    {x} = s[{size} - 1] + s[0]")

    def block(self, depth):
        self.depth += 1
        for _ in range(self.r.randrange(1, 4)):
            self.statement(depth)
        self.depth -= 1

    def branch(self, depth):
        c = self.condition()
        self.line(f"if {c[0]}:", f"if {c[1]}:")
        self.block(depth)
        if self.r.random() < 0.5:
            self.line("else:")
            self.block(depth)

    def count(self, depth):
        name = f"j{self.loops}"
        self.loops += 1
        bounds = self.r.choice(["3", "1, 6, 2", "i2 & 3", "4, -1, -2", "20"])
        python = bounds.replace("i2", "int(i2)")
        kind = self.r.choice(["range({})", "reversed(range({}))"])
        self.line(f"for {name} in {kind.format(bounds)}:", f"for {name} in {kind.format(python)}:")
        self.block(depth)
        self.depth += 1
        if self.r.random() < 0.4:
            c = self.condition()
            word = self.r.choice(["break", "continue"])
            self.line(f"if {c[0]}:", f"if {c[1]}:")
            self.depth += 1
            self.line(word)
            self.depth -= 1
        self.line(f"i0 ^= {name}")
        self.depth -= 1

    def over(self, depth):
        values = self.r.choice(["(1, 5, -2)", "(i0, i1)"])
        name = f"j{self.loops}"
        self.loops += 1
        self.line(f"for {name} in {values}:")
        self.block(depth)
        self.depth += 1
        self.line(f"i2 ^= {name}")
        self.depth -= 1

    def loop(self, depth):
        name = f"w{self.loops}"
        self.loops += 1
        c = self.condition()
        self.line(f"{name} = 0")
        self.line(f"while {name} < 4 and ({c[0]}):", f"while {name} < 4 and ({c[1]}):")
        self.block(depth)
        self.depth += 1
        self.line(f"{name} += 1")
        self.depth -= 1

    def make(self):
        start = [
            ("i0 = ks[0]", None),
            ("i1 = ks[1]", None),
            ("i2 = ks[2]", None),
            ("x0 = xs[0]", None),
            ("x1 = xs[1]", None),
            ("la = wp.zeros(shape=4, dtype=int)", "la = np.zeros(4, dtype=np.int32)"),
            ("lf = wp.full(2, f64(0.5), dtype=f64)", "lf = np.full(2, 0.5)"),
            ("v = vec3d(xs[2], xs[3], xs[4])", "v = np.array([xs[2], xs[3], xs[4]])"),
            ("p = P(3, v)", "p = P(np.int32(3), v.copy())"),
            ("q = p", "q = p.copy()"),
            ("t = (i0, x0)", None),
        ]
        for kernel, python in start:
            self.line(kernel, python)
        for _ in range(self.r.randrange(4, 12)):
            self.statement(2)
        ends = ["i0", "i1", "i2", "p.a", "q.a", "la[0]", "la[1]", "la[3]"]
        reals = ["x0", "x1", "v[0]", "v[2]", "p.v[0]", "q.v[1]", "lf[0]", "lf[1]"]
        for k, (e, f) in enumerate(zip(ends, reals, strict=True)):
            self.line(f"ko[{k}] = {e}")
            self.line(f"xo[{k}] = {f}")
        head = "ks: wp.array(dtype=int), xs: wp.array(dtype=f64), ko: wp.array(dtype=int), xo: wp.array(dtype=f64)"
        kernel = f"{PRELUDE}\n@wp.kernel(module='unique', enable_backward=False)\ndef k({head}):\n" + "\n".join(
            self.kernel
        )
        return kernel + "\n", "def k(ks, xs, ko, xo):\n" + "\n".join(self.python) + "\n"


def run_python(text, ks, xs):
    """The results of the Python program."""
    ko, xo = np.zeros(SIZE, dtype=np.int32), np.zeros(SIZE)
    names = {"np": np, "int32": int32, "P": P, "bump": bump, "blend": blend, "fill": fill, "moved": moved}
    exec(compile(text, "<python>", "exec"), names)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names["k"](ks, xs, ko, xo)
    return ko, xo
