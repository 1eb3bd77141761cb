"""`import warp` is quick: what few programs need is loaded when it is asked for."""

import hashlib
import subprocess
import sys

from warp import modules

# Each takes milliseconds, and none is needed before the first kernel.
SLOW = ("importlib.metadata", "email", "hashlib", "subprocess", "unittest", "matplotlib", "warp.build_experimental")


def test_nothing_slow_is_imported():
    code = (
        f"import numpy, sys; before = set(sys.modules); import warp; print(set({SLOW}) & (set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_core_hashes_as_the_standard_says():
    for parts in ((), ("",), ("a", 1, None), ("é" * 1000,)):
        text = "".join(f"{p}\0" for p in parts).encode()
        assert modules.digest(*parts) == hashlib.sha256(text).hexdigest()
