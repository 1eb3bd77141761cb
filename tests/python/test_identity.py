"""Every captured value and `wp.static` is part of a kernel's identity: in one process and through the disk cache."""

import hashlib
import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from typing import Any

import warp as wp


def make(numbers):
    @wp.func
    def pick(x: Any):
        r = int(-1)
        for i in range(wp.static(len(numbers))):
            if x == wp.static(numbers[i]):
                r = wp.static(numbers[i]) * 10
        return r

    @wp.kernel
    def k(a: wp.array(dtype=int)):
        t = wp.tid()
        a[t] = pick(t)

    return k


for numbers in eval(sys.argv[1]):
    a = wp.zeros(6, dtype=int)
    wp.launch(make(numbers), dim=6, inputs=[a])
    print(*a.numpy())
"""
EXPECTED = {(1, 2): "-1 10 20 -1 -1 -1", (3, 4): "-1 -1 -1 30 40 -1", (): "-1 -1 -1 -1 -1 -1"}


@pytest.mark.parametrize("runs", [[[(1, 2), (3, 4)]], [[(1, 2)], [(3, 4)]], [[(3, 4), ()], [(1, 2), (3, 4)], [()]]])
def test_kernels_of_a_factory_give_each_its_own_result(runs, tmp_path):
    (tmp_path / "factory.py").write_text(PROGRAM)
    environment = dict(os.environ, WARP_CACHE_PATH=str(tmp_path / "cache"))
    for numbers in runs:  # processes that share the cache
        done = subprocess.run(
            [sys.executable, "factory.py", repr(numbers)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines() == [EXPECTED[n] for n in numbers]


def test_equal_code_of_two_files_is_not_the_same(tmp_path):
    """Code objects compare equal when only annotations differ: each kernel keeps the text of its own file."""
    import importlib.util

    import warp as wp

    kernels = {}
    for dtype in ("float", "int"):
        path = tmp_path / f"of_{dtype}.py"
        path.write_text(
            f"import warp as wp\n\n\n@wp.kernel\ndef k(a: wp.array(dtype={dtype})):\n    a[0] = a[0] + a[0]\n"
        )
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        kernels[dtype] = module.k
    for dtype, kernel in kernels.items():
        a = wp.array([3], dtype={"float": float, "int": int}[dtype])
        wp.launch(kernel, dim=1, inputs=[a])
        assert a.numpy().tolist() == [6]


def test_hashes_are_those_of_sha256():
    """Content addresses, whichever instructions compute them: lengths around each block's end, and a long text."""
    from warp import _core

    text = bytes(range(256)) * 300
    for length in [*range(200), 4095, 4096, len(text)]:
        assert _core.sha256(text[:length]) == hashlib.sha256(text[:length]).hexdigest()
