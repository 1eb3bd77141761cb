"""Random control flow: each function is run by the compiler and by Python itself, on the same int32 arguments."""

import importlib.util
import random

import numpy as np
import pytest

import warp as wp

ROWS = [[0, 0, 0], [1, 2, 3], [-1, 5, 2], [10, -7, 4], [3, 3, 3], [100, -50, 7]]
PROGRAMS = 25


class Int32(int):
    """An int that wraps as the kernel language's does."""


def _wrapping(name):
    operation = getattr(int, name)

    def apply(a, b):
        return Int32((operation(int(a), int(b)) + 2**31) % 2**32 - 2**31)

    return apply


for _name in ("add", "sub", "mul", "mod", "radd", "rsub", "rmul"):
    setattr(Int32, f"__{_name}__", _wrapping(f"__{_name}__"))


class Generator:
    """Writes the body of a function of a, b and c."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.loops = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def number(self, depth=0):
        kind = self.random.random()
        if depth > 2 or kind < 0.35:
            return self.pick("a", "b", "c")
        if kind < 0.5:
            return str(self.random.randint(-3, 5))
        if kind < 0.6:
            return f"({self.number(depth + 1)} if {self.condition(depth + 1)} else {self.number(depth + 1)})"
        return f"({self.number(depth + 1)} {self.pick('+', '-', '*')} {self.number(depth + 1)})"

    def condition(self, depth=0):
        kind = self.random.random()
        if kind < 0.35 and depth < 2:
            return f"({self.condition(depth + 1)} {self.pick('and', 'or')} {self.condition(depth + 1)})"
        if kind < 0.45 and depth < 2:
            return f"(not {self.condition(depth + 1)})"
        if kind < 0.55:
            return f"{self.number(2)} < {self.number(2)} <= {self.number(2)}"
        return f"{self.number(2)} {self.pick('<', '>', '==', '!=')} {self.number(2)}"

    def write(self, indent, text):
        self.lines.append("    " * indent + text)

    def block(self, indent, depth=0, in_loop=False):
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.random()
            if kind < 0.5 or depth > 3:
                self.write(indent, f"{self.pick('a', 'b', 'c')} = clip({self.number()} + a * 0)")
            elif kind < 0.55:
                self.write(indent, "a, b = b, a")
            elif kind < 0.72:
                self.write(indent, f"if {self.condition()}:")
                self.block(indent + 1, depth + 1, in_loop)
                if self.random.random() < 0.5:
                    self.write(indent, "else:")
                    self.block(indent + 1, depth + 1, in_loop)
            elif kind < 0.86:
                self.loops += 1
                bounds = self.pick("0", "3", "clip(a * a) % 6", "3, 0, -1", "0, clip(b * b) % 7, 2")
                self.write(indent, f"for i{self.loops} in range({bounds}):")
                self.write(indent + 1, f"c = clip(b + i{self.loops})")
                self.block(indent + 1, depth + 1, True)
            elif kind < 0.92:
                self.loops += 1
                turn = f"w{self.loops}"
                self.write(indent, f"{turn} = 0")
                self.write(indent, f"while {turn} < 4 and {self.condition(1)}:")
                self.write(indent + 1, f"{turn} += 1")
                self.block(indent + 1, depth + 1, True)
            else:
                self.write(indent, f"if {self.condition()}:")
                leave = self.pick("break", "continue") if in_loop else f"return {self.number(2)} + a * 0"
                self.write(indent + 1, leave)


FUNCTION = """
{func}
def clip(x: int):
    if x > 1000:
        return x * 0 + 1000
    if x < -1000:
        return x * 0 - 1000
    return x

{func}
def f(a: int, b: int, c: int):
{body}
    return a * 7 + b * 3 + c
"""
KERNEL = """
@wp.kernel
def k(x: wp.array2d(dtype=int), o: wp.array(dtype=int)):
    i = wp.tid()
    o[i] = f(x[i, 0], x[i, 1], x[i, 2])
"""


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_agrees_with_python(seed, tmp_path):
    generator = Generator(seed)
    generator.block(1)
    body = "\n".join(generator.lines)
    path = tmp_path / f"program{seed}.py"
    path.write_text("import warp as wp\n" + FUNCTION.format(func="@wp.func", body=body) + KERNEL)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    out = wp.zeros(len(ROWS), dtype=int, device="cpu")
    arguments = wp.array(np.array(ROWS, dtype=np.int32), dtype=int, device="cpu")
    wp.launch(module.k, dim=len(ROWS), inputs=[arguments, out], device="cpu")

    names = {}
    exec(FUNCTION.format(func="", body=body), names)
    assert out.numpy().tolist() == [int(names["f"](*map(Int32, row))) for row in ROWS]
