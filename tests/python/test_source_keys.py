"""Code that is found by its source: a process that starts again neither reads nor lowers kernels, and never runs the
code of a program that has changed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.host

SUPPORT = Path(__file__).parent / "support"


def run(program, cache, *arguments, fails=False, **environment):
    """What the program prints last, as JSON."""
    environment = {**os.environ, "WARP_CACHE_PATH": str(cache), **environment}
    command = [sys.executable, str(program), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else json.loads(done.stdout.splitlines()[-1])


def test_what_a_program_changes_beside_its_text(tmp_path):
    # The first two fill one cache; then each variant is there, beside the other.
    for variant in (1, 2, 1, 2):
        seen = run(SUPPORT / "changing_program.py", tmp_path, variant)
        wrong = {name: case for name, case in seen.items() if case["found"] != case["expected"]}
        assert not wrong, f"variant {variant}"
    read = [name for name, case in seen.items() if case["read"]]
    # Of generic kernels the signature is asked for.
    assert read == ["instance_of_a_generic_kernel"]
    assert len(seen) > 50


PROGRAM = """
import json
import warp as wp
from library import helper, Pair
wp.config.quiet = True
wp.config.mode = "debug"
wp.set_device("cpu")
@wp.kernel
def kernel(n: int, pair: Pair, out: wp.array(dtype=float)):
    assert n > 0
    out[0] = helper(pair.a)
pair = Pair()
pair.a = 2.0
out = wp.zeros(1, dtype=float)
wp.launch(kernel, 1, inputs=[1, pair, out])
try:
    wp.launch(kernel, 1, inputs=[0, pair, out])
except RuntimeError as error:
    failed = str(error)
print(json.dumps([out.numpy()[0].tolist(), failed, kernel.source_milliseconds > 0]))
"""

LIBRARY = """
import warp as wp
@wp.struct
class Pair:
    b: float
    a: float
@wp.func
def helper(x: float):
    return x * 10.0
"""


@pytest.fixture
def program(tmp_path):
    def write(text=PROGRAM, library=LIBRARY):
        (tmp_path / "library.py").write_text(library)
        (tmp_path / "program.py").write_text(text)
        return tmp_path / "program.py"

    # Python's byte code is told from its source by seconds.
    write.run = lambda path: run(path, tmp_path / "cache", PYTHONDONTWRITEBYTECODE="1")
    return write


def line_of(text, what):
    return text[: text.index(what)].count("\n") + 1


def test_texts_that_change(program):
    value, failed, read = program.run(program())
    assert (value, read) == (20.0, True) and f'program.py", line {line_of(PROGRAM, "assert")}' in failed
    assert program.run(program()) == [20.0, failed, False]
    # A function in another file, a struct there, and the kernel itself.
    assert program.run(program(library=LIBRARY.replace("10.0", "11.0")))[0] == 22.0
    assert program.run(program(library=LIBRARY.replace("b: float", "b: wp.float64")))[0] == 20.0
    assert program.run(program(PROGRAM.replace("helper(pair.a)", "helper(pair.a) + 1.0")))[0] == 21.0
    # Only the place.
    moved = "# a line\n" + PROGRAM
    value, failed, _ = program.run(program(moved))
    assert value == 20.0 and f'program.py", line {line_of(moved, "assert")}' in failed
    assert program.run(program(moved))[1:] == [failed, False]


@pytest.mark.parametrize("damage", ["empty", "short", "index", "code", "foreign"])
def test_damaged_packs(program, tmp_path, damage):
    expected = program.run(program())[:2]
    (pack,) = (tmp_path / "cache").glob("*.pack")
    content = bytearray(pack.read_bytes())
    if damage == "empty":
        content.clear()
    elif damage == "short":
        del content[len(content) // 2 :]
    elif damage == "foreign":
        content = bytearray(b"something else") * 100
    else:
        place = 60 if damage == "index" else content.index(b"\x7fELF") + 100 if b"\x7fELF" in content else 60
        content[place] ^= 0xFF
    pack.write_bytes(content)
    assert program.run(program()) == [*expected, True]


def test_an_error_of_a_gradient_says_the_same(program, tmp_path):
    text = """
import sys
import warp as wp
wp.config.quiet = True
wp.set_device("cpu")
@wp.func
def taken(sums: wp.array(dtype=float), x: float):
    return wp.atomic_add(sums, 0, x)
@wp.kernel
def kernel(x: wp.array(dtype=float), sums: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = taken(sums, x[i]) * x[i]
x, sums, y = (wp.ones(1, dtype=float, requires_grad=True) for _ in range(3))
with wp.Tape() as tape:
    wp.launch(kernel, 1, inputs=[x, sums, y])
if kernel.source_milliseconds > 0:
    print("read", file=sys.stderr)
tape.backward(grads={y: wp.ones(1, dtype=float)})
"""
    path = program(text)
    first = run(path, tmp_path / "cache", fails=True)
    second = run(path, tmp_path / "cache", fails=True)
    assert first == "read\n" + second
    assert "return wp.atomic_add(sums, 0, x)" in second and "program.py" in second


def test_what_needs_the_ir_after_a_start_from_source(program, tmp_path):
    text = """
import json
import warp as wp
wp.config.quiet = True
wp.set_device("cpu")
@wp.kernel
def kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]
x, y = wp.array([3.0], dtype=float), wp.zeros(1, dtype=float)
wp.launch(kernel, 1, inputs=[x, y])
read = kernel.source_milliseconds > 0
def f(x):
    y = wp.zeros(1, dtype=float)
    wp.launch(kernel, 1, inputs=[x, y])
    return y
_, tangent = wp.jvp(f, [x], [wp.ones(1, dtype=float)])
print(json.dumps([read, tangent.numpy()[0].tolist(), kernel._dump("ir"), [a.is_write for a in kernel.adj.args]]))
"""
    path = program(text)
    first, second = program.run(path), program.run(path)
    assert [first[0], second[0]] == [True, False]
    assert first[1:] == second[1:]
    assert second[1] == 6.0 and second[3] == [False, True]


def test_kernels_that_are_transformed_are_read(program):
    text = """
import ast, json
import warp as wp
wp.config.quiet = True
wp.set_device("cpu")
class Replace(ast.NodeTransformer):
    def visit_Constant(self, node):
        return ast.Constant(FACTOR) if node.value == 1.5 else node
FACTOR = float(__import__("os").environ.get("FACTOR", "2.0"))
def kernel(out: wp.array(dtype=float)):
    out[0] = 1.5
made = wp.Kernel(kernel, code_transformers=[Replace()])
out = wp.zeros(1, dtype=float)
wp.launch(made, 1, inputs=[out])
print(json.dumps([out.numpy()[0].tolist(), made.source_milliseconds > 0]))
"""
    path = program(text)
    assert program.run(path) == [2.0, True]
    assert run(path, path.parent / "cache", FACTOR="3.0") == [3.0, True]


def test_without_a_place_to_write(program, tmp_path):
    path = program()
    expected = program.run(path)[:2]
    for pack in (tmp_path / "cache").glob("*.pack"):
        pack.unlink()
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert run(path, blocked / "cache") == [*expected, True]
