"""C++ that is printed for GPUs: one file that the vendors' compilers take, and what is refused before they see it."""

import shutil
import subprocess

import pytest

import warp as wp
from warp import _core

MACA = "cxx-maca"


def text_of(kernel, kind="cuda", adjoint=False, gpu=""):
    """`gpu`: an architecture gives the text for launches whose arrays lie densely."""
    return kernel._dump(kind, [], adjoint, MACA, gpu=gpu)


@wp.struct
class Ball:
    centre: wp.vec3
    half: wp.float16
    marks: wp.array(dtype=wp.int32)


@wp.kernel
def plain(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * wp.sin(x[i]) + y[i]


@wp.kernel
def values(
    ball: Ball,
    x: wp.array(dtype=float),
    m: wp.array2d(dtype=wp.mat33),
    h: wp.array(dtype=wp.float16),
    c: wp.array(dtype=wp.int64),
    b: wp.array(dtype=wp.bool),
):
    i, j = wp.tid()
    s = float(0.0)
    for k in range(x.shape[0]):
        if x[k] > 3.0:
            break
        s += x[k] * x[k]
    q = wp.quat_from_axis_angle(ball.centre, s)
    v = wp.quat_rotate(q, ball.centre)
    m[i, j] = m[i, j] @ wp.outer(v, v)
    wp.atomic_add(x, 0, s)
    wp.atomic_max(c, 0, wp.int64(i))
    wp.atomic_min(c, 1, wp.int64(j))
    h[i] = wp.float16(s) + ball.half
    wp.atomic_add(h, 0, wp.float16(1.0))
    b[i] = s > 1.0 and j % 3 == 1
    ball.marks[wp.lower_bound(x, s)] = i // 3
    print(s)
    assert s < 100.0, "s is small"


REDUCE = """
    __shared__ float tile[256];
    __shared__ wp::vec3 corners[4], middle;
    const int t = threadIdx.x;
    tile[t] = x[i];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0) atomicAdd(&out[0], tile[0]);
    const float above = __shfl_down_sync(-1, x[i], 1);
    wp::vec3 p = normalize(wp::vec3(1.0f, 2.0f, above)) * 2.0f;
    corners[t % 4] = p;
    if (t == 1) middle = max(p, wp::vec3(0.5f));
    atomic_add(out, 1, p[0]);
    atomicMax(&marks[0], t);
    atomicExch(&marks[1], 3);
    auto twice = [&](float v) { return 2.0f * sqrtf(fabs(v)); };
    wp::float16 small = twice(above);
    printf("%d %f\\n", t, double(float(small)));
    assert(t < 1000 && p[0] < 7.0f);
    return p;
"""


@wp.func_native(REDUCE, "atomicAdd(&adj_x[i], adj_ret[0]);", "return wp::vec3(1.0f);")
def reduce(x: wp.array(dtype=float), out: wp.array(dtype=float), marks: wp.array(dtype=int), i: int) -> wp.vec3: ...


@wp.kernel
def blocks(x: wp.array(dtype=float), out: wp.array(dtype=float), marks: wp.array(dtype=int)):
    i = wp.tid()
    v = reduce(x, out, marks, i)
    y = float(1.0)
    for k in range(marks[2]):
        y = y * v[0] + float(k)
    out[2] = y


KERNELS = [plain, values, blocks]


def run_nvcc(text, tmp_path):
    file = tmp_path / "kernel.cu"
    file.write_text(text)
    command = [nvcc(), "-std=c++17", "-arch=sm_80", "-cubin", str(file), "-o", str(tmp_path / "kernel.cubin")]
    return subprocess.run(command, capture_output=True, text=True)


def compile_by_nvcc(text, tmp_path):
    done = run_nvcc(text, tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout


def nvcc():
    found = shutil.which("nvcc", path="/usr/local/cuda/bin") or shutil.which("nvcc")
    if found is None:
        pytest.skip("nvcc is not installed")
    return found


@pytest.mark.parametrize("adjoint", [False, True], ids=["forward", "adjoint"])
@pytest.mark.parametrize("debug", [False, True], ids=["release", "debug"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.key)
def test_nvcc_takes_the_text(kernel, debug, adjoint, tmp_path):
    before = wp.get_module_options()["mode"]
    wp.set_module_options({"mode": "debug" if debug else "release"})
    try:
        text = text_of(kernel, adjoint=adjoint)
    finally:
        wp.set_module_options({"mode": before})
    compile_by_nvcc(text, tmp_path)
    assert f"weft_kernel_{kernel.key}".encode() in (tmp_path / "kernel.cubin").read_bytes()


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.int32, wp.uint32, wp.int64, wp.uint64])
def test_nvcc_takes_sums_of_dense_launches(dtype, tmp_path):
    def kernel(x: wp.array(dtype=dtype), total: wp.array(dtype=dtype)):
        wp.atomic_add(total, 0, x[wp.tid()])

    made = wp.Kernel(kernel, key="kernel", module=wp.Module(f"sums_{dtype.__name__}"))
    text = text_of(made, gpu="sm_80")
    assert "weft::for_all_items<" in text and "sum.finish();" in text and "sum.finish();" not in text_of(made)
    compile_by_nvcc(text, tmp_path)


@pytest.mark.parametrize("kind", ["cuda", "maca"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.key)
def test_the_text_is_one_file_without_assembly(kernel, kind):
    text = text_of(kernel, kind)
    assert text.startswith(f"// Weft: C++ for {kind.upper()}\n")
    assert "#include" not in text and "asm" not in text and "#pragma once" not in text
    entries = [line for line in text.splitlines() if '"C" __global__' in line]
    assert len(entries) == 1 and f"__launch_bounds__(1024) weft_kernel_{kernel.key}(const weft::block<" in entries[0]
    if kernel is plain:
        assert f"weft::block<{8 + 24 * 2}> arguments, const weft::launch_shape shape, " in entries[0]


def refused(source, kind="maca"):
    """The error of a snippet with this source; None where it is taken."""

    def f(x: wp.array(dtype=float), i: int): ...

    function = wp.func_native(source)(f)

    def kernel(x: wp.array(dtype=float)):
        function(x, wp.tid())

    made = wp.Kernel(kernel, key="kernel", module=wp.Module("refused"))
    try:
        text_of(made, kind)
    except wp.WarpError as error:
        return error
    return None


@pytest.mark.parametrize(
    "mask",
    ["0xffffffff", "0xFFFFFFFFu", "~0u", "(0xffffffff)", "UINT_MAX", "unsigned(-1)", "(unsigned)-1", "4294967295u"],
)
@pytest.mark.parametrize(
    "call", ["__shfl_down_sync({}, x[i], 1)", "__ballot_sync({}, i)", "__any_sync({}, 1)", "__syncwarp({})"]
)
def test_masks_of_half_a_wave(mask, call):
    source = "int unused = 1;\n" + "x[0] = 1.0f;\n(void)" + call.format(mask) + ";\n"
    error = refused(source)
    assert "a mask of 32 bits leaves out half of the 64 lanes" in str(error) and isinstance(error, wp.WarpSyntaxError)
    assert refused(source, "cuda") is None


def test_masks_that_are_named():
    for source in (
        "const unsigned all = 0xffffffff;\nx[i] = __shfl_sync(all, x[i], 0);",
        "#define FULL 0xffffffffu\nx[i] = __shfl_sync(FULL, x[i], 0);",
    ):
        assert "leaves out half" in str(refused(source))


@pytest.mark.parametrize("mask", ["-1", "~0", "~0ull", "0xffffffffffffffffull", "0xffffu", "__activemask()", "mask"])
def test_masks_that_say_what_they_mean(mask):
    assert refused(f"auto mask = ~0ull; x[i] = __shfl_sync({mask}, x[i], 0);") is None


def test_inline_assembly_is_for_cuda():
    source = 'int lane;\nasm("mov.u32 %0, %laneid;" : "=r"(lane));\nx[i] = lane;'
    error = refused(source)
    assert "inline assembly" in str(error) and "asm(" in str(error)
    assert refused(source, "cuda") is None
    guarded = "#ifndef __MACA_ARCH__\n" + source + "\n#endif\n"
    assert refused(guarded) is None
    assert refused('// asm, in a comment\nprintf("asm");') is None


def test_headers_are_refused_everywhere():
    for kind in ("maca", "cuda"):
        error = refused("x[i] = 1;\n  #include <vector>\n", kind)
        assert "includes a header" in str(error) and "native snippets include no headers" in str(error)


def shared(declarations):
    """The text of a snippet as it is compiled."""

    def f(x: wp.array(dtype=float)): ...

    function = wp.func_native(declarations)(f)

    def kernel(x: wp.array(dtype=float)):
        function(x)

    text = text_of(wp.Kernel(kernel, key="kernel", module=wp.Module("shared")), "maca")
    return text[text.index("weft_snippet_0 {") : text.index('#line 1 "end:0"')]


def test_shared_memory_is_limited():
    text = shared("__shared__ float a[64][64], b; { __shared__ double c[8]; } __shared__ int d[2];")
    assert "static_assert(sizeof(a) + sizeof(b) <= 65536" in text
    assert "static_assert(sizeof(a) + sizeof(b) + sizeof(c) <= 65536" in text
    assert "static_assert(sizeof(a) + sizeof(b) + sizeof(d) <= 65536" in text
    assert "sizeof" not in shared("extern __shared__ float any[]; any[0] = 1;")


def test_too_much_shared_memory_fails_in_nvcc(tmp_path):
    text = text_of(_too_much())
    done = run_nvcc(text, tmp_path)
    assert done.returncode != 0 and "test_cxx_sources.py(" in done.stdout + done.stderr
    assert "more __shared__ memory than the 49152 bytes that a block has" in done.stdout + done.stderr


def _too_much():
    def f(x: wp.array(dtype=float)): ...

    source = "__shared__ float a[64][128];\n__shared__ float b[64][128];\nx[0] = a[0][0] + b[0][0];"
    function = wp.func_native(source)(f)

    def kernel(x: wp.array(dtype=float)):
        function(x)

    return wp.Kernel(kernel, key="kernel", module=wp.Module("too_much"))


def test_the_backend_is_known_without_a_compiler():
    assert MACA in _core.backend_names()
