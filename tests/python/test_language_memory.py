"""Slices, arrays made in kernels, and references: values from NumPy, gradients from finite differences."""

import numpy as np
import pytest

import warp as wp

BACKENDS = ["", "cxx"]


@pytest.fixture(params=BACKENDS)
def backend(request):
    wp.config.cpu_backend = request.param
    yield request.param
    wp.config.cpu_backend = ""


def gradient_errors(kernel, x, outputs, step=1e-5):
    """The largest difference between the tape's gradient of sum(w * out) and central differences, by input."""
    weights = np.random.default_rng(0).normal(size=outputs)

    def run(values):
        out = wp.zeros(outputs, dtype=wp.float64)
        wp.launch(kernel, dim=1, inputs=[wp.array(values, dtype=wp.float64), out])
        return float(out.numpy() @ weights)

    given = wp.array(x, dtype=wp.float64, requires_grad=True)
    out = wp.zeros(outputs, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[given, out])
    tape.backward(grads={out: wp.array(weights, dtype=wp.float64)})
    numeric = []
    for i in range(len(x)):
        moved = np.repeat([x], 2, axis=0)
        moved[0, i] += step
        moved[1, i] -= step
        numeric.append((run(moved[0]) - run(moved[1])) / (2 * step))
    return np.abs(given.grad.numpy() - numeric).max()


def slicing(start, stop, step):
    """A kernel that slices with literal bounds; those that are None are left out."""
    a, b, c = (0 if v is None else v for v in (start, stop, step))
    has_start, has_stop, has_step = start is not None, stop is not None, step is not None

    @wp.kernel(module="unique")
    def run(x: wp.array(dtype=float), size: wp.array(dtype=int), out: wp.array(dtype=float)):
        if wp.static(has_start and has_stop and has_step):
            s = x[wp.static(a) : wp.static(b) : wp.static(c)]
        elif wp.static(has_start and has_stop):
            s = x[wp.static(a) : wp.static(b)]
        elif wp.static(has_start):
            s = x[wp.static(a) :]
        elif wp.static(has_stop):
            s = x[: wp.static(b)]
        elif wp.static(has_step):
            s = x[:: wp.static(c)]
        else:
            s = x[:]
        size[0] = s.shape[0]
        for i in range(s.shape[0]):
            out[i] = s[i]

    return run


def test_slices_of_arrays_are_pythons(backend):
    slices = [(None, None, None), (1, 4, None), (-3, None, None), (None, -2, None), (4, 1, -1), (None, None, -2)]
    slices += [(2, 100, 3), (-100, 2, 1), (5, 2, None), (None, None, 2), (-1, -100, -3)]
    values = np.arange(7, dtype=np.float32)
    for bounds in slices:
        size, out = wp.zeros(1, dtype=int), wp.zeros(7, dtype=float)
        wp.launch(slicing(*bounds), dim=1, inputs=[wp.array(values), size, out])
        expected = values[slice(*bounds)]
        assert size.numpy()[0] == len(expected), bounds
        np.testing.assert_array_equal(out.numpy()[: len(expected)], expected)


@wp.kernel
def run_time_bounds(x: wp.array(dtype=float), lo: int, hi: int, step: int, out: wp.array(dtype=float)):
    s = x[lo:hi:step]
    out[0] = float(s.shape[0])
    for i in range(s.shape[0]):
        out[1 + i] = s[i]


@pytest.mark.parametrize("bounds", [(0, 7, 1), (-2, -6, -1), (5, 1, -2), (3, 3, 1), (-9, 9, 2), (6, -8, -3)])
def test_bounds_of_slices_may_be_known_at_run_time_only(bounds):
    values = np.arange(7, dtype=np.float32)
    out = wp.zeros(8, dtype=float)
    wp.launch(run_time_bounds, dim=1, inputs=[wp.array(values), *bounds, out])
    expected = values[slice(*bounds)]
    np.testing.assert_array_equal(out.numpy()[: 1 + len(expected)], [len(expected), *expected])


@wp.kernel
def slices_of_many_dimensions(x: wp.array3d(dtype=float), out: wp.array(dtype=float)):
    a = x[1:, 2, ::-1]
    b = x[:, -2:]
    c = b[1, :, 0]
    out[0] = a[1, 0]
    out[1] = float(a.shape[0] * 10 + a.shape[1])
    out[2] = b[0, 1, 2]
    out[3] = c[0]
    a[0, 1] = 100.0


def test_slices_mix_with_indices_and_write_through(backend):
    values = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    x, out = wp.array(values), wp.zeros(4, dtype=float)
    wp.launch(slices_of_many_dimensions, dim=1, inputs=[x, out])
    a, b = values[1:, 2, ::-1], values[:, -2:]
    np.testing.assert_array_equal(out.numpy(), [a[1, 0], a.shape[0] * 10 + a.shape[1], b[0, 1, 2], b[1, 0, 0]])
    assert x.numpy()[1, 2, 3] == 100


@wp.kernel
def blocks(out: wp.array(dtype=float), row: int):
    m = wp.mat33(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
    block = m[1:, :2]
    out[0] = block[1][0]
    out[1] = m[::2, 1][1]
    out[2] = m[row, ::-1][0]
    m[0:2, 1:3] = wp.mat22(10.0, 11.0, 12.0, 13.0)
    m[2, 0:2] += wp.vec2(100.0, 200.0)
    for i in range(3):
        for j in range(3):
            out[3 + 3 * i + j] = m[i, j]
    out[12] = m[0:2, 1:3][row - 1, 1]


def test_blocks_of_matrices(backend):
    out = wp.zeros(13, dtype=float)
    wp.launch(blocks, dim=1, inputs=[out, 2])
    expected = np.arange(1.0, 10.0).reshape(3, 3)
    expected[0:2, 1:3] = [[10, 11], [12, 13]]
    expected[2, 0:2] += [100, 200]
    np.testing.assert_array_equal(out.numpy(), [7, 8, 9, *expected.ravel(), 13])


@wp.func
def total(a: wp.array2d(dtype=float)):
    s = float(0.0)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j]
    return s


@wp.kernel
def local_arrays(out: wp.array2d(dtype=float)):
    t = wp.tid()
    a = wp.zeros(shape=(2, 3), dtype=float)
    for i in range(2):
        for j in range(3):
            a[i, j] += float(i * 3 + j + t)
    out[t, 0] = total(a)
    out[t, 1] = wp.full(4, 2.5, dtype=float)[3]
    out[t, 2] = wp.ones(2, dtype=wp.vec3)[1][2]
    out[t, 3] = float(a.size)
    for turn in range(2):
        fresh = wp.zeros(shape=2, dtype=float)
        fresh[turn] += 1.0
        out[t, 4 + turn] = fresh[0] + fresh[1]


def test_local_arrays_belong_to_an_item(backend):
    out = wp.zeros((3, 6), dtype=float)
    wp.launch(local_arrays, dim=3, inputs=[out])
    np.testing.assert_array_equal(out.numpy(), [[15 + 6 * t, 2.5, 1, 6, 1, 1] for t in range(3)])


@wp.func
def bump(x: wp.ref[int], by: int):
    x += by


@wp.func
def bump_twice(x: wp.ref[int]):
    bump(x, 1)
    bump(x, 10)


@wp.struct
class Pair:
    a: int
    v: wp.vec3


@wp.func
def scale_pair(p: wp.ref[Pair], k: float):
    p.a *= 2
    p.v = p.v * k


@wp.kernel
def references(cells: wp.array(dtype=int), pairs: wp.array(dtype=Pair), out: wp.array(dtype=float)):
    n = wp.int32(0)
    for _i in range(5):
        bump_twice(n)
    bump_twice(cells[1])
    p = Pair(3, wp.vec3(1.0, 2.0, 3.0))
    scale_pair(p, 2.0)
    scale_pair(pairs[0], 3.0)
    bump(p.a, 5)
    i = wp.int32(0)
    while i < 3:
        bump(i, 1)
    x = float(3.0)
    alias = wp.array(ptr=wp.address_of(x), shape=(1,), dtype=float)
    alias[0] += 4.0
    out[0] = float(n)
    out[1] = float(p.a)
    out[2] = p.v[2]
    out[3] = x
    out[4] = float(i)


def test_references_change_variables_elements_and_members(backend):
    cells, out = wp.zeros(3, dtype=int), wp.zeros(5, dtype=float)
    pair = Pair()
    pair.a, pair.v = 4, wp.vec3(1.0, 1.0, 1.0)
    pairs = wp.array([pair], dtype=Pair)
    wp.launch(references, dim=1, inputs=[cells, pairs, out])
    assert cells.numpy().tolist() == [0, 11, 0]
    assert out.numpy().tolist() == [55, 11, 6, 7, 3]
    assert pairs.numpy()[0]["a"] == 8 and pairs.numpy()[0]["v"].tolist() == [3, 3, 3]


f64 = wp.float64


@wp.kernel
def overwritten_elements(x: wp.array(dtype=f64), o: wp.array(dtype=f64)):
    a = wp.zeros(shape=4, dtype=f64)
    for i in range(4):
        a[i] = x[i] * x[i]
    for i in range(20):
        a[i % 4] = a[(i + 1) % 4] * f64(0.5) + wp.sin(a[i % 4]) * x[0]
    for i in range(4):
        o[0] += a[i]


@wp.func
def square_all(a: wp.array(dtype=f64), n: int):
    for i in range(n):
        a[i] *= a[i]
        a[i] += a[i] * a[i]


@wp.func
def own_memory(x: wp.array(dtype=f64), j: int) -> f64:
    b = wp.zeros(shape=(2, 2), dtype=f64)
    for t in range(5):
        b[t % 2, j % 2] += x[j] * b[1 - t % 2, j % 2] + wp.cos(x[j])
        if t > 2:
            b[0, 0] = b[0, 0] * b[1, 1] + b[0, j % 2]
    return b[0, j % 2] * b[1, j % 2] + b[0, 0]


@wp.func
def update(v: wp.ref[f64], y: f64):
    v = v * v + y
    v += y * v


@wp.kernel
def memory_in_functions(x: wp.array(dtype=f64), o: wp.array(dtype=f64)):
    a = wp.zeros(shape=4, dtype=f64)
    for i in range(4):
        a[i] = x[i]
    square_all(a, 3)
    n = 0
    while n < 3:
        c = wp.zeros(shape=2, dtype=f64)
        c[0] = a[n] * x[n]
        c[1] = c[0] * c[0]
        c[0] = c[1] * a[0]
        if n != 1:
            a[n] = c[0] + c[1]
        n += 1
    v = x[3]
    for i in range(3):
        update(v, x[i])
    update(a[1], x[0])
    o[0] = a[0] + a[1] * a[2] + v
    o[1] = own_memory(x, 2) + own_memory(x, 1)
    o[2] = a[1]


@wp.kernel
def slices_in_loops(x: wp.array(dtype=f64), o: wp.array(dtype=f64)):
    s = x[1:4]
    back = s[::-1]
    for i in range(7):
        o[i % 3] += s[i % 3] * back[i % 3] * x[0]
    m = wp.mat33d(x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3], x[0])
    b = m[:2, 1:]
    m[0:2, 0:2] = b * b
    for i in range(2):
        m[i, 1:] = m[i + 1, :2] * f64(2.0)
        o[i] += m[i, 2] * m[2 - i, i]


@pytest.mark.parametrize("kernel", [overwritten_elements, memory_in_functions, slices_in_loops], ids=lambda k: k.key)
def test_gradients_through_memory_of_an_item(kernel, backend):
    assert gradient_errors(kernel, np.array([0.3, 0.5, 0.7, 0.9]), 3) < 1e-7


@wp.kernel
def chosen_array(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    a = wp.zeros(shape=2, dtype=float)
    b = wp.zeros(shape=2, dtype=float)
    c = wp.where(x[0] > 0.0, a, b)
    c[0] = x[0]
    o[0] = c[0]


def test_what_has_no_gradient_is_refused_by_name():
    x, o = wp.ones(1, dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with pytest.raises(wp.WarpGradientError, match="made in the kernel that is chosen"), wp.Tape() as tape:
        wp.launch(chosen_array, dim=1, inputs=[x, o])
        tape.backward(o)


@pytest.mark.parametrize("dtype", [wp.float16, wp.bfloat16, wp.float32, wp.float64, wp.int8, wp.int16, wp.uint64])
def test_items_that_add_to_one_place(backend, dtype):
    """Side by side or one after the other: the sums are exact in all of these types."""

    def kernel(total: wp.array(dtype=dtype), out: wp.array2d(dtype=dtype)):
        i, j = wp.tid()
        n = dtype(0)
        for _ in range(2):
            n += dtype(1)
        wp.atomic_add(total, 0, dtype(1))
        wp.atomic_sub(total, 1, n)
        out[i, j] = n

    made = wp.Kernel(kernel, key=f"adds_{dtype.__name__}", module=wp.Module(f"adds_{dtype.__name__}"))
    total, out = wp.zeros(2, dtype=dtype), wp.zeros((5, 7), dtype=dtype)
    wp.launch(made, (5, 7), inputs=[total, out])
    sums = total.numpy()
    if sums.dtype == np.uint16:  # bfloat16 is given as its bits, where NumPy knows no such type
        sums = (sums.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(sums.astype(np.float64), [35, -70 if dtype is not wp.uint64 else float(2**64 - 70)])
