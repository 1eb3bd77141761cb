"""Arrays at Python scope against NumPy: construction, views, copies, operators, interchange."""

import gc
import weakref

import numpy as np
import pytest

import warp as wp

SCALARS = [wp.bool, *wp.types.int_types, wp.float16, wp.float32, wp.float64]
ids = {"ids": lambda t: getattr(t, "__name__", str(t))}


def numpy_type(dtype):
    return wp.types.dtype_to_numpy(dtype)


@pytest.mark.parametrize("dtype", SCALARS, **ids)
@pytest.mark.parametrize("shape", [(0,), (1,), (5,), (2, 3), (2, 0, 3), (2, 3, 4), (2, 3, 4, 5)], **ids)
def test_content_goes_in_and_out(dtype, shape):
    data = (np.arange(np.prod(shape)).reshape(shape) % 5).astype(numpy_type(dtype))
    a = wp.array(data, dtype=dtype)
    assert (a.shape, a.ndim, a.size, len(a)) == (shape, len(shape), data.size, shape[0])
    assert a.dtype is dtype and a.numpy().dtype == data.dtype
    assert a.strides == np.ascontiguousarray(data).strides if data.size else True
    assert np.array_equal(a.numpy(), data)
    assert np.array_equal(wp.array(data.tolist(), dtype=dtype).numpy().reshape(shape), data)
    assert np.array_equal(wp.from_numpy(data).numpy(), data)
    assert a.ptr is None if data.size == 0 else a.ptr % 64 == 0
    assert a.list() == data.flatten().tolist()
    assert str(a) == str(data)


VECTORS = [
    wp.vec2,
    wp.vec3d,
    wp.vec4ub,
    wp.mat22,
    wp.mat33d,
    wp.quat,
    wp.transform,
    wp.spatial_vector,
    wp.spatial_matrix,
]


@pytest.mark.parametrize("dtype", VECTORS, **ids)
def test_vectors_and_matrices(dtype):
    part = wp.types.part_shape(dtype)
    data = np.arange(2 * np.prod(part)).reshape(2, *part).astype(numpy_type(dtype))
    a = wp.array(data, dtype=dtype)
    assert a.shape == (2,) and a.dtype is dtype
    assert np.array_equal(a.numpy(), data)
    assert np.array_equal(wp.array(data.flatten(), dtype=dtype).numpy(), data)
    assert np.array_equal(wp.array([dtype(*p.flatten()) for p in data], dtype=dtype).numpy(), data)
    assert [type(v) for v in a.list()] == [dtype, dtype]
    assert np.array_equal(np.array(a.list()), data)


def test_types_are_inferred_as_numpy_does():
    assert wp.array([1, 2]).dtype is wp.int64
    assert wp.array([1.0, 2]).dtype is wp.float64
    assert wp.array([True]).dtype is wp.bool
    assert wp.array(np.float16([1.0])).dtype is wp.float16
    assert wp.zeros(2).dtype is wp.float32
    assert (wp.zeros(1, float).dtype, wp.zeros(1, int).dtype, wp.zeros(1, bool).dtype) == (
        wp.float32,
        wp.int32,
        wp.bool,
    )
    vectors = wp.array([wp.vec3(1.0), wp.vec3(2.0)])
    assert (vectors.dtype, vectors.shape) == (wp.float32, (2, 3))


@pytest.mark.parametrize(
    "make",
    [
        lambda: wp.array([300], dtype=wp.uint8),
        lambda: wp.array([-1], dtype=wp.uint32),
        lambda: wp.array([float("nan")], dtype=int),
        lambda: wp.array([[1.0], [2.0, 3.0]]),
        lambda: wp.array(["a"]),
        lambda: wp.array([None]),
        lambda: wp.array(np.array([1j])),
        lambda: wp.array(2.0),
        lambda: wp.array([1.0, 2.0], dtype=wp.vec3),
        lambda: wp.array(np.arange(4.0), dtype=float, shape=5),
        lambda: wp.zeros((1,) * 9),
    ],
)
def test_data_that_is_refused(make):
    with pytest.raises(RuntimeError):
        make()


def test_shapes_that_are_refused():
    with pytest.raises(ValueError):
        wp.zeros(-1)
    with pytest.raises(TypeError):
        wp.zeros(2.0)
    with pytest.raises(IndexError):
        wp.zeros(())
    with pytest.raises(ValueError, match="64 bits"):
        wp.zeros((2**40, 2**40))


def test_numpy_casts_wrap():
    assert wp.array(np.array([300]), dtype=wp.uint8).numpy().tolist() == [44]
    assert wp.array(np.array([1.7, -1.7]), dtype=int).numpy().tolist() == [1, -1]
    assert wp.array([1e40], dtype=float).numpy().tolist() == [np.inf]


@pytest.mark.host("memory of NumPy")
def test_memory_is_shared_or_copied():
    n = np.ones(2, dtype=np.float32)
    copied, aliased = wp.array(n, dtype=float), wp.array(n, dtype=float, copy=False)
    made = wp.from_numpy(n, dtype=float)
    n[0] = 9.0
    assert (copied.numpy()[0], aliased.numpy()[0], made.numpy()[0]) == (1.0, 9.0, 1.0)
    view = aliased.numpy()
    view[1] = 8.0
    assert n[1] == 8.0
    # A strided NumPy array is shared with its strides.
    grid = np.arange(12, dtype=np.float64).reshape(3, 4)
    shared = wp.array(grid.T, dtype=wp.float64, copy=False)
    assert shared.strides == grid.T.strides and not shared.is_contiguous
    grid[1, 2] = -1.0
    assert shared.numpy()[2, 1] == -1.0


@pytest.mark.host("memory of NumPy")
def test_memory_lives_as_long_as_its_users():
    n = np.ones(1000, dtype=np.float32)
    alive = weakref.ref(n)
    a = wp.array(n, dtype=float, copy=False)[10:]
    del n
    gc.collect()
    assert alive() is not None and a.numpy()[0] == 1.0
    view = a.numpy()
    del a
    gc.collect()
    assert view[0] == 1.0
    del view
    gc.collect()
    assert alive() is None


@pytest.mark.host("memory of NumPy")
def test_a_deleter_is_called_once_at_the_end():
    calls = []
    n = np.arange(4, dtype=np.float32)
    a = wp.array(ptr=n.ctypes.data, dtype=float, shape=4, deleter=lambda ptr, size: calls.append((ptr, size)))
    b = a[1:]
    del a
    gc.collect()
    assert calls == [] and b.numpy().tolist() == [1.0, 2.0, 3.0]
    del b
    gc.collect()
    assert calls == [(n.ctypes.data, 16)]


SLICES = [
    np.s_[1:3], np.s_[::2], np.s_[-2:], np.s_[1:], np.s_[:0], np.s_[1], np.s_[-1], np.s_[:, 1], np.s_[1:3, 2],
    np.s_[:, ::3], np.s_[np.int64(1)], np.s_[1, 1:3], np.s_[3:3], np.s_[:, -2:],
]  # fmt: skip


@pytest.mark.parametrize("key", SLICES, ids=str)
def test_slices_are_views(key):
    data = np.arange(24, dtype=np.float32).reshape(4, 6)
    a = wp.array(data, dtype=float)
    assert np.array_equal(a[key].numpy(), data[key])
    a[key].fill_(-1.0)
    data[key] = -1.0
    assert np.array_equal(a.numpy(), data)


@pytest.mark.parametrize(
    "key, error",
    [
        (np.s_[::-1], ValueError),
        (np.s_[3:1], RuntimeError),
        (np.s_[1:99], RuntimeError),
        (np.s_[1.0], RuntimeError),
        (np.s_["x"], RuntimeError),
        (np.s_[None], RuntimeError),
        (np.s_[4], IndexError),
        (np.s_[0, 0, 0], IndexError),
        (np.s_[0, 0], RuntimeError),
    ],
    ids=str,
)
def test_slices_that_are_refused(key, error):
    with pytest.raises(error):
        wp.zeros((4, 6), dtype=float)[key]


def test_elements_are_neither_read_nor_set():
    a = wp.zeros(3, dtype=float)
    with pytest.raises(RuntimeError, match="numpy"):
        a[0]
    with pytest.raises(TypeError):
        a[0] = 1.0
    with pytest.raises(RuntimeError):
        list(a)


def test_shapes_change_without_copies():
    a = wp.array(np.arange(12.0), dtype=float)
    b = a.reshape((3, -1))
    assert b.shape == (3, 4) and b.ptr == a.ptr
    assert b.flatten().ptr == a.ptr and b.transpose().shape == (4, 3)
    assert np.array_equal(b.transpose().numpy(), b.numpy().T)
    assert np.array_equal(b.transpose().contiguous().numpy(), b.numpy().T) and b.contiguous() is b
    assert np.array_equal(b[:, 1].flatten().numpy(), b.numpy()[:, 1])
    assert b.view(wp.vec4).shape == (3,) and b.view(wp.vec4).view(float).shape == (3, 4)
    assert a.view(wp.int32).numpy().tolist() == a.numpy().view(np.int32).tolist()
    with pytest.raises(RuntimeError):
        a.reshape(5)
    with pytest.raises(RuntimeError, match="contiguous"):
        b.transpose().reshape(12)
    with pytest.raises(TypeError, match="source dtype has size 4 bytes, but target dtype has size 8 bytes"):
        a.view(wp.float64)


def test_constructors():
    assert wp.ones(2, dtype=wp.vec3).numpy().tolist() == [[1.0] * 3] * 2
    assert wp.full(2, 3).dtype is wp.int32 and wp.full(2, 3.5).dtype is wp.float32
    assert wp.full(2, wp.vec3(1.0, 2.0, 3.0)).numpy().tolist() == [[1.0, 2.0, 3.0]] * 2
    assert wp.full(1, [1.0, 2.0, 3.0], dtype=wp.vec3).numpy().tolist() == [[1.0, 2.0, 3.0]]
    a = wp.zeros((2, 2), dtype=wp.vec2, requires_grad=True)[:, 0]
    for like in (wp.zeros_like(a), wp.empty_like(a), wp.ones_like(a), wp.full_like(a, 2), wp.clone(a)):
        assert (like.shape, like.dtype, like.requires_grad, like.is_contiguous) == (a.shape, a.dtype, True, True)
    assert wp.array(shape=3, dtype=float).shape == (3,)
    assert wp.array(wp.array([1.0], dtype=float)).dtype is wp.float32


def test_fill():
    a = wp.zeros(2, dtype=wp.vec3)
    for value, wanted in [(2.0, [2.0] * 3), ((1, 2, 3), [1.0, 2.0, 3.0]), (wp.vec3(4.0), [4.0] * 3)]:
        assert a.fill_(value) is a
        assert a.numpy().tolist() == [wanted] * 2
    for dtype, value in [(float, wp.vec3(1.0)), (float, "x"), (float, [1.0, 2.0]), (int, 2.7), (wp.uint8, 300)]:
        with pytest.raises(ValueError):
            wp.zeros(2, dtype=dtype).fill_(value)
    assert wp.zeros(3, dtype=float).fill_(True).zero_().numpy().tolist() == [0.0] * 3


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_copies_between_strided_arrays(rank):
    rng = np.random.default_rng(rank)
    for dtype in (wp.int8, wp.float16, wp.float32, wp.float64, wp.vec3, wp.mat22d, wp.vec4d):
        shape = tuple(rng.integers(1, 6, rank))
        part = wp.types.part_shape(dtype)
        steps = rng.integers(1, 4, (2, rank))
        bases = [rng.random(tuple(n * s for n, s in zip(shape, step, strict=True)) + part) for step in steps]
        a, b = (wp.array(base * 100, dtype=dtype) for base in bases)
        keys = [tuple(slice(None, None, int(s)) for s in step) for step in steps]
        left, right = a.numpy().copy(), b.numpy().copy()
        wp.copy(a[keys[0]], b[keys[1]])
        left[keys[0]] = right[keys[1]]
        assert np.array_equal(a.numpy(), left) and np.array_equal(b.numpy(), right)


def test_copies_of_parts():
    a = wp.zeros(5, dtype=float)
    wp.copy(a, wp.array([1.0, 2.0], dtype=float))
    assert a.numpy().tolist() == [1.0, 2.0, 0.0, 0.0, 0.0]
    wp.copy(a, wp.array([7.0, 8.0, 9.0], dtype=float), dest_offset=3, src_offset=1, count=2)
    assert a.numpy().tolist() == [1.0, 2.0, 0.0, 8.0, 9.0]
    wp.copy(a[1:], a[:-1])  # overlapping
    assert a.numpy().tolist() == [1.0, 1.0, 2.0, 0.0, 8.0]
    for source in (wp.zeros(6, dtype=float), wp.zeros(5, dtype=wp.float64), wp.zeros(5, dtype=int)):
        with pytest.raises(RuntimeError):
            wp.copy(a, source)


def test_assign():
    a = wp.zeros(2, dtype=float)
    for source in ([5, 6], [5.0, 6.0], np.array([5.0, 6.0]), wp.array([5.0, 6.0], dtype=float)):
        a.zero_()
        a.assign(source)
        assert a.numpy().tolist() == [5.0, 6.0]
    for source in ([1.0], [1.0, 2.0, 3.0], wp.zeros(2, dtype=wp.float64), wp.zeros(2, dtype=int)):
        with pytest.raises(RuntimeError):
            a.assign(source)


# ---- operators ----

OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
}


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.int32, wp.uint64], **ids)
def test_operators(symbol, dtype):
    rng = np.random.default_rng(1)
    x = rng.integers(1, 50, (3, 4)).astype(numpy_type(dtype))
    y = rng.integers(1, 9, (3, 4)).astype(numpy_type(dtype))
    operator = OPERATORS[symbol]
    wanted = x // y if symbol == "/" and dtype in wp.types.int_types else operator(x, y)
    a, b = wp.array(x, dtype=dtype), wp.array(y, dtype=dtype)
    result = operator(a, b)
    assert type(result) is wp.array and result.dtype is dtype
    if not (symbol == "-" and dtype is wp.uint64):
        assert np.array_equal(result.numpy(), wanted)
    kept = a
    exec(f"a {symbol}= b", {}, space := {"a": a, "b": b})
    assert space["a"] is kept and np.array_equal(kept.numpy(), result.numpy())


def test_operators_broadcast():
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    a = wp.array(x, dtype=float)
    row, column = wp.array(x[0], dtype=float), wp.array(x[:, :1], dtype=float)
    assert np.array_equal((a * row).numpy(), x * x[0])
    assert np.array_equal((a - column).numpy(), x - x[:, :1])
    assert np.array_equal((row * column).numpy(), x[0] * x[:, :1])
    assert np.array_equal((2.0 / a).numpy(), np.float32(2.0) / x)
    assert np.array_equal((a**2.0).numpy(), x**2) and np.array_equal((-a).numpy(), -x)
    v = wp.array(np.arange(1, 13).reshape(4, 3), dtype=wp.vec3)
    assert np.array_equal((v / row).numpy(), v.numpy() / x[0][:, None])
    assert np.array_equal((v + v).numpy(), 2 * v.numpy())
    assert (wp.array([-7, 7], dtype=int) % 3).numpy().tolist() == [-1, 1]
    empty = wp.zeros(0, dtype=float)
    assert (empty + empty).shape == (0,)
    with pytest.raises(ValueError, match="not broadcastable"):
        row + wp.zeros(3, dtype=float)


@pytest.mark.parametrize(
    "operation",
    [
        lambda a: a + 1,
        lambda a: a + wp.array([1, 2], dtype=int),
        lambda a: a + wp.array([1.0, 2.0], dtype=wp.float64),
        lambda a: a + wp.vec3(1.0),
        lambda a: a + np.array([1.0, 2.0]),
        lambda a: a + [1.0, 2.0],
        lambda a: a @ a,
        lambda a: a < a,
        lambda a: abs(a),
        lambda a: float(a[0:1]),
    ],
)
def test_operations_that_are_refused(operation):
    with pytest.raises((TypeError, RuntimeError)):
        operation(wp.array([1.0, 2.0], dtype=float))


def test_equality_is_identity():
    a, b = wp.zeros(1, dtype=float), wp.zeros(1, dtype=float)
    assert (a == a, a == b, a != b, a == 1.0) == (True, False, True, False)
    assert a in (b, a) and {a: 1}[a] == 1 and bool(a)
    a.anything = 3
    assert a.anything == 3


def test_numpy_on_the_left_gives_numpy():
    result = np.array([1.0, 2.0]) + wp.array([1.0, 2.0], dtype=float)
    assert type(result) is np.ndarray and result.tolist() == [2.0, 4.0]


@pytest.mark.host("memory of NumPy")
def test_other_libraries_share_memory():
    a = wp.array(np.arange(6.0).reshape(2, 3), dtype=float)
    n = np.from_dlpack(a)
    n_again = np.asarray(a)
    n[0, 0] = 9.0
    assert a.numpy()[0, 0] == 9.0 and n_again[0, 0] == 9.0
    assert np.sum(a) == np.sum(n)
    source = np.arange(6, dtype=np.int32)
    b = wp.from_dlpack(source)
    source[2] = -5
    assert b.dtype is wp.int32 and b.numpy()[2] == -5
    v = wp.from_dlpack(np.ones((4, 3), dtype=np.float32), dtype=wp.vec3)
    assert v.shape == (4,) and v.dtype is wp.vec3
    assert wp.zeros(2, dtype=wp.vec3).__dlpack_device__() == (1, 0)
    assert np.from_dlpack(wp.zeros((2,), dtype=wp.vec3)).shape == (2, 3)


@pytest.mark.parametrize(
    "use",
    [
        wp.array.numpy,
        wp.array.list,
        wp.array.zero_,
        np.array,
        wp.array.__dlpack__,
        wp.array.__dlpack_device__,
        wp.array._take_watches,
        lambda a: wp.copy(a, a),
    ],
)
def test_an_annotation_has_no_content(use):
    with pytest.raises(TypeError, match="this array has no memory"):
        use(wp.array())


def test_annotations():
    for annotation, text in [
        (wp.array(dtype=float), "array<f32, 1>"),
        (wp.array(dtype=wp.vec3, ndim=2), "array<vec<3, f32>, 2>"),
        (wp.array[float], "array<f32, 1>"),
        (wp.array[wp.mat33d, 3], "array<mat<3, 3, f64>, 3>"),
        (wp.array2d(dtype=int), "array<i32, 2>"),
        (wp.array4d[wp.uint8], "array<u8, 4>"),
    ]:
        assert str(annotation._weft_type_) == text
    assert not hasattr(wp.zeros(1, dtype=float), "_weft_type_")
    assert repr(wp.zeros(2, dtype=float)) == "array(shape=(2,), dtype=float32)"
    assert repr(wp.array(dtype=float)) == "array(ndim=1, dtype=float32)"


@wp.kernel
def turn(a: wp.array[wp.float32, 8], out: wp.array[wp.float32, 8], last: wp.array[wp.float32, 5]):
    i, j, k = wp.tid()
    for m in range(a.shape[7]):
        out[m, 0, 0, 0, 0, k, j, i] = a[i, j, k, 0, 0, 0, 0, m]
    row = a[i, j, k]
    last[i, j, k, 0, 0] = float(row.ndim) + row[0, 0, 0, 0, 1]


def test_eight_dimensions():
    data = np.random.default_rng(0).random((2, 3, 4, 1, 1, 1, 1, 5), dtype=np.float32)
    a, out, last = wp.array(data), wp.zeros(data.shape[::-1]), wp.zeros((2, 3, 4, 1, 1))
    wp.launch(turn, dim=(2, 3, 4), inputs=[a], outputs=[out, last])
    assert np.array_equal(out.numpy(), data.T)
    assert np.array_equal(last.numpy(), data[..., :1, 0, 0, 1] + 5)
    assert np.array_equal(a.transpose((7, 0, 6, 1, 5, 2, 4, 3)).numpy(), data.transpose((7, 0, 6, 1, 5, 2, 4, 3)))
    assert np.array_equal(a[1, :, 2].contiguous().numpy(), data[1, :, 2])
    assert repr(wp.array[float, 8]) == "wp.array[wp.float32, 8]"
    with pytest.raises(ValueError, match="between 1 and 8, found 9"):
        wp.array[float, 9]


@wp.struct
class Mixed:
    small: wp.int8
    direction: wp.vec3
    wide: wp.float64
    values: wp.array[float]


def test_numpy_sees_structs_as_kernels_do():
    """Members lie where a C compiler for x86-64 puts them."""
    a = wp.zeros((2, 3), dtype=Mixed)
    layout = np.dtype(
        {
            "names": ["small", "direction", "wide", "values"],
            "formats": ["i1", ("f4", 3), "f8", "24u1"],
            "offsets": [0, 4, 16, 24],
            "itemsize": 48,
        }
    )
    assert a.numpy().dtype == layout == np.dtype(Mixed.numpy_dtype())
    value = Mixed(small=-3, direction=wp.vec3(1.0, 2.0, 3.0), wide=0.1)
    a.fill_(value)
    assert np.array_equal(a.numpy(), np.full((2, 3), np.array(value.numpy_value(), dtype=layout)))
    back = wp.array(a.numpy(), dtype=Mixed)
    assert back.shape == (2, 3)
    assert back.list()[5].wide == 0.1


@pytest.mark.host("memory of NumPy")
def test_numpy_sees_empty_arrays():
    a = wp.zeros((1, 0), dtype=wp.vec2)
    seen = np.asarray(a)
    assert a.__array_interface__["data"][0] != 0
    assert (seen.shape, seen.strides, seen.dtype) == ((1, 0, 2), (0, 8, 4), np.float32)


def test_dimensions_that_an_array_has_not():
    """As in Warp, kernels read 0 for them."""

    @wp.kernel
    def read(a: wp.array2d[float], out: wp.array[int]):
        out[0] = a.shape[1]
        out[1] = a.shape[2]
        out[2] = a[0].shape[1]
        out[3] = a.shape[-1]

    out = wp.full(4, 7, dtype=int)
    wp.launch(read, dim=1, inputs=[wp.zeros((2, 3))], outputs=[out])
    assert out.list() == [3, 0, 0, 3]


def test_copies_take_gradients_along_but_on_a_tape():
    a = wp.array([1.0, 2.0], dtype=float, requires_grad=True, device="cpu")
    a.grad.assign([3.0, 4.0])
    b = wp.zeros(2, requires_grad=True, device="cpu")
    wp.copy(b, a)
    assert b.grad.numpy().tolist() == [3.0, 4.0]
    b.grad.zero_()
    with wp.Tape():
        wp.copy(b, a)
    assert b.grad.numpy().tolist() == [0.0, 0.0]
    assert wp.clone(a).grad.numpy().tolist() == [0.0, 0.0]


def test_pointers_to_elements_keep_them():
    source = np.arange(100_000, dtype=np.int32)
    pointer = wp.array(source, device="cpu").cptr()
    others = [wp.zeros(100_000, dtype=int, device="cpu") for _ in range(4)]  # would take the memory
    assert pointer[1] == 1 and pointer[99_999] == 99_999
    del others


def test_arrays_like_pinned_ones():
    source = wp.zeros(4, dtype=float, device="cpu")
    assert not wp.empty_like(source).pinned and not wp.clone(source).pinned
    if wp.is_cuda_available():
        source = wp.zeros(4, dtype=float, device="cpu", pinned=True)
        for made in (wp.empty_like(source), wp.zeros_like(source), wp.clone(source), wp.ones_like(source)):
            assert made.pinned
        assert not wp.empty_like(source, pinned=False).pinned
        assert not wp.empty_like(source, device="cuda:0").pinned
