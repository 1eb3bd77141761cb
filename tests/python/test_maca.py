"""MetaX GPUs by stand-ins for MACA's compiler and runtime (tests/maca): the stand-ins themselves, by kernels that are
written by hand; and Weft with them (maca_*.py), each file in a process of its own.
"""

import ctypes
import os
import subprocess

import numpy as np
import pytest
from support import fake_cuda, fake_maca
from support.fake_maca import run


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    made = fake_maca.install(tmp_path_factory.mktemp("maca"))
    if made is None:
        pytest.skip("no C++ compiler to build the stand-ins with")
    return made


# ---- the stand-ins ----

SOURCE = """
extern "C" __global__ void __launch_bounds__(256) block_sums(const float* x, float* out, const int64_t n) {
    __shared__ float sums[256];
    const int t = threadIdx.x;
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (t < stride) sums[t] += sums[t + stride];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, sums[0]);
}

extern "C" __global__ void waves(unsigned long long* votes, int* up, int* down, int* across, int* narrow) {
    const int t = threadIdx.x, lane = t % warpSize;
    const unsigned long long all = __activemask();
    votes[t] = __ballot_sync(all, t % 3 == 0);
    up[t] = __shfl_up_sync(all, t, 1);
    down[t] = __shfl_down_sync(all, t, 1);
    across[t] = __shfl_xor_sync(all, t, 33);
    narrow[t] = __shfl_sync(all, t, 3, 32);
    if (lane >= 5) return;
    for (int k = 0; k < lane; ++k) __syncwarp(__activemask() & ~0ULL << (k + 1));
}

extern "C" __global__ void divergent(int* out) {
    if (threadIdx.x < 32) __syncthreads();
    else __ballot_sync(~0ULL, 1);
    out[0] = 1;
}

extern "C" __global__ void counted(int* out) {
    out[threadIdx.x] = __syncthreads_count(threadIdx.x % 5 == 0) + 1000 * __syncthreads_or(threadIdx.x == 77);
}

extern "C" __global__ void wrong_mask(int* out) { out[threadIdx.x] = __shfl_sync(0xffffffff, 1, 0); }

extern "C" __global__ void asserts(int* out) { assert(out == nullptr); }
"""


def mxcc(root, source, output, *options, architecture="xcore1000"):
    words = ["-x", "maca", "-device-bin", "-o", output, f"--offload-arch={architecture}", "-O3", "-std=c++17", *options]
    command = [root / "mxgpu_llvm/bin/mxcc", source, *words]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


class Runtime:
    """The stand-in by itself, without Weft."""

    def __init__(self, root, image):
        self.library = ctypes.CDLL(str(root / "lib/libmcruntime.so"))
        context = ctypes.c_void_p()
        self("mcSetDevice", 0)
        self("mcFree", None)
        self("mcDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self("mcCtxSetCurrent", context)
        self.stream = ctypes.c_void_p()
        self("mcStreamCreateWithFlags", ctypes.byref(self.stream), 0)
        self.module = ctypes.c_void_p()
        self("mcModuleLoadData", ctypes.byref(self.module), image)

    def __call__(self, name, *arguments, expected=0):
        assert getattr(self.library, name)(*arguments) == expected, name

    def launch(self, name, grid, block, *arguments, extra=False):
        function = ctypes.c_void_p()
        self("mcModuleGetFunction", ctypes.byref(function), self.module, name.encode())
        values = [ctypes.c_int64(a if isinstance(a, int) else a.ctypes.data) for a in arguments]
        addresses = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        packed = b"".join(bytes(value) for value in values)
        size = ctypes.c_size_t(len(packed))
        words = (ctypes.c_void_p * 5)(1, ctypes.cast(packed, ctypes.c_void_p), 2, ctypes.addressof(size), 3)
        form = (None, words) if extra else (addresses, None)
        self("mcModuleLaunchKernel", function, grid, 1, 1, block, 1, 1, 0, self.stream, *form)

    def wait(self, expected=0):
        self("mcStreamSynchronize", self.stream, expected=expected)


@pytest.fixture(scope="module")
def runtime(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "kernels.maca").write_text(SOURCE)
    done = mxcc(root, folder / "kernels.maca", folder / "kernels.devbin")
    assert done.returncode == 0, done.stderr
    return Runtime(root, (folder / "kernels.devbin").read_bytes())


@pytest.mark.parametrize("extra", [False, True])
def test_a_block_shares_memory_and_waits(runtime, extra):
    x = np.arange(1000, dtype=np.float32)
    out = np.zeros(1, dtype=np.float32)
    runtime.launch("block_sums", 4, 256, x, out, 1000, extra=extra)
    runtime.wait()
    assert out[0] == x.sum()


@pytest.mark.parametrize("threads", [64, 96, 128])
def test_waves_have_64_lanes(runtime, threads):
    t = np.arange(threads)
    first, last = t // 64 * 64, np.minimum(t // 64 * 64 + 64, threads)
    votes = np.zeros(threads, dtype=np.uint64)
    up, down, across, narrow = (np.zeros(threads, dtype=np.int32) for _ in range(4))
    runtime.launch("waves", 1, threads, votes, up, down, across, narrow)
    runtime.wait()
    wanted = [sum(1 << int(k % 64) for k in range(a, b) if k % 3 == 0) for a, b in zip(first, last, strict=True)]
    np.testing.assert_array_equal(votes, np.array(wanted, dtype=np.uint64))
    np.testing.assert_array_equal(up, np.where(t == first, t, t - 1))
    # A lane that is not there gives nothing: what comes then is the own value.
    np.testing.assert_array_equal(down, np.where(t + 1 == last, t, t + 1))
    np.testing.assert_array_equal(across, np.where(first + (t - first ^ 33) < last, first + (t - first ^ 33), t))
    np.testing.assert_array_equal(narrow, t // 32 * 32 + 3)


def test_barriers_count(runtime):
    out = np.zeros(128, dtype=np.int32)
    runtime.launch("counted", 1, 128, out)
    runtime.wait()
    np.testing.assert_array_equal(out, 26 + 1000)


@pytest.mark.parametrize("kernel, result", [("divergent", 719), ("wrong_mask", 719), ("asserts", 710)])
def test_a_kernel_that_fails_is_told_later(runtime, kernel, result):
    runtime.launch(kernel, 1, 64, np.zeros(64, dtype=np.int32))
    runtime.wait(expected=result)
    runtime.library.fake_fail_launch(0, 0)
    runtime.wait()


def test_a_capture_runs_when_it_is_launched(runtime):
    x, out = np.ones(256, dtype=np.float32), np.zeros(1, dtype=np.float32)
    graph, execution, error = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    runtime("mcStreamBeginCapture", runtime.stream, 2)
    runtime.launch("block_sums", 1, 256, x, out, 256)
    runtime("mcStreamEndCapture", runtime.stream, ctypes.byref(graph))
    log = ctypes.create_string_buffer(64)
    runtime("mcGraphInstantiate", ctypes.byref(execution), graph, ctypes.byref(error), log, 64)
    for expected in (0, 256, 512):
        runtime.wait()
        assert out[0] == expected
        runtime("mcGraphLaunch", execution, runtime.stream)
    runtime.wait()


@pytest.mark.parametrize(
    "options, text",
    [
        (["--fast"], "unknown argument: '--fast'"),
        (["-arch=sm_80"], "unknown argument: '-arch=sm_80'"),
        (["--offload-arch=sm_80"], "unsupported MACA gpu architecture: sm_80"),
        (["-x", "cu"], "-x maca is missing"),
        (["--maca-path=/nonexistent"], "cannot find MACA installation"),
    ],
)
def test_the_compiler_checks_its_command_line(root, tmp_path, options, text):
    (tmp_path / "kernels.maca").write_text(SOURCE)
    done = mxcc(root, tmp_path / "kernels.maca", tmp_path / "kernels.devbin", *options)
    assert done.returncode != 0 and text in done.stderr


TOO_MUCH = '__shared__ float big[16385]; big[threadIdx.x] = 1; __syncthreads(); printf("%f", big[1]);'


@pytest.mark.parametrize(
    "body, text",
    [
        ("int x = y;", "3:9: error: "),
        ('asm("mov.u32 %0, %laneid;");', "3:1: error: inline assembly"),
        (TOO_MUCH, "65540 bytes of shared memory, of 65536"),
    ],
)
def test_the_compiler_tells_where_a_source_is_wrong(root, tmp_path, body, text):
    source = tmp_path / "kernel.maca"
    source.write_text(f'extern "C" __global__ void\nkernel() {{\n{body}\n}}\n')
    done = mxcc(root, source, tmp_path / "kernel.devbin")
    assert done.returncode != 0 and text in done.stderr
    assert str(source) in done.stderr


# ---- Weft with them ----


@pytest.mark.parametrize("file", ["maca_devices.py"])
@pytest.mark.parametrize("environment", [{}, {"WEFT_MACA_AS_CUDA": "1"}], ids=["maca", "cuda"])
def test_with_the_stand_ins(root, tmp_path, file, environment):
    fake_maca.run_tests(file, root=root, cache=tmp_path, FAKE_MACA_DEVICES="2", **environment)


def test_kernels(root, tmp_path):
    log = str(tmp_path / "log")
    fake_maca.run_tests("maca_kernels.py", root=root, cache=tmp_path, FAKE_MACA_DEVICES="2", FAKE_MXCC_LOG=log)


@pytest.mark.parametrize("file", ["test_first_document.py", "test_snippet_blocks.py", "test_portable_snippets.py"])
def test_what_the_cpu_and_nvidias_gpus_do(root, tmp_path, file):
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--device", "maca:0"]
    done = run("-m", "pytest", file, *options, root=root, cache=tmp_path)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


PROGRAM = """
import numpy as np
import warp as wp

@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float), scale: float):
    y[wp.tid()] = x[wp.tid()] * x[wp.tid()] * scale

x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
y = wp.zeros(3, dtype=float, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(square, 3, [x, y, 0.5])
tape.backward(grads={y: wp.ones(3, dtype=float)})
print(x.device, y.numpy().tolist(), x.grad.numpy().tolist())
"""
RESULT = "maca:0 [0.5, 2.0, 4.5] [1.0, 2.0, 3.0]"


def test_images_are_kept_for_the_same_compiler(root, tmp_path):
    program, log = tmp_path / "program.py", tmp_path / "log"
    program.write_text(PROGRAM)
    compiled = []
    # Releases of the compiler have one number; what is in brackets behind it tells them apart.
    for release in ("one", "one", "two", "one"):
        done = run(program, root=root, cache=tmp_path / "cache", FAKE_MXCC_HASH=release, FAKE_MXCC_LOG=str(log))
        assert done.stdout.splitlines()[-1] == RESULT, done.stderr
        compiled.append(len(log.read_text().splitlines()))
    assert compiled == [3, 3, 6, 6]  # the kernel, its adjoint, and what fills arrays


@pytest.mark.parametrize("form", ["extra", "parameters"])
def test_both_forms_of_arguments(root, tmp_path, form):
    """The stand-in takes one of them only: the other one is refused with the vendor's words."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    settings = {"root": root, "cache": tmp_path / "cache", "WEFT_MACA_ARGUMENTS": form}
    done = run(program, **settings, FAKE_MACA_ARGUMENTS=form)
    assert done.stdout.splitlines()[-1:] == [RESULT], done.stderr
    done = run(program, **settings, FAKE_MACA_ARGUMENTS="parameters" if form == "extra" else "extra")
    assert "Warp MACA error 1: launching kernel 'square' on maca:0: invalid argument" in done.stderr


def test_without_the_compiler(root, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    library = os.fspath(root / "lib/libmcruntime.so")
    done = run(program, root=tmp_path, cache=tmp_path / "cache", WEFT_MACA_DRIVER=library)
    assert done.returncode != 0 and "mxcc" in done.stderr and "square" in done.stderr


def has_nvidias_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


# Where MACA is not to be had, NVIDIA's GPUs are looked for.
without_nvidia = pytest.mark.skipif(has_nvidias_driver(), reason="NVIDIA's driver is here, and serves in MACA's place")

ASK = """
import warp as wp
assert not wp.is_cuda_available() and str(wp.get_device()) == "cpu"
for name in ("maca:0", "cuda:0"):
    try:
        wp.zeros(1, device=name)
    except RuntimeError as error:
        print(error)
"""


@without_nvidia
@pytest.mark.parametrize(
    "environment, text",
    [
        ({"MACA_PATH": "/nonexistent"}, "no MACA runtime: /nonexistent/lib/libmcruntime.so: cannot open"),
        ({"MACA_PATH": ""}, "no MACA runtime: "),
        ({"WEFT_MACA_DRIVER": "/nonexistent/driver.so"}, "no MACA runtime: /nonexistent/driver.so: cannot open"),
        ({"FAKE_MACA_FAILURES": "mcInit:0:100"}, "does not start: no MACA-capable device is detected"),
        ({"FAKE_MACA_FAILURES": "mcGetDeviceCount:0:100"}, "counting the devices: no MACA-capable device"),
        ({"FAKE_MACA_DEVICES": "0"}, "the MACA runtime finds no device"),
        ({"FAKE_MACA_MAJOR": "9"}, "the MACA device is of version 9.2; code can be made for 10 (C500"),
        ({"FAKE_MACA_LANES": "32"}, "maca:0 has 32 threads in a warp; code for xcore1000 is made for 64"),
    ],
)
def test_machines_without_maca(root, tmp_path, environment, text):
    done = run("-c", ASK, **{"root": root, "cache": tmp_path, **environment})
    assert done.returncode == 0, done.stderr
    assert '"maca:0" device requested but MACA is not supported by the hardware or driver: ' in done.stdout
    assert done.stdout.count(text) == 2


@without_nvidia
def test_a_runtime_that_lacks_functions(root, tmp_path):
    library = tmp_path / "empty.so"
    subprocess.run([fake_cuda.host_compiler(), "-shared", "-x", "c++", "/dev/null", "-o", library], check=True)
    done = run("-c", ASK, root=root, cache=tmp_path / "cache", WEFT_MACA_DRIVER=str(library))
    assert done.returncode == 0, done.stderr
    assert "the MACA runtime is too old: libmcruntime.so has no mcDeviceGet" in done.stdout


def test_nvidias_driver_serves_where_macas_is_not_asked_for(root, tmp_path):
    library = fake_cuda.build(tmp_path)
    ask = "import warp as wp; print(wp.get_device(), wp.get_device().is_maca)"
    done = run("-c", ask, root=root, cache=tmp_path / "cache", WEFT_CUDA_DRIVER=str(library))
    assert done.stdout.split() == ["cuda:0", "False"], done.stderr
    maca = os.fspath(root / "lib/libmcruntime.so")
    done = fake_cuda.run("-c", ask, library=library, cache=tmp_path / "cache", WEFT_MACA_DRIVER=maca)
    assert done.stdout.split() == ["maca:0", "True"], done.stderr


AHEAD = """
import sys
import warp as wp

@wp.kernel
def index(a: wp.array(dtype=int)):
    a[wp.tid()] = wp.tid()

index.module.options["enable_backward"] = False
if sys.argv[1] == "compile":
    print(*wp.compile_aot_module(index.module, device="maca:0", module_dir=sys.argv[2]))
else:
    wp.load_aot_module(index.module, device="maca:0", module_dir=sys.argv[2])
    a = wp.empty(2000, dtype=int)
    for threads in (256, 1024):
        wp.launch(index, 2000, [a], block_dim=threads)
    print(a.numpy().sum())
"""


def test_modules_are_compiled_ahead(root, tmp_path):
    program, log = tmp_path / "program.py", tmp_path / "log"
    program.write_text(AHEAD)
    compiled = []
    for what, printed in (("compile", ".xcore1000."), ("load", str(2000 * 1999 // 2))):
        settings = {"root": root, "cache": tmp_path / what, "FAKE_MXCC_LOG": str(log)}
        done = run(program, what, tmp_path / "modules", **settings)
        assert done.returncode == 0 and printed in done.stdout, done.stderr
        compiled.append({line.split()[-1] for line in log.read_text().splitlines() if "weft_kernel_index" in line})
        log.write_text("")
    # For up to 512 threads of a block, and for up to 1024; none when it runs.
    assert compiled == [{"weft_kernel_index:512", "weft_kernel_index:1024"}, set()]
