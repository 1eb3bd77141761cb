"""What the runtime makes of NVIDIA's driver, with a stand-in for it: its errors (cuda_failures.py), what machines from
sm_90 on have (cuda_newer_machines.py), textures (cuda_textures.py), the CPU beside a GPU
(cuda_both_devices.py), each in a process of its own; and drivers that do not serve at all.
"""

import pytest
from support import fake_cuda
from support.fake_cuda import run


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    made = fake_cuda.build(tmp_path_factory.mktemp("fake_cuda"))
    if made is None:
        pytest.skip("no C++ compiler to build the stand-in for the driver with")
    return made


def test_failures(library, tmp_path):
    fake_cuda.run_tests("cuda_failures.py", library=library, cache=tmp_path)


def test_textures(library, tmp_path):
    fake_cuda.run_tests("cuda_textures.py", library=library, cache=tmp_path)


def test_both_devices(library, tmp_path):
    fake_cuda.run_tests("cuda_both_devices.py", library=library, cache=tmp_path)


def test_newer_machines(library, tmp_path):
    fake_cuda.run_tests("cuda_newer_machines.py", library=library, cache=tmp_path, FAKE_CUDA_ARCHITECTURE="90")


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
