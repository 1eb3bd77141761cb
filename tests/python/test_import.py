"""`import warp` is quick: what few programs need is loaded when it is asked for."""

import hashlib
import subprocess
import sys

import pytest

import warp as wp
from warp import later, modules

# Each takes milliseconds, and none is needed before the first kernel.
SLOW = ("importlib.metadata", "email", "hashlib", "json", "pathlib", "cProfile", "subprocess", "unittest", "matplotlib")
SLOW += tuple(f"warp.{module}" for module in later.MODULES)


def test_nothing_slow_is_imported():
    code = (
        f"import numpy, sys; before = set(sys.modules); import warp; print(set({SLOW}) & (set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_what_is_loaded_later_is_there():
    for name, module in later.HOMES.items():
        assert getattr(wp, name) is getattr(sys.modules[f"warp.{module}"], name)
        assert name in dir(wp)
    assert wp.build_experimental.__name__ == "warp.build_experimental"
    with pytest.raises(AttributeError, match="no attribute 'jax_kernal'"):
        _ = wp.jax_kernal


def test_the_core_hashes_as_the_standard_says():
    for parts in ((), ("",), ("a", 1, None), ("é" * 1000,)):
        text = "".join(f"{p}\0" for p in parts).encode()
        assert modules.digest(*parts) == hashlib.sha256(text).hexdigest()
