"""Functions of which the body is C++: what they compute, their adjoints, which gradients are refused."""

import numpy as np
import pytest

import warp as wp


def floats(values, grad=True):
    return wp.array(np.asarray(values, dtype=np.float32), dtype=float, requires_grad=grad)


# ---- values ----

SAXPY = "out[tid] = a * x[tid] + y[tid];"
SAXPY_ADJOINT = """
    adj_a += x[tid] * adj_out[tid];
    adj_x[tid] += a * adj_out[tid];
    adj_y[tid] += adj_out[tid];
"""


@wp.func_native(SAXPY, SAXPY_ADJOINT)
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float), tid: int): ...


@wp.kernel
def saxpy_kernel(
    scale: wp.array(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)
):
    tid = wp.tid()
    saxpy(scale[0], x, y, out, tid)


def test_arrays_and_their_adjoints():
    n = 37
    x, y, scale, out = floats(np.arange(n)), floats(np.ones(n)), floats([2.0]), floats(np.zeros(n))
    with wp.Tape() as tape:
        wp.launch(saxpy_kernel, n, inputs=[scale, x, y, out])
    np.testing.assert_array_equal(out.numpy(), 2.0 * np.arange(n) + 1)
    tape.backward(grads={out: floats(np.full(n, 3.0), False)})
    np.testing.assert_array_equal(x.grad.numpy(), np.full(n, 6.0))
    np.testing.assert_array_equal(y.grad.numpy(), np.full(n, 3.0))
    np.testing.assert_array_equal(scale.grad.numpy(), [3.0 * np.arange(n).sum()])


def test_gradients_that_nobody_keeps_go_nowhere():
    x, y, scale, out = floats([1, 2], False), floats([1, 1]), floats([2.0], False), floats([0, 0])
    with wp.Tape() as tape:
        wp.launch(saxpy_kernel, 2, inputs=[scale, x, y, out])
    tape.backward(grads={out: floats([1, 1], False)})
    np.testing.assert_array_equal(y.grad.numpy(), [1, 1])
    assert x.grad is None


@wp.func_native("float sq = x * x; return sq;", "adj_x += 2.0f * x * adj_ret;")
def square(x: float) -> float: ...


@wp.kernel
def powers(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    y = float(1.0)
    for _ in range(3):
        y = y * square(x[i])
    out[i] = y


def test_a_returned_value_in_a_loop():
    x, out = floats([0.5, 1.0, 1.5]), floats(np.zeros(3))
    with wp.Tape() as tape:
        wp.launch(powers, 3, inputs=[x, out])
    tape.backward(grads={out: floats(np.ones(3), False)})
    at = np.array([0.5, 1.0, 1.5])
    np.testing.assert_allclose(out.numpy(), at**6, rtol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), 6 * at**5, rtol=1e-5)


@wp.struct
class Ball:
    centre: wp.vec3
    radius: float
    marks: wp.array(dtype=wp.int32)


@wp.func_native("""
    ball.marks[1] = 7;
    Ball other = ball;
    other.radius = length(ball.centre - p) - ball.radius;
    other.centre += wp::vec3f(1.0f, 0.0f, 0.0f) * 2;
    return other;
""")
def moved(ball: Ball, p: wp.vec3) -> Ball: ...


@wp.kernel
def move(ball: Ball, out: wp.array(dtype=float), centre: wp.array(dtype=wp.vec3)):
    other = moved(ball, wp.vec3(3.0, 4.0, 0.0))
    out[0] = other.radius
    out[1] = float(other.marks[1])
    centre[0] = other.centre


def test_structs():
    ball = Ball()
    ball.radius = 1.5
    ball.marks = wp.zeros(3, dtype=wp.int32)
    out, centre = floats([0, 0]), wp.zeros(1, dtype=wp.vec3)
    wp.launch(move, 1, inputs=[ball, out, centre])
    np.testing.assert_array_equal(out.numpy(), [3.5, 7.0])
    np.testing.assert_array_equal(centre.numpy(), [[2, 0, 0]])


@wp.func_native("""
    auto twice = [&](const vec3& v) { return 2.0f * v - v / 2; };
    out[i] = mul(m, twice(x[i])) + cross(x[i], vec3(0.0f, 0.0f, 1.0f));
    lengths(i, 1) = length(x[i]) + *address(lengths, i, 0) + float(x.shape[0]);
    wp::quat half = {0.0f, 0.0f, 0.70710678f, 0.70710678f};
    turned[i] = quat_rotate(half, x[i]) + transform_point(wp::transform(vec3(1.0f), half), x[i]);
""")
def vectors(
    x: wp.array(dtype=wp.vec3),
    m: wp.mat33,
    out: wp.array(dtype=wp.vec3),
    lengths: wp.array2d(dtype=float),
    turned: wp.array(dtype=wp.vec3),
    i: int,
): ...


@wp.kernel
def vectors_kernel(
    x: wp.array(dtype=wp.vec3),
    m: wp.mat33,
    out: wp.array(dtype=wp.vec3),
    lengths: wp.array2d(dtype=float),
    turned: wp.array(dtype=wp.vec3),
):
    vectors(x, m, out, lengths, turned, wp.tid())


def test_vectors_matrices_and_strided_arrays():
    rng = np.random.default_rng(1)
    points, m = rng.normal(size=(5, 3)).astype(np.float32), rng.normal(size=(3, 3)).astype(np.float32)
    x = wp.array(np.repeat(points, 2, axis=0), dtype=wp.vec3)[::2]
    out, turned = wp.zeros(5, dtype=wp.vec3), wp.zeros(5, dtype=wp.vec3)
    lengths = wp.array(np.ones((2, 5), dtype=np.float32), dtype=float).transpose()
    wp.launch(vectors_kernel, 5, inputs=[x, wp.mat33(*m.flatten().tolist()), out, lengths, turned])
    np.testing.assert_allclose(out.numpy(), 1.5 * points @ m.T + np.cross(points, [0, 0, 1]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(lengths.numpy()[:, 1], np.linalg.norm(points, axis=1) + 6, rtol=1e-6)
    quarter = np.stack([-points[:, 1], points[:, 0], points[:, 2]], axis=1)
    np.testing.assert_allclose(turned.numpy(), 2 * quarter + 1, rtol=1e-5, atol=1e-5)


@wp.func_native("""
    int before = atomicAdd(count, 1);
    atomic_add(total, 0, x[i]);
    atomic_max(most, 0, x[i]);
    atomicMin(&least[0], x[i]);
    wp::atomic_add(sums, 0, wp::vec3(x[i], 1.0f, -x[i]));
    order[before] = i;
    atomicCAS(flag, 0, i + 1);
""")
def gather_all(
    x: wp.array(dtype=float),
    count: wp.array(dtype=int),
    total: wp.array(dtype=wp.float64),
    most: wp.array(dtype=float),
    least: wp.array(dtype=float),
    sums: wp.array(dtype=wp.vec3),
    order: wp.array(dtype=int),
    flag: wp.array(dtype=int),
    i: int,
): ...


@wp.kernel
def gather_kernel(
    x: wp.array(dtype=float),
    count: wp.array(dtype=int),
    total: wp.array(dtype=wp.float64),
    most: wp.array(dtype=float),
    least: wp.array(dtype=float),
    sums: wp.array(dtype=wp.vec3),
    order: wp.array(dtype=int),
    flag: wp.array(dtype=int),
):
    gather_all(x, count, total, most, least, sums, order, flag, wp.tid())


def test_atomics():
    n = 20000
    values = np.random.default_rng(2).integers(-100, 100, n).astype(np.float32)
    count, total, flag = wp.zeros(1, dtype=int), wp.zeros(1, dtype=wp.float64), wp.zeros(1, dtype=int)
    most, least = floats([-1e9], False), floats([1e9], False)
    sums, order = wp.zeros(1, dtype=wp.vec3), wp.zeros(n, dtype=int)
    wp.launch(gather_kernel, n, inputs=[floats(values, False), count, total, most, least, sums, order, flag])
    assert count.numpy()[0] == n
    assert total.numpy()[0] == values.sum(dtype=np.float64)
    assert (most.numpy()[0], least.numpy()[0]) == (values.max(), values.min())
    np.testing.assert_array_equal(sums.numpy()[0], [values.sum(), n, -values.sum()])
    np.testing.assert_array_equal(np.sort(order.numpy()), np.arange(n))
    assert 1 <= flag.numpy()[0] <= n


FUNCTIONS = ["sin", "cos", "tanh", "exp", "sqrt", "fabs", "floor", "log", "atan", "cbrt"]
CALLS = "\n".join(f"    out({k}, i) = {name}(x[i]) + {name}f(x[i]);" for k, name in enumerate(FUNCTIONS))


@wp.func_native(CALLS)
def maths(x: wp.array(dtype=float), out: wp.array2d(dtype=float), i: int): ...


@wp.kernel
def maths_kernel(x: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    maths(x, out, wp.tid())


def test_mathematics():
    at = np.linspace(0.1, 3.0, 50).astype(np.float32)
    out = wp.zeros((len(FUNCTIONS), 50), dtype=float)
    wp.launch(maths_kernel, 50, inputs=[floats(at), out])
    numpy_names = {"atan": "arctan"}
    for k, name in enumerate(FUNCTIONS):
        wanted = 2 * getattr(np, numpy_names.get(name, name))(at.astype(np.float64))
        np.testing.assert_allclose(out.numpy()[k], wanted, rtol=5e-7, atol=1e-7, err_msg=name)


@wp.func_native("""
    static const float table[4] = {1.0f, 10.0f, 100.0f, 1000.0f};
    static constexpr int kWidth = 4;
    #define TIMES(a, b) ((a) * (b))
    auto larger = [](auto a, auto b) { return a < b ? b : a; };
    struct Pair { float first; int second; };
    Pair pair{table[i % kWidth], larger(i, 2)};
    float v[3];
    for (int k = 0; k < 3; ++k) v[k] = TIMES(pair.first, k + 1);
    switch (i) {
        case 0: return v[0];
        case 1: goto second;
        default: break;
    }
    return v[2] + pair.second;
second:
    return -v[1];
""")
def many_features(i: int) -> float: ...


@wp.func
def twice_of_many(i: int):
    return 2.0 * many_features(i)


@wp.kernel
def features_kernel(out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = twice_of_many(i) + many_features(3 - i)


def test_features_of_the_language():
    out = floats(np.zeros(4))
    wp.launch(features_kernel, 4, inputs=[out])
    single = np.array([1.0, -20.0, 302.0, 3003.0])
    np.testing.assert_array_equal(out.numpy(), 2 * single + single[::-1])


@wp.func_native("""
#if defined(__x86_64__)
    asm("addl $5, %0" : "+r"(x));
#else
    asm("add %w0, %w0, #5" : "+r"(x));
#endif
    return x;
""")
def by_assembly(x: int) -> int: ...


@wp.kernel
def assembly_kernel(out: wp.array(dtype=int)):
    out[0] = by_assembly(out[0])


def test_inline_assembly_of_the_cpu():
    out = wp.array([37], dtype=int, device="cpu")
    wp.launch(assembly_kernel, 1, inputs=[out], device="cpu")
    assert out.numpy()[0] == 42


SCALARS = [(wp.float16, np.float16), (wp.float64, np.float64), (wp.int8, np.int8), (wp.uint64, np.uint64)]


@pytest.mark.parametrize(("dtype", "numpy"), SCALARS)
def test_scalar_types(dtype, numpy):
    @wp.func_native("auto y = x[1] + x[0]; x[2] = y; return y * two;")
    def combine(x: wp.array(dtype=dtype), two: dtype) -> dtype: ...

    @wp.kernel(module="unique")
    def combines(x: wp.array(dtype=dtype)):
        x[3] = combine(x, dtype(2))

    x = wp.array(np.array([3, 4, 0, 0], dtype=numpy), dtype=dtype)
    wp.launch(combines, 1, inputs=[x])
    np.testing.assert_array_equal(x.numpy(), np.array([3, 4, 7, 14], dtype=numpy))


@wp.func_native('printf("item %d: %g and %s\\n", i, x, "text");')
def show(i: int, x: float): ...


@wp.kernel
def show_kernel():
    show(wp.tid(), 2.5)


def test_printf(capfd):
    wp.launch(show_kernel, 2)
    wp.synchronize()
    assert sorted(capfd.readouterr().out.splitlines()) == ["item 0: 2.5 and text", "item 1: 2.5 and text"]


@wp.func_native("""
    assert(i % 2 == 0 || x[i] > 0.0f);
    x[i] = 2.0f * x[i];
""")
def doubled_if_positive(x: wp.array(dtype=float), i: int): ...


def test_assert_in_debug_mode():
    def launch():
        @wp.kernel(module="unique")
        def asserts(x: wp.array(dtype=float)):
            doubled_if_positive(x, wp.tid())

        x = floats([-1, 1, -1, -1], False)
        wp.launch(asserts, 4, inputs=[x])
        wp.synchronize()
        return x.numpy()

    np.testing.assert_array_equal(launch(), [-2, 2, -2, -2])
    mode, wp.config.mode = wp.config.mode, "debug"
    try:
        with pytest.raises(wp.WarpRuntimeError, match=r"in thread \(3\): assertion failed") as error:
            launch()
        assert "    assert(i % 2 == 0 || x[i] > 0.0f);\n    ^" in str(error.value)
        assert f'File "{__file__}", line ' in str(error.value)
    finally:
        wp.config.mode = mode


# ---- references ----


@wp.func_native("x = x + 5;")
def add_five(x: wp.ref[wp.int32]): ...


@wp.func_native("atomicAdd(&x, 1);")
def count_in(x: wp.ref[wp.int32]): ...


@wp.kernel
def references(out: wp.array(dtype=int)):
    i = wp.tid()
    local = wp.int32(10)
    add_five(local)
    out[2 + i] = local
    add_five(out[2 + i])
    count_in(out[0])


def test_references_are_the_callers_memory():
    out = wp.zeros(2 + 5000, dtype=int)
    wp.launch(references, 5000, inputs=[out])
    assert out.numpy()[0] == 5000
    np.testing.assert_array_equal(out.numpy()[2:], np.full(5000, 20))


@wp.func_native("x = x * y;", "adj_y += x * adj_x; adj_x = y * adj_x;")
def multiply_in_place(x: wp.ref[float], y: float): ...


@wp.kernel
def products(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    value = float(0.0)
    value = x[i]
    multiply_in_place(value, y[i])
    multiply_in_place(value, y[i])
    out[i] = value


@wp.kernel
def products_in_memory(y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    multiply_in_place(out[i], y[i])


def test_adjoints_of_references():
    x, y, out = floats([1, 2, 3]), floats([2, 3, 4]), floats([0, 0, 0])
    with wp.Tape() as tape:
        wp.launch(products, 3, inputs=[x, y, out])
    tape.backward(grads={out: floats([1, 1, 1], False)})
    at, by = np.array([1, 2, 3]), np.array([2, 3, 4])
    np.testing.assert_array_equal(out.numpy(), at * by * by)
    np.testing.assert_array_equal(x.grad.numpy(), by * by)
    np.testing.assert_array_equal(y.grad.numpy(), 2 * at * by)


def test_adjoints_of_references_into_arrays():
    start, y = floats([1, 2, 3]), floats([2, 3, 4])
    with wp.Tape() as tape:
        out = wp.clone(start)
        wp.launch(products_in_memory, 3, inputs=[y, out])
    tape.backward(grads={out: floats([1, 1, 1], False)})
    np.testing.assert_array_equal(out.numpy(), [2, 6, 12])
    np.testing.assert_array_equal(y.grad.numpy(), [1, 2, 3])
    np.testing.assert_array_equal(start.grad.numpy(), [2, 3, 4])


# ---- what is repeated ----


@wp.func_native("int slot = atomicAdd(counter, 1); slots[tid] = slot;", replay_snippet="")
def take_slot(counter: wp.array(dtype=int), slots: wp.array(dtype=int), tid: int): ...


@wp.kernel
def squares_in_slots(
    x: wp.array(dtype=float), counter: wp.array(dtype=int), slots: wp.array(dtype=int), out: wp.array(dtype=float)
):
    tid = wp.tid()
    take_slot(counter, slots, tid)
    slot = slots[tid]
    out[slot] = x[tid] * x[tid]


def test_slots_are_not_taken_again():
    n = 100
    x, out, counter, slots = floats(np.arange(n)), floats(np.zeros(n)), wp.zeros(1, dtype=int), wp.zeros(n, dtype=int)
    with wp.Tape() as tape:
        wp.launch(squares_in_slots, n, inputs=[x, counter, slots, out])
    tape.backward(grads={out: floats(np.ones(n), False)})
    assert counter.numpy()[0] == n
    np.testing.assert_array_equal(x.grad.numpy(), 2.0 * np.arange(n))


@wp.func_native("y[tid] = x[tid] * x[tid];", "adj_x[tid] += 2.0f * adj_y[tid];", "y[tid] = x[tid];")
def square_into(x: wp.array(dtype=float), y: wp.array(dtype=float), tid: int): ...


@wp.kernel
def log_of_square(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    tid = wp.tid()
    square_into(x, y, tid)
    z[tid] = wp.log(y[tid])


def test_what_the_replay_writes_is_what_the_adjoint_reads():
    at = 1.0 + np.arange(8)
    x, y, z = floats(at), floats(np.zeros(8)), floats(np.zeros(8))
    with wp.Tape() as tape:
        wp.launch(log_of_square, 8, inputs=[x, y, z])
    np.testing.assert_allclose(z.numpy(), np.log(at * at), rtol=1e-6)
    tape.backward(grads={z: floats(np.ones(8), False)})
    np.testing.assert_allclose(x.grad.numpy(), 2 / at, rtol=1e-6)


@wp.func_native(
    "float v = sinf(x); for (int i = 0; i < 2; ++i) v += x * i; return v;", "adj_x += (cosf(x) + 1.0f) * adj_ret;"
)
def curve(x: float) -> float: ...


@wp.func_native("return float(atomicAdd(count, 1)) + x;", "adj_x += adj_ret;")
def counted(count: wp.array(dtype=int), x: float) -> float: ...


@wp.func_native("seen[i] = x; return 2.0f * x;", "adj_x += 2.0f * adj_ret;", "return 2.0f * x;")
def seen_and_doubled(seen: wp.array(dtype=float), i: int, x: float) -> float: ...


@wp.kernel
def squares_of_curve(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = curve(x[i])
    y[i] = v * v


@wp.kernel
def squares_of_counted(x: wp.array(dtype=float), y: wp.array(dtype=float), count: wp.array(dtype=int)):
    i = wp.tid()
    v = counted(count, x[i])
    y[i] = v * v


@wp.kernel
def sums_of_counted(x: wp.array(dtype=float), y: wp.array(dtype=float), count: wp.array(dtype=int)):
    i = wp.tid()
    y[i] = counted(count, x[i]) + x[i]


@wp.kernel
def squares_of_doubled(x: wp.array(dtype=float), y: wp.array(dtype=float), seen: wp.array(dtype=float)):
    i = wp.tid()
    v = seen_and_doubled(seen, i, x[i])
    y[i] = v * v


def test_a_snippet_runs_again_only_if_it_changes_nothing():
    at = np.array([0.5, 1.0, 1.5])

    def gradient(kernel, *more):
        x, y = floats(at), floats(np.zeros(3))
        with wp.Tape() as tape:
            wp.launch(kernel, 3, inputs=[x, y, *more])
        tape.backward(grads={y: floats(np.ones(3), False)})
        return x.grad.numpy()

    np.testing.assert_allclose(gradient(squares_of_curve), 2 * (np.sin(at) + at) * (np.cos(at) + 1), rtol=1e-6)
    count = wp.zeros(1, dtype=int)
    with pytest.raises(wp.WarpGradientError, match="would change memory a second time") as error:
        gradient(squares_of_counted, count)
    assert "def counted" in error.value.text
    count.zero_()
    np.testing.assert_array_equal(gradient(sums_of_counted, count), [2, 2, 2])
    assert count.numpy()[0] == 3
    np.testing.assert_array_equal(gradient(squares_of_doubled, wp.zeros(3, dtype=float)), 8 * at)


def test_forward_mode_is_refused():
    x, y = floats([1.5, 2.5]), floats([0, 0])
    with pytest.raises(wp.WarpGradientError, match="no tangent for a native function"):
        wp.jvp(lambda a: wp.launch(log_of_square, 2, inputs=[a, y, y]), [x], [x])


# ---- identity ----


def test_the_text_is_part_of_the_kernel():
    out = floats([0.0], False)
    for value in (1, 2):

        @wp.func_native(f"out[0] = {value};")
        def write(out: wp.array(dtype=float)): ...

        @wp.kernel(module="unique")
        def writes(out: wp.array(dtype=float)):
            write(out)

        wp.launch(writes, 1, inputs=[out])
        assert out.numpy()[0] == value


def test_snippets_are_texts():
    with pytest.raises(TypeError, match="takes C\\+\\+ source"):
        wp.func_native(None)
    with pytest.raises(TypeError, match="adj_snippet"):
        wp.func_native("", adj_snippet=3)
