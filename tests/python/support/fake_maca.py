"""The stand-ins for MACA's compiler and runtime (tests/maca), laid out as an installation, and asked through ctypes."""

import os
import pathlib
import subprocess
import sys
import tempfile

from support.fake_cuda import ROOT, TESTS, host_compiler
from support.fake_driver import FakeDriver

SOURCES = ("tests/maca/*.cpp", "tests/fake_driver/state.cpp", "src/runtime/cpu/fibres.cpp")
KINDS = ("memory", "pinned", "stream", "event", "module", "graph", "exec")


def install(directory):
    """A folder for MACA_PATH; None where there is no compiler."""
    compiler = host_compiler()
    if compiler is None:
        return None
    root = pathlib.Path(directory)
    (root / "lib").mkdir(parents=True)
    (root / "mxgpu_llvm/bin").mkdir(parents=True)
    (root / "mxgpu_llvm/bin/mxcc").symlink_to(ROOT / "tests/maca/mxcc")
    sources = [path for pattern in SOURCES for path in sorted(ROOT.glob(pattern))]
    command = [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'src'}", f"-I{ROOT / 'tests'}", *sources]
    with tempfile.NamedTemporaryFile("w", suffix=".map", dir=directory) as names:
        names.write("{ global: mc*; fake_*; local: *; };")
        names.flush()
        library = root / "lib/libmcruntime.so"
        subprocess.run([*command, f"-Wl,--version-script={names.name}", "-o", library, "-ldl", "-lpthread"], check=True)
    return root


def run(*arguments, root, cache, **environment):
    """Runs Python with this installation; `cache`: a folder of its own for compiled kernels."""
    kept = {"WARP_CACHE_PATH": str(cache), "WEFT_TEST_CACHE": str(cache)}
    variables = {**os.environ, "MACA_PATH": str(root), **kept, **environment}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=TESTS, env=variables, capture_output=True, text=True, timeout=300)


def run_tests(file, **settings):
    """Runs a file of tests in a process of its own."""
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--confcutdir=support"]
    done = run("-m", "pytest", file, *options, **settings)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


class Fake(FakeDriver):
    def __init__(self):
        super().__init__(os.path.join(os.environ["MACA_PATH"], "lib/libmcruntime.so"), KINDS, numbers=2)
