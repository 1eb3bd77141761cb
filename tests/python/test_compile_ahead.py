"""A module's other kernels, compiled while its first launches wait: what the program does until a kernel's own launch
counts, errors come with that launch, and the process ends and forks as ever."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.host

HEAD = """
import json, os, sys, time
import warp as wp
wp.config.quiet = True
wp.set_device("cpu")
wp.config.compile_ahead = "off" not in sys.argv
FACTOR = 1.0
"""

KERNELS = "".join(
    f"""
@wp.kernel
def kernel_{k}(out: wp.array(dtype=float)):
    total = float({k}.0)
    for i in range({k} + 20):
        total += wp.sin(total) * float(i)
    out[0] = FACTOR + total - total
"""
    for k in range(12)
)


def run(tmp_path, text, *arguments):
    """The last line that the program prints, as JSON; nothing else may be printed."""
    path = tmp_path / "program.py"
    path.write_text(text)
    environment = {**os.environ, "WARP_CACHE_PATH": str(tmp_path / "cache")}
    command = [sys.executable, str(path), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr == "" and len(done.stdout.splitlines()) == 1
    return json.loads(done.stdout)


LAUNCH_FOUR = """
out = wp.zeros(1, dtype=float)
for kernel in (kernel_0, kernel_1, kernel_2, kernel_3):
    wp.launch(kernel, 1, inputs=[out])
print(json.dumps(out.numpy()[0].tolist()))
"""


@pytest.mark.skipif(os.cpu_count() < 2, reason="one thread compiles what is launched alone")
def test_kernels_behind_those_launched_are_compiled(tmp_path):
    (tmp_path / "on").mkdir()
    (tmp_path / "off").mkdir()
    for folder, arguments in (("on", []), ("off", ["off"])):
        assert run(tmp_path / folder, HEAD + KERNELS + LAUNCH_FOUR, *arguments) == 1.0
    assert len(list((tmp_path / "on" / "cache").glob("*.weft"))) > 4
    assert len(list((tmp_path / "off" / "cache").glob("*.weft"))) == 4


def test_what_changes_before_the_own_launch_counts(tmp_path):
    body = """
found = []
for number, kernel in enumerate([v for n, v in list(globals().items()) if n.startswith("kernel_")]):
    FACTOR = float(number)
    out = wp.zeros(1, dtype=float)
    wp.launch(kernel, 1, inputs=[out])
    found.append(out.numpy()[0].tolist())
print(json.dumps(found))
"""
    assert run(tmp_path, HEAD + KERNELS + body) == [float(k) for k in range(12)]


def test_errors_come_with_the_own_launch(tmp_path):
    broken = """
@wp.kernel
def wrong(out: wp.array(dtype=float)):
    out[0] = nowhere
@wp.kernel
def untyped(out):
    out[0] = 1.0
@wp.kernel
def generic(x: wp.array(dtype=wp.Scalar), out: wp.array(dtype=float)):
    out[0] = float(x[0])
"""
    body = """
out = wp.zeros(1, dtype=float)
for kernel in (kernel_0, kernel_1, kernel_2):
    wp.launch(kernel, 1, inputs=[out])
errors = []
for kernel in (wrong, untyped):
    try:
        wp.launch(kernel, 1, inputs=[out])
    except RuntimeError as error:
        errors.append(str(error))
wp.launch(generic, 1, inputs=[wp.array([3.0], dtype=wp.float64), out])
print(json.dumps([*errors, out.numpy()[0].tolist()]))
"""
    wrong, untyped, value = run(tmp_path, HEAD + broken + KERNELS + body)
    assert "nowhere" in wrong and "no annotation" in untyped and value == 3.0


def test_the_end_and_forks_do_not_wait_for_what_is_not_needed(tmp_path):
    body = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: that there are threads is the point
out = wp.zeros(1, dtype=float)
wp.launch(kernel_0, 1, inputs=[out])
if os.fork() == 0:
    try:
        wp.launch(kernel_11, 1, inputs=[out])
        wp.launch(kernel_1, 1, inputs=[out])
        os._exit(0 if out.numpy()[0] == 1.0 else 1)
    finally:
        os._exit(2)
_, status = os.wait()
print(json.dumps(status))
"""
    assert run(tmp_path, HEAD + KERNELS + body) == 0
