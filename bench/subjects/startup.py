"""What a program waits for before it computes: imports and first launches, each in a process of its own."""

import os
import subprocess
import sys
import tempfile

from row import Row, Work

IMPORT = """
import time
import numpy
start = time.perf_counter()
import warp as wp
wp.config.quiet = True
wp.init()
print(time.perf_counter() - start)
"""

KERNEL = """
@wp.kernel
def kernel_{k}(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float), scale: float):
    i = wp.tid()
    v = x[i]
    total = float({k}.0)
    if v[0] > {k}.5:
        total += wp.length(v) * scale
    for j in range({k} + 3):
        total += wp.dot(v, wp.vec3(float(j), 1.0, scale)) * wp.sin(total)
    y[i] = total
"""

TINY = """
@wp.kernel
def kernel_0(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float), scale: float):
    i = wp.tid()
    y[i] = scale * wp.length(x[i])
"""

PROGRAM = """
import time
import numpy
import warp as wp
wp.config.quiet = True
wp.init()
{kernels}
x, y = wp.zeros(64, dtype=wp.vec3), wp.zeros(64, dtype=float)
start = time.perf_counter()
for kernel in [{names}]:
    wp.launch(kernel, 64, [x, y, 1.0])
wp.synchronize()
print(time.perf_counter() - start)
assert abs(y.numpy()).max() < 1e6
"""


def _seconds(path, cache):
    environment = {**os.environ, "WARP_CACHE_PATH": cache}
    done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def large(statements):
    """The text of one kernel of many statements, none like another, as programs that write programs make them."""
    lines = [
        f"    v{k} = {('wp.sin', 'wp.cos', 'wp.abs', 'wp.tanh')[k % 4]}(v{k - 1} * v{max(0, k - 7)} + {k}.5)"
        for k in range(1, statements)
    ]
    return (
        "@wp.kernel\ndef kernel_0(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float), scale: float):\n"
        "    i = wp.tid()\n    v0 = scale * wp.length_sq(x[i])\n"
        + "\n".join(lines)
        + f"\n    y[i] = v{statements - 1}\n"
    )


def program(kernels, warm, statements=0):
    """Seconds of the first launches; `warm`: from a cache that the same program filled."""
    count = kernels or 1
    text = PROGRAM.format(
        kernels=large(statements) if statements else "".join(KERNEL.format(k=k) for k in range(kernels)) or TINY,
        names=", ".join(f"kernel_{k}" for k in range(count)),
    )
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "program.py")
    with open(path, "w") as file:
        file.write(text)
    kept = os.path.join(folder.name, "kept")

    def run():
        if warm:
            return _seconds(path, kept)
        with tempfile.TemporaryDirectory() as cache:
            return _seconds(path, cache)

    work = Work(run)
    work.folder = folder  # lives as long
    return work


def importing():
    def run():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w") as file:
                file.write(IMPORT)
            return _seconds(path, os.path.join(folder, "cache"))

    return Work(run)


ROWS = [
    Row("first_launch", program, {"kernels": 0, "warm": False}, 8.0, 1.0, "1/s", rounds=7),
    Row("first_launch_50", program, {"kernels": 50, "warm": False}, 8.0, 50.0, "1/s", rounds=3),
    Row("warm_start", program, {"kernels": 0, "warm": True}, None, 1.0, "1/s", rounds=7),
    Row("first_launch_large", program, {"kernels": 0, "warm": False, "statements": 600}, None, 1.0, "1/s", rounds=3),
    Row("warm_start_50", program, {"kernels": 50, "warm": True}, 5.0, 50.0, "1/s", rounds=7),
    Row("import", importing, {}, 5.0, 1.0, "1/s", rounds=9),
]
