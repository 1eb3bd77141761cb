"""The stand-in for NVIDIA's driver (tests/fake_driver): built by the compiler at hand, and asked through ctypes."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from support.fake_driver import FakeDriver

ROOT = pathlib.Path(__file__).parents[3]
TESTS = ROOT / "tests/python"
KINDS = ("memory", "pinned", "stream", "event", "module", "link", "graph", "exec", "array", "texture")


def host_compiler():
    """Its name; None where there is none."""
    return next((c for c in (os.environ.get("CXX"), "c++", "g++", "clang++") if c and shutil.which(c)), None)


def build(directory, without=()):
    """The library in this folder; None where there is no compiler. `without`: functions that it lacks."""
    compiler = host_compiler()
    if compiler is None:
        return None
    library = pathlib.Path(directory) / "libfake_cuda.so"
    names = ("defaults.cpp", "driver.cpp", "state.cpp", "textures.cpp")
    sources = [ROOT / "tests/fake_driver" / name for name in names]
    command = [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'src'}", f"-I{ROOT / 'tests'}", *sources]
    with tempfile.NamedTemporaryFile("w", suffix=".map", dir=directory) as names:
        hidden = " ".join(f"{name};" for name in without)
        names.write(f"{{ global: cu*; fake_*; local: {hidden} *; }};")
        names.flush()
        subprocess.run([*command, f"-Wl,--version-script={names.name}", "-o", library], check=True)
    return library


def run(*arguments, library, cache, **environment):
    """Runs Python with this library for the driver; `cache`: a folder of its own for compiled kernels."""
    variables = {**os.environ, "WEFT_CUDA_DRIVER": str(library), "WARP_CACHE_PATH": str(cache), **environment}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=TESTS, env=variables, capture_output=True, text=True, timeout=300)


def run_tests(file, **settings):
    """Runs a file of tests; conftest.py sets a cache whose machine code would be the stand-in's: it is left out."""
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--confcutdir=support"]
    done = run("-m", "pytest", file, *options, **settings)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


class Fake(FakeDriver):
    def __init__(self):
        super().__init__(os.environ["WEFT_CUDA_DRIVER"], KINDS, numbers=3)

    def texture(self, handle):
        """Of a texture object: its address modes, filter, flags, filter between levels, last level."""
        ask = self.library.fake_texture
        ask.argtypes = (ctypes.c_uint64, ctypes.c_int)
        return tuple(ask(handle, which) for which in range(7))
