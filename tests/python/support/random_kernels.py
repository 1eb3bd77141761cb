"""Random differentiable kernels, as source text that is both a kernel and plain Python.

Run as Python (with `plain_warp` in the place of `warp`) a kernel gives its values in float64 without any of our
compiler: the reference for forward values, and by central differences for gradients.
"""

import math
import random
from types import SimpleNamespace

import numpy as np

ITEMS = 3  # items of the launch, and length of every array

# What every program may use; as Python, structs are plain classes.
HEAD = """
@wp.struct
class Pair:
    p: wp.float64
    q: wp.vec3d


@wp.struct
class Holder:
    h: D1
    c: wp.float64
    pair: Pair

"""


class Vec3:
    """What plain Python needs of vec3d."""

    def __init__(self, x=0.0, y=0.0, z=0.0):
        self.v = [x, y, z]

    def __getitem__(self, i):
        return self.v[i]

    def __setitem__(self, i, value):
        self.v[i] = value

    def __add__(self, other):
        return Vec3(*(a + b for a, b in zip(self.v, other.v, strict=True)))

    def __sub__(self, other):
        return Vec3(*(a - b for a, b in zip(self.v, other.v, strict=True)))

    def __mul__(self, scale):
        return Vec3(*(a * scale for a in self.v))

    __rmul__ = __mul__


def _cross(a, b):
    return Vec3(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def _dot(a, b):
    return sum(p * q for p, q in zip(a.v, b.v, strict=True))


class _Annotations:
    def __call__(self, dtype=None, ndim=1):
        return None


def _struct(cls):
    """A class whose members begin as zero."""

    class Made:
        def __init__(self):
            for name, kind in cls.__annotations__.items():
                setattr(self, name, kind() if callable(kind) else None)

    return Made


def _atomic_add(array, index, value):
    old = array[index]
    array[index] += value
    return old


def plain_warp(item):
    """The names of `warp` that the kernels use, for running item number `item` as Python."""
    return SimpleNamespace(
        tid=lambda: item,
        array=_Annotations(),
        float64=float,
        int32=int,
        vec3d=Vec3,
        func=lambda f: f,
        struct=_struct,
        zeros=lambda shape, dtype: [0.0] * shape,
        sin=math.sin,
        cos=math.cos,
        exp=math.exp,
        sqrt=math.sqrt,
        tanh=math.tanh,
        log=math.log,
        min=min,
        max=max,
        abs=abs,
        dot=_dot,
        cross=_cross,
        length=lambda v: math.sqrt(_dot(v, v)),
        where=lambda c, a, b: a if c else b,
        atomic_add=_atomic_add,
    )


class Generator:
    """Functions, then a kernel with arrays x (input), a (read and written), y (written), n (numbers of turns) and a
    struct st with an array h (read and written), a number c and a struct pair.

    With `counters`, every item has one more number in n, from which it takes slots: integers that loops, conditions and
    indices depend on.
    """

    def __init__(self, seed, counters=False):
        self.r = random.Random(seed)
        self.counters = counters
        self.lines = []
        self.count = 0
        self.functions = []
        self.makers = []

    def text(self):
        for k in range(self.r.randint(0, 2)):
            self.function(k)
        self.line(0, "def kernel(x: D1, a: D1, y: D1, n: I1, st: Holder):")
        self.line(1, "i = wp.tid()")
        self.scalars, self.vectors, self.depth = [], [], 0
        self.structs, self.locals, self.indices = [], [], []
        self.in_function = False
        for _ in range(self.r.randint(1, 3)):
            self.define(1)
        if self.counters:
            self.slot(1)
        for _ in range(self.r.randint(2, 5)):
            self.statement(1)
        self.line(1, f"y[i] = {self.value()}")
        return "\n".join(self.lines) + "\n"

    # ---- pieces ----

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def function(self, k):
        results = self.r.randint(1, 2)
        self.line(0, "@wp.func")
        takes_struct = self.r.random() < 0.4
        last = ", t: Pair" if takes_struct else ""
        self.line(0, f"def f{k}(p: wp.float64, q: wp.float64, arr: D1, i: int{last}):")
        self.scalars, self.vectors, self.depth, self.in_function = ["p", "q"], [], 0, True
        self.structs, self.locals, self.indices = [], [], []
        if takes_struct:
            self.scalars += ["t.p", "t.q[1]"]
            self.vectors.append("t.q")
        for _ in range(self.r.randint(1, 3)):
            self.statement(1)
        if self.r.random() < 0.3:
            self.line(1, f"if {self.condition()}:")
            self.line(2, "return " + ", ".join(self.value() for _ in range(results)))
        self.line(1, "return " + ", ".join(self.value() for _ in range(results)))
        self.line(0, "")
        self.functions.append((f"f{k}", results, takes_struct))
        if takes_struct and self.r.random() < 0.5:
            # One that makes a struct.
            self.line(0, "@wp.func")
            self.line(0, f"def g{k}(p: wp.float64, t: Pair):")
            self.line(1, "out = Pair()")
            self.line(1, f"out.p = p * t.p + {self.constant()}")
            self.line(1, "out.q = wp.cross(t.q, wp.vec3d(p, t.p, wp.float64(1.0)))")
            self.line(1, "return out")
            self.line(0, "")
            self.makers.append(f"g{k}")

    def constant(self):
        return f"wp.float64({self.r.choice([0.3, 0.5, 0.7, 1.1, 1.3, -0.4, -0.8])})"

    def array_element(self):
        if self.in_function:
            return f"arr[{self.index()}]"
        return f"{self.r.choice('xxa')}[{self.index()}]"

    def index(self):
        return self.r.choice(["i", "i", "i", "(i + 1) % 3", "0"]) if not self.in_function else "i"

    def leaf(self):
        if self.counters and self.indices and not self.in_function and self.r.random() < 0.1:
            return f"x[{self.r.choice(self.indices)} % 3]"
        choice = self.r.random()
        if self.structs and choice < 0.12:
            return f"{self.r.choice(self.structs)}{self.r.choice(['.p', '.q[0]', '.q[2]'])}"
        if self.locals and choice < 0.24:
            return f"{self.r.choice(self.locals)}[{self.local_index()}]"
        if self.scalars and choice < 0.6:
            return self.r.choice(self.scalars)
        if self.vectors and choice < 0.7:
            return f"{self.r.choice(self.vectors)}[{self.r.randint(0, 2)}]"
        if choice < 0.88:
            # Elements that other items write would depend on the order of items.
            if self.in_function:
                return "arr[i]"
            return self.r.choice(["x[i]", "x[(i + 1) % 3]", "a[i]", "a[i]", "st.h[i]", "st.c", "st.pair.q[1]"])
        return self.constant()

    def value(self, depth=0):
        kind = self.r.random()
        if depth >= 3 or kind < 0.2:
            return self.leaf()
        a, b = self.value(depth + 1), self.value(depth + 1)
        if kind < 0.55:
            return f"({a} {self.r.choice('+-*')} {b})"
        if kind < 0.63:
            return f"({a} / (wp.float64(2.0) + wp.cos({b})))"
        if kind < 0.85:
            f = self.r.choice(["sin", "cos", "tanh", "tanh", "root", "bounded_exp", "abs"])
            if f == "root":
                return f"wp.sqrt(wp.float64(1.0) + {a} * {a})"
            if f == "bounded_exp":
                return f"wp.exp(wp.sin({a}))"
            return f"wp.{f}({a})"
        if kind < 0.9 and self.vectors:
            return f"wp.dot({self.r.choice(self.vectors)}, {self.r.choice(self.vectors)})"
        if kind < 0.94:
            return f"wp.{self.r.choice(['min', 'max'])}({a}, {b})"
        if kind < 0.97:
            return f"wp.where({a} > {self.constant()}, {b}, {self.leaf()})"
        return f"({a} if {self.condition()} else {b})"

    def local_index(self):
        return self.r.choice(["0", "1", "2", "(i + 1) % 3", *(f"{j} % 3" for j in self.indices)])

    def condition(self):
        if self.counters and self.indices and self.r.random() < 0.3:
            return f"{self.r.choice(self.indices)} % {self.r.choice('23')} == 0"
        op = self.r.choice("<>")
        return f"{self.leaf()} {op} {self.constant()}"

    def define(self, depth):
        kind = self.r.random()
        if kind < 0.1:
            name = self.name("t")
            self.line(depth, f"{name} = Pair()")
            self.line(depth, f"{name}.p = {self.value(1)}")
            self.line(depth, f"{name}.q = wp.vec3d({self.value(2)}, {self.value(2)}, {self.leaf()})")
            self.structs.append(name)
        elif kind < 0.2:
            name = self.name("w")
            self.line(depth, f"{name} = wp.zeros(shape=3, dtype=wp.float64)")
            self.line(depth, f"{name}[{self.local_index()}] = {self.value(1)}")
            self.locals.append(name)
        elif kind < 0.4:
            name = self.name("v")
            self.line(depth, f"{name} = wp.vec3d({self.value(1)}, {self.value(1)}, {self.value(1)})")
            self.vectors.append(name)
        else:
            name = self.name("s")
            self.line(depth, f"{name} = {self.value(1)}")
            if self.lines[-1].split("= ")[1] in self.scalars:
                self.lines[-1] += " * wp.float64(1.0)"
            self.scalars.append(name)

    def slot(self, depth):
        """A number from the item's counter, which some programs also read."""
        name = self.name("c")
        self.line(depth, f"{name} = wp.atomic_add(n, i + {ITEMS}, {self.r.choice('112')})")
        self.indices.append(name)
        kind = self.r.random()
        assignable = [s for s in self.scalars if s.startswith("s")]
        if kind < 0.2:
            name = self.name("c")
            self.line(depth, f"{name} = n[i + {ITEMS}]")
            self.indices.append(name)
        elif kind < 0.5 and assignable:
            s = self.r.choice(assignable)
            self.line(depth, f"{s} = wp.sin({s} * wp.float64(1 + {name} % 5))")

    def bounded(self, text):
        """Keeps values that loops feed back from growing."""
        return f"wp.sin({text})"

    def statement(self, depth):
        if self.counters and not self.in_function and self.r.random() < 0.15:
            self.slot(depth)
            return
        kind = self.r.random()
        assignable = [s for s in self.scalars if s.startswith("s")]
        if kind < 0.2 or not assignable:
            self.define(depth)
        elif kind < 0.4:
            s = self.r.choice(assignable)
            op = self.r.choice(["=", "+=", "-=", "*="])
            self.line(depth, f"{s} {op} {self.bounded(self.value(1))}")
        elif kind < 0.48 and any(v.startswith("v") for v in self.vectors):
            # Not those of a parameter: what a function does to its copy is lost, which Python's references do not tell.
            v = self.r.choice([v for v in self.vectors if v.startswith("v")])
            if self.r.random() < 0.5:
                self.line(
                    depth, f"{v}[{self.r.randint(0, 2)}] {self.r.choice(['=', '+='])} {self.bounded(self.value(1))}"
                )
            else:
                self.line(
                    depth, f"{v} = {v} * {self.bounded(self.leaf())} + wp.cross({v}, {self.r.choice(self.vectors)})"
                )
        elif kind < 0.52 and self.structs:
            self.struct_write(depth)
        elif kind < 0.56 and self.locals:
            target = f"{self.r.choice(self.locals)}[{self.local_index()}]"
            self.line(depth, f"{target} {self.r.choice(['=', '+=', '*=', '-='])} {self.bounded(self.value(1))}")
        elif kind < 0.59 and len(assignable) > 1:
            self.tuples(depth, assignable)
        elif kind < 0.66:
            self.array_write(depth)
        elif kind < 0.74 and self.functions and not self.in_function:
            self.call(depth)
        elif self.depth < 2:
            self.block(depth)
        else:
            self.define(depth)

    def struct_write(self, depth):
        t = self.r.choice(self.structs)
        kind = self.r.random()
        if kind < 0.3 and self.makers:
            self.line(depth, f"{t} = {self.r.choice(self.makers)}({self.bounded(self.leaf())}, {t})")
        elif kind < 0.6:
            member = self.r.choice(["p", "q[0]", "q[1]"])
            self.line(depth, f"{t}.{member} {self.r.choice(['=', '+=', '*='])} {self.bounded(self.value(1))}")
        else:
            self.line(depth, f"{t}.q = {t}.q * {self.bounded(self.leaf())}")

    def tuples(self, depth, assignable):
        a, b = self.r.sample(assignable, 2)
        kind = self.r.random()
        if kind < 0.4:
            self.line(depth, f"{a}, {b} = {b}, {self.bounded(self.value(1))}")
        elif kind < 0.7:
            name = self.name("u")
            self.line(depth, f"{name} = ({self.value(2)}, {self.leaf()})")
            self.line(depth, f"{a} = {name}[0] * {name}[1]")
        else:
            name = self.name("e")
            self.line(depth, f"for {name} in ({self.leaf()}, {self.value(2)}):")
            self.line(depth + 1, f"{a} += {self.bounded(name)}")

    def call(self, depth):
        name, results, takes_struct = self.r.choice(self.functions)
        if takes_struct and not self.structs:
            last = ", st.pair"
        else:
            last = f", {self.r.choice(self.structs)}" if takes_struct else ""
        targets = [self.name("s") for _ in range(results)]
        array = self.r.choice(["x", "a", "a", "st.h"])
        self.line(depth, f"{', '.join(targets)} = {name}({self.value(1)}, {self.leaf()}, {array}, i{last})")
        self.scalars += targets

    def array_write(self, depth):
        if self.in_function:
            self.define(depth)
            return
        op = self.r.choice(["=", "=", "+=", "*=", "-="])
        target = self.r.choice(["a[i]", "a[i]", "st.h[i]", "y[i]"])
        # y is written only; += on arrays is an atomic, whose order among items does not matter
        if target == "y[i]":
            op = self.r.choice(["=", "+="])
        self.line(depth, f"{target} {op} {self.bounded(self.value(1))}")

    def block(self, depth):
        before = [list(names) for names in (self.scalars, self.vectors, self.structs, self.locals, self.indices)]
        self.depth += 1
        kind = self.r.random()
        if kind < 0.4:
            self.line(depth, f"if {self.condition()}:")
            self.statements(depth + 1)
            if self.r.random() < 0.6:
                self.scalars, self.vectors, self.structs, self.locals, self.indices = (list(b) for b in before)
                self.line(depth, "else:")
                self.statements(depth + 1)
        elif kind < 0.8:
            j = self.name("j")
            turns = self.r.choice(["3", "range_n", "range_n", "down"])
            if self.in_function:
                turns = "3" if turns == "range_n" else turns
            bounds = {"3": "3", "range_n": "n[i]", "down": "4, 0, -2"}[turns]
            if self.counters and self.indices and self.r.random() < 0.3:
                bounds = f"{self.r.choice(self.indices)} % 5"
            self.line(depth, f"for {j} in range({bounds}):")
            self.indices.append(j)
            if self.r.random() < 0.3:
                self.line(depth + 1, f"if {self.condition()}:")
                self.line(depth + 2, self.r.choice(["break", "continue"]))
            self.statements(depth + 1)
        else:
            j = self.name("k")
            self.line(depth, f"{j} = int(0)")
            self.line(depth, f"while {j} < {'3' if self.in_function else 'n[i] + 1'}:")
            self.line(depth + 1, f"{j} += 1")
            if self.r.random() < 0.3:
                self.line(depth + 1, f"if {self.condition()}:")
                self.line(depth + 2, self.r.choice(["break", "continue"]))
            self.statements(depth + 1)
        self.depth -= 1
        # Names defined inside are not used behind: they may not have been defined.
        self.scalars, self.vectors, self.structs, self.locals, self.indices = before

    def statements(self, depth):
        for _ in range(self.r.randint(1, 3)):
            self.statement(depth)


def program(seed, counters=False):
    """The source text of random kernel number `seed`."""
    return Generator(seed, counters).text()


def inputs(seed, counters=False):
    """Arrays x, a, y, n (turns: 0 to 5, and counters at zero) and the struct's h."""
    r = np.random.default_rng(seed)
    x, a, n = r.uniform(-1.5, 1.5, ITEMS), r.uniform(-1.5, 1.5, ITEMS), r.integers(0, 6, ITEMS)
    h = r.uniform(-1.5, 1.5, ITEMS)
    return x, a, np.zeros(ITEMS), np.append(n, [0] * ITEMS) if counters else n, h


def fill_holder(holder, vector):
    """The numbers of the struct that a kernel takes."""
    holder.c, holder.pair.p, holder.pair.q = 0.75, -0.6, vector(0.4, -0.3, 0.9)


class Plain:
    """A program run as Python."""

    def __init__(self, text):
        self.code = compile(HEAD + text, "<random kernel>", "exec")

    def run(self, x, a, y, n, h):
        """Runs all items in order on copies; returns (a, y, h) afterwards."""
        x, a, y, h = (list(map(float, values)) for values in (x, a, y, h))
        n = list(map(int, n))
        for item in range(ITEMS):
            names = {"wp": plain_warp(item), "D1": None, "I1": None}
            exec(self.code, names)
            st = names["Holder"]()
            fill_holder(st, Vec3)
            st.h = h
            names["kernel"](x, a, y, n, st)
        return np.array(a), np.array(y), np.array(h)

    def gradient(self, x, a, y, n, h, step):
        """d(sum(w * (y + a + h))) / d(x, a, h) by central differences; w as `weights` gives it."""
        out = []
        for which in range(3):
            g = np.zeros(ITEMS)
            for i in range(ITEMS):
                values = []
                for sign in (1.0, -1.0):
                    moved = [np.array(x), np.array(a), np.array(h)]
                    moved[which][i] += sign * step
                    after = self.run(moved[0], moved[1], y, n, moved[2])
                    values.append(sum(float(np.dot(weights(), v)) for v in after))
                g[i] = (values[0] - values[1]) / (2.0 * step)
            out.append(g)
        return out


def weights():
    return 1.0 + 0.25 * np.arange(ITEMS)
