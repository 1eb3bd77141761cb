"""`warp.config.lineinfo`: compiled code says which lines of the program it comes from."""

import inspect
import re
import shutil
import subprocess

import numpy as np
import pytest

import warp as wp


@wp.func
def bent(x: float):
    doubled = x * 2.0
    return wp.sin(doubled) + 1.0  # in a function


@wp.kernel(module_options={"lineinfo": True}, module="unique")
def shaped(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    v = a[i]
    if v > 0.5:
        v = bent(v)
    b[i] = wp.sqrt(v)  # behind the branch


def line_of(function, text):
    lines, first = inspect.getsourcelines(function.func)
    return first + next(i for i, line in enumerate(lines) if text in line)


def lines_in(text):
    """{line: instructions behind its directives}, of this file."""
    assert re.search(r'\.file.*test_line_info.py"', text)
    out = {}
    here = None
    for line in text.splitlines():
        directive = re.match(r"\s*\.loc\s+\d+ (\d+)", line)
        if directive:
            here = int(directive[1])
        elif here:
            out[here] = out.get(here, "") + line + "\n"
    return out


@pytest.mark.parametrize(("kind", "gpu", "root"), [("ptx", "sm_80", "sqrt.rn"), ("asm", "", "sqrt[sp]s|fsqrt")])
def test_lines_are_the_programs(kind, gpu, root):
    backend = "llvm-nvptx" if gpu else ""
    found = lines_in(shaped._dump(kind, backend=backend, gpu=gpu))
    assert re.search(root, found[line_of(shaped, "behind the branch")])
    assert line_of(bent, "in a function") in found
    assert line_of(bent, "doubled =") in found


@wp.func_native("""
    float twice = x + x;
    return sqrtf(twice);
""")
def native(x: float) -> float: ...


@wp.kernel(module_options={"lineinfo": True}, module="unique")
def with_snippet(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = native(a[i])


@pytest.mark.parametrize(
    ("kind", "gpu", "sum"), [("ptx", "sm_80", r"add(\.rn)?\.f32"), ("asm", "", "vadd[sp]s|addss|fadd")]
)
def test_lines_of_snippets(kind, gpu, sum):
    found = lines_in(with_snippet._dump(kind, backend="llvm-nvptx" if gpu else "", gpu=gpu))
    first = inspect.getsourcelines(native.func)[1]
    assert re.search(sum, found[first + 1])


def test_code_without_lines_has_none():
    @wp.kernel
    def plain(a: wp.array(dtype=float)):
        a[wp.tid()] = 1.0

    assert ".loc" not in plain._dump("ptx", backend="llvm-nvptx", gpu="sm_80")


def test_lines_change_no_result():
    x = np.linspace(0, 1, 1000, dtype=np.float32)
    a, b = wp.array(x), wp.zeros(1000, dtype=float)
    wp.launch(shaped, 1000, inputs=[a, b])
    wanted = np.sqrt(np.where(x > 0.5, np.sin(2.0 * x) + 1.0, x))
    np.testing.assert_allclose(b.numpy(), wanted, rtol=1e-6)


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
def test_ptxas_takes_the_lines(tmp_path):
    ptx, cubin = tmp_path / "k.ptx", tmp_path / "k.cubin"
    ptx.write_text(shaped._dump("ptx", backend="llvm-nvptx", gpu="sm_80"))
    subprocess.run(["ptxas", "-lineinfo", "-arch=sm_80", ptx, "-o", cubin], check=True)
    assert b"test_line_info.py" in cubin.read_bytes()
