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


STARTED = """
import sys
from warp import source
import warp as wp

parsed = []
parse = source.ast.parse
source.ast.parse = lambda *given: (parsed.append(given), parse(*given))[1]

@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float), scale: float):
    y[wp.tid()] = x[wp.tid()] * x[wp.tid()] * scale

device = sys.argv[1]
wp.set_device(device)
x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
y = wp.zeros(3, dtype=float, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(square, 3, [x, y, 0.5])
wp.synchronize()
found = not parsed
tape.backward(grads={y: wp.ones(3, dtype=float)})
print(found, y.numpy().tolist(), x.grad.numpy().tolist())
"""


def test_a_gpu_finds_kernels_by_their_source(library, tmp_path):
    """The stand-in runs no kernel, so that the CPU, which uses what is left there, says whether it is the right one."""
    program = tmp_path / "program.py"
    program.write_text(STARTED)
    told = []
    for device in ("cuda:0", "cuda:0", "cpu", "cuda:0", "cpu"):
        done = run(program, device, library=library, cache=tmp_path / "cache")
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.splitlines()[-1])
    assert [line.split()[0] for line in told] == ["False", "True", "True", "True", "True"]
    for line in (told[2], told[4]):
        assert line == "True [0.5, 2.0, 4.5] [1.0, 2.0, 3.0]"


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
