"""What the runtime makes of errors of NVIDIA's driver, with a stand-in for that driver: cuda_failures.py, which runs
in a process of its own, and drivers that do not serve at all, each of which needs another process.
"""

import os
import pathlib
import subprocess
import sys

import pytest
from support import fake_cuda

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    made = fake_cuda.build(tmp_path_factory.mktemp("fake_cuda"))
    if made is None:
        pytest.skip("no C++ compiler to build the stand-in for the driver with")
    return made


def run(*arguments, library, cache, **environment):
    variables = {**os.environ, "WEFT_CUDA_DRIVER": str(library), "WARP_CACHE_PATH": str(cache), **environment}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=HERE, env=variables, capture_output=True, text=True, timeout=300)


def test_failures(library, tmp_path):
    # conftest.py sets a cache of its own, whose machine code would be the stand-in's: not for other tests.
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--confcutdir=support"]
    done = run("-m", "pytest", "cuda_failures.py", *options, library=library, cache=tmp_path)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


ASK = """
import warp as wp
assert not wp.is_cuda_available() and wp.get_cuda_device_count() == 0 and str(wp.get_device()) == "cpu"
try:
    wp.zeros(1, device="cuda:0")
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "environment, text",
    [
        ({"FAKE_CUDA_VERSION": "11040"}, "the CUDA driver is too old: it serves CUDA 11.4, 11.8 or newer is needed"),
        ({"FAKE_CUDA_FAILURES": "cuInit:0:100"}, "does not start: no CUDA-capable device is detected"),
        ({"FAKE_CUDA_FAILURES": "cuDeviceGetCount:0:100"}, "counting the devices: no CUDA-capable device"),
        ({"FAKE_CUDA_FAILURES": "cuDeviceGetName:0:999"}, "asking for the device's name: unknown error"),
        ({"FAKE_CUDA_FAILURES": "cuDeviceGetAttribute:0:999"}, "asking for an attribute of the device"),
        ({"WEFT_CUDA_DRIVER": "/nonexistent/libcuda.so"}, "no CUDA driver: /nonexistent/libcuda.so"),
    ],
)
def test_drivers_that_do_not_serve(library, tmp_path, environment, text):
    done = run("-c", ASK, **{"library": library, "cache": tmp_path, **environment})
    assert done.returncode == 0, done.stderr
    assert "CUDA is not supported by the hardware or driver" in done.stdout and text in done.stdout


def test_a_driver_that_lacks_a_function(tmp_path):
    library = fake_cuda.build(tmp_path, without=["cuGraphLaunch"])
    if library is None:
        pytest.skip("no C++ compiler to build the stand-in for the driver with")
    done = run("-c", ASK, library=library, cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "too old: it serves CUDA 12.8, 11.8 or newer is needed (it has no cuGraphLaunch)" in done.stdout
