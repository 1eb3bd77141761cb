"""Launches: dimensions, arguments, forms of the call, what is refused."""

from typing import Any

import numpy as np
import pytest

import warp as wp


@wp.kernel
def count(o: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(o, 0, 1)
    wp.atomic_max(o, 1, i)


@wp.kernel
def coordinates(o: wp.array(dtype=wp.vec4i)):
    i, j, k, m = wp.tid()
    wp.atomic_max(o, 0, wp.vec4i(i, j, k, m))


DIMS = [
    (3, 3, 2),
    ((3,), 3, 2),
    ([3], 3, 2),
    (np.int32(3), 3, 2),
    (np.int64(3), 3, 2),
    (True, 1, 0),
    ((), 1, 0),
    (0, 0, 0),
    ((0, 5), 0, 0),
    ((2**31, 0), 0, 0),
    (np.array([2, 3]), 6, 1),
    ((2, 3), 6, 1),
    ((2, 3, 4), 24, 1),
    ((2, 3, 4, 2), 48, 1),
]


@pytest.mark.parametrize("dim, items, last", DIMS, ids=lambda v: str(v))
def test_dimensions(dim, items, last):
    o = wp.zeros(2, dtype=int)
    assert wp.launch(count, dim=dim, inputs=[o]) is None
    assert o.numpy().tolist() == [items, last]


@pytest.mark.parametrize(
    "dim, error",
    [
        (-1, ValueError),
        ((2, -3), ValueError),
        (3.0, TypeError),
        ((2.0, 3), TypeError),
        (None, TypeError),
        ("3", TypeError),
        ((1, 1, 1, 1, 1), ValueError),
        (2**31 + 5, ValueError),
    ],
    ids=lambda v: str(v),
)
def test_dimensions_that_are_refused(dim, error):
    o = wp.zeros(2, dtype=int)
    with pytest.raises(error):
        wp.launch(count, dim=dim, inputs=[o])
    assert o.numpy().tolist() == [0, 0]


def test_coordinates_past_the_launch_are_zero():
    o = wp.zeros(1, dtype=wp.vec4i)
    wp.launch(coordinates, dim=(3, 5), inputs=[o])
    assert o.numpy().tolist() == [[2, 4, 0, 0]]


@wp.kernel
def fill_index(o: wp.array(dtype=int)):
    i = wp.tid()
    o[i] = i


@pytest.mark.parametrize("n", [1, 2, 3, 255, 256, 257, 1000, 100_003])
def test_every_item_runs_once(n):
    o = wp.zeros(n, dtype=int)
    wp.launch(fill_index, dim=n, inputs=[o])
    assert np.array_equal(o.numpy(), np.arange(n))


@pytest.mark.host("GPUs have no order of items")
def test_one_thread_runs_items_in_order():
    @wp.kernel
    def order(o: wp.array(dtype=int), c: wp.array(dtype=int)):
        i = wp.tid()
        n = wp.atomic_add(c, 0, 1)
        o[n] = i

    o = wp.zeros(1000, dtype=int)
    wp.config.cpu_threads = 1
    try:
        wp.launch(order, dim=1000, inputs=[o, wp.zeros(1, dtype=int)])
    finally:
        wp.config.cpu_threads = 0
    assert np.array_equal(o.numpy(), np.arange(1000))


@wp.kernel
def scaled(a: float, o: wp.array(dtype=float)):
    o[0] = a


def test_forms_of_the_call():
    forms = [
        lambda o: wp.launch(scaled, dim=1, inputs=[1.5, o]),
        lambda o: wp.launch(scaled, dim=1, inputs=(1.5, o)),
        lambda o: wp.launch(scaled, dim=1, inputs=(x for x in (1.5, o))),
        lambda o: wp.launch(scaled, dim=1, inputs=[1.5], outputs=[o]),
        lambda o: wp.launch(scaled, 1, [1.5], [o]),
        lambda o: wp.launch(kernel=scaled, dim=1, inputs=[1.5, o], device=wp.get_device(), stream=None, block_dim=64),
        lambda o: wp.launch(scaled, dim=1, inputs=[1.5, o], device=wp.get_device()),
    ]
    for form in forms:
        o = wp.zeros(1, dtype=float)
        form(o)
        assert o.numpy()[0] == 1.5


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda o: wp.launch(scaled, dim=1, inputs=[1.0]), RuntimeError, "passed 1 arguments but kernel requires 2"),
        (lambda o: wp.launch(scaled, dim=1, inputs=[1.0, o, 3]), RuntimeError, "passed 3 arguments but kernel"),
        (lambda o: wp.launch(scaled, dim=1, inputs={"a": 1.0, "o": o}), RuntimeError, "position"),
        (lambda o: wp.launch(scaled, dim=1, a=1.0), TypeError, "unexpected keyword argument 'a'"),
        (lambda o: wp.launch(scaled, inputs=[1.0, o]), TypeError, "dim"),
        (lambda o: wp.launch(scaled, dim=1, inputs=[1.0, o], device="nowhere"), ValueError, "nowhere"),
        (lambda o: wp.launch(print, dim=1), RuntimeError, "wp.kernel"),
    ],
)
def test_calls_that_are_refused(call, error, match):
    o = wp.zeros(1, dtype=float)
    with pytest.raises(error, match=match):
        call(o)
    assert o.numpy()[0] == 0.0


def test_defaults_are_used():
    @wp.kernel
    def with_default(o: wp.array(dtype=float), a: float = 2.5):
        o[0] = a

    o = wp.zeros(1, dtype=float)
    wp.launch(with_default, dim=1, inputs=[o])
    assert o.numpy()[0] == 2.5
    wp.launch(with_default, dim=1, inputs=[o, 3.5])
    assert o.numpy()[0] == 3.5


# ---- scalars ----


def scalar_kernel(dtype):
    @wp.kernel
    def put(a: dtype, o: wp.array(dtype=dtype)):
        o[0] = a

    return put


SCALARS = {
    t: scalar_kernel(t)
    for t in [wp.bool, *wp.types.int_types, *(f for f in wp.types.float_types if f is not wp.bfloat16)]
}


def passed(dtype, value):
    o = wp.zeros(1, dtype=dtype)
    wp.launch(SCALARS[dtype], dim=1, inputs=[value, o])
    return o.numpy()[0]


@pytest.mark.parametrize("dtype", SCALARS, ids=lambda t: t.__name__)
def test_numbers_of_every_kind_are_taken(dtype):
    for value in (1, True, np.int32(1), np.int8(1), np.uint64(1), np.array(1), wp.int32(1), wp.uint8(1)):
        assert passed(dtype, value) == 1
    if dtype in wp.types.float_types:
        assert passed(dtype, 0.25) == passed(dtype, np.float64(0.25)) == passed(dtype, wp.float32(0.25)) == 0.25
        assert passed(dtype, 1e300) == (1e300 if dtype is wp.float64 else np.inf)
    for value in (None, "1", *([] if dtype is wp.bool else [[1], (1,), np.array([1])])):
        with pytest.raises(RuntimeError):
            passed(dtype, value)


@pytest.mark.parametrize("dtype", wp.types.int_types, ids=lambda t: t.__name__)
def test_ints_out_of_range_are_refused(dtype):
    bits = 8 * wp.types.type_size_in_bytes(dtype)
    signed = not dtype.__name__.startswith("u")
    name = wp.types.dtype_to_numpy(dtype)
    # The bits of -1 and of unsigned numbers are taken: masks and hashes.
    assert passed(dtype, -1) == np.array(-1).astype(name)
    assert passed(dtype, 2**bits - 1) == np.array(2**bits - 1, dtype=f"uint{bits}").astype(name)
    low = -(2 ** (bits - 1)) if signed else -1
    assert passed(dtype, low) == np.array(low).astype(name)
    for value in (2**bits, low - 1, 2**70):
        with pytest.raises(RuntimeError, match=f"{value} does not fit in {dtype.__name__}$"):
            passed(dtype, value)
    for value in (1.0, np.float32(1.0), wp.float32(1.0)):
        with pytest.raises(RuntimeError):
            passed(dtype, value)


# ---- vectors and matrices ----


@wp.kernel
def put_vec3(a: wp.vec3, o: wp.array(dtype=wp.vec3)):
    o[0] = a


@wp.kernel
def put_mat22(a: wp.mat22, o: wp.array(dtype=wp.mat22)):
    o[0] = a


@pytest.mark.parametrize(
    "value",
    [
        (1.0, 2.0, 3.0),
        [1, 2, 3],
        np.array([1.0, 2.0, 3.0]),
        np.array([1, 2, 3]),
        wp.vec3(1.0, 2.0, 3.0),
        wp.vec3d(1.0, 2.0, 3.0),
        wp.vec3i(1, 2, 3),
    ],
    ids=str,
)
def test_vectors(value):
    o = wp.zeros(1, dtype=wp.vec3)
    wp.launch(put_vec3, dim=1, inputs=[value, o])
    assert o.numpy().tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    "value", [wp.vec2(1.0, 2.0), (1.0, 2.0), 2.0, None, wp.quat(1.0, 2.0, 3.0, 4.0), np.zeros((2, 1)), "abc"], ids=str
)
def test_vectors_that_do_not_fit(value):
    with pytest.raises(RuntimeError, match="argument 'a'"):
        wp.launch(put_vec3, dim=1, inputs=[value, wp.zeros(1, dtype=wp.vec3)])


@pytest.mark.parametrize(
    "value", [[[1, 2], [3, 4]], [1, 2, 3, 4], np.array([[1.0, 2.0], [3.0, 4.0]]), wp.mat22(1.0, 2.0, 3.0, 4.0)], ids=str
)
def test_matrices(value):
    o = wp.zeros(1, dtype=wp.mat22)
    wp.launch(put_mat22, dim=1, inputs=[value, o])
    assert o.numpy().tolist() == [[[1.0, 2.0], [3.0, 4.0]]]


# ---- arrays ----


@wp.kernel
def first(a: wp.array(dtype=float), o: wp.array(dtype=float)):
    o[0] = float(a.shape[0])
    if a.shape[0] > 1:
        o[1] = a[1]


@pytest.mark.parametrize(
    "make, wanted",
    [
        (lambda: None, [0.0, 0.0]),
        (lambda: wp.zeros(0, dtype=float), [0.0, 0.0]),
        (lambda: wp.array([1.0, 2.0, 3.0, 4.0], dtype=float)[::2], [2.0, 3.0]),
    ],
)
def test_arrays(make, wanted):
    o = wp.zeros(2, dtype=float)
    wp.launch(first, dim=1, inputs=[make(), o])
    assert o.numpy().tolist() == wanted


@pytest.mark.host("memory of NumPy")
def test_numpy_arrays():
    table = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)
    for given, wanted in ((table[0], [2.0, 2.0]), (table[:, 0], [2.0, 3.0])):
        o = wp.zeros(2, dtype=float)
        wp.launch(first, dim=1, inputs=[given, o])
        assert o.numpy().tolist() == wanted


@pytest.mark.parametrize(
    "make",
    [
        lambda: [1.0, 2.0],
        lambda: 1.0,
        lambda: np.array([1.0, 2.0]),
        lambda: np.zeros((2, 2), dtype=np.float32),
        lambda: wp.zeros(2, dtype=wp.float64),
        lambda: wp.zeros(2, dtype=int),
        lambda: wp.zeros(2, dtype=wp.uint32),
        lambda: wp.zeros(2, dtype=wp.vec2),
        lambda: wp.zeros((2, 2), dtype=float),
        lambda: wp.array(dtype=float),
        lambda: wp.zeros(2, dtype=float).ptr,
    ],
)
def test_arrays_that_do_not_fit(make):
    o = wp.zeros(2, dtype=float)
    with pytest.raises(RuntimeError, match="kernel 'first', argument 'a' expects an array"):
        wp.launch(first, dim=1, inputs=[make(), o])
    assert o.numpy().tolist() == [0.0, 0.0]


@pytest.mark.host("memory of NumPy")
def test_writes_reach_numpy_arrays():
    data = np.zeros(4, dtype=np.int32)
    wp.launch(fill_index, dim=4, inputs=[data])
    assert data.tolist() == [0, 1, 2, 3]


@wp.kernel
def double_any(a: wp.array(dtype=Any), o: wp.array(dtype=Any)):
    i = wp.tid()
    o[i] = a[i] + a[i]


@pytest.mark.parametrize("dtype", [int, float, wp.float64, wp.uint8, wp.vec3, wp.mat22], ids=str)
def test_generic_kernels(dtype):
    a = wp.ones(3, dtype=dtype)
    o = wp.zeros(3, dtype=dtype)
    wp.launch(double_any, dim=3, inputs=[a, o])
    assert np.array_equal(o.numpy(), 2 * a.numpy())


def test_recorded_launches():
    o = wp.zeros(1, dtype=float)
    command = wp.launch(scaled, dim=1, inputs=[1.0, o], record_cmd=True)
    assert o.numpy()[0] == 0.0
    command.launch()
    assert o.numpy()[0] == 1.0
    command.set_param_at_index(0, 5.0)
    command.launch()
    assert o.numpy()[0] == 5.0
    command.set_param_by_name("a", 6.0)
    command.set_dim(1)
    command.launch()
    assert o.numpy()[0] == 6.0


@wp.kernel
def add_scaled(a: wp.array(dtype=float), v: wp.vec3, n: int, o: wp.array(dtype=float)):
    o[0] = a[0] * v[0] + float(n)


def test_recorded_launches_see_what_has_changed():
    a, o = wp.array([3.0], dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    v = wp.vec3(2.0)
    command = wp.launch(add_scaled, 1, [a, v, 1, o], record_cmd=True)

    def result():
        o.zero_()
        command.launch()
        return o.numpy()[0]

    assert [result() for _ in range(3)] == [7.0] * 3
    a.fill_(4.0)
    assert result() == 9.0
    v[0] = 5.0  # vectors are shared, as with Warp
    assert [result(), result()] == [21.0] * 2
    command.set_params([a, wp.vec3(1.0), 0, o])
    assert [result(), result()] == [4.0] * 2
    command.set_dim(0)
    assert [result(), result()] == [0.0] * 2
    command.set_dim(1)
    assert result() == 4.0
    with wp.Tape() as tape:
        command.launch()
    tape.backward(grads={o: wp.ones(1, dtype=float)})
    assert a.grad.numpy()[0] == 1.0
    with wp.ScopedCapture() as capture:
        command.launch()
    o.zero_()
    wp.capture_launch(capture.graph)
    assert o.numpy()[0] == 4.0


def test_recorded_launches_follow_the_settings():
    @wp.kernel
    def reaches(a: wp.array(dtype=float), n: int):
        a[n] = 1.0

    memory = wp.zeros(4, dtype=float)  # the element beyond the view can be written without harm
    command = wp.launch(reaches, 1, [memory[:2], 2], record_cmd=True)
    command.launch()
    command.launch()
    mode = wp.config.mode
    try:
        wp.config.mode = "debug"
        with pytest.raises(wp.WarpRuntimeError, match="index 2 is out of bounds"):
            command.launch()
            wp.synchronize()
    finally:
        wp.config.mode = mode


def test_asserts_in_debug_mode():
    @wp.kernel(module="unique", module_options={"mode": "debug"})
    def checked(a: wp.array(dtype=float)):
        i = wp.tid()
        assert a[i] > 0.0, "must be positive"

    @wp.kernel
    def unchecked(a: wp.array(dtype=float)):
        i = wp.tid()
        assert a[i] > 0.0, "must be positive"

    a = wp.array([1.0, 0.0, 1.0], dtype=float)
    wp.launch(unchecked, dim=3, inputs=[a])
    with pytest.raises(wp.WarpRuntimeError, match=r"in thread \(1\): must be positive"):
        wp.launch(checked, dim=3, inputs=[a])
        wp.synchronize()
    a.fill_(1.0)
    wp.launch(checked, dim=3, inputs=[a])


def test_printf_goes_to_standard_output(capfd):
    @wp.kernel
    def say(x: float):
        wp.printf("x is %f, tid %d\n", x, wp.tid())

    wp.launch(say, dim=1, inputs=[1.5])
    wp.synchronize()
    assert capfd.readouterr().out == "x is 1.500000, tid 0\n"


def test_a_postponed_annotation_works():
    from tests_postponed import postponed

    o = wp.zeros(2, dtype=float)
    wp.launch(postponed, dim=2, inputs=[o, 2.0])
    assert o.numpy().tolist() == [2.0, 2.0]


@pytest.mark.host("two backends")
def test_a_backend_that_fails_can_be_changed(monkeypatch):
    @wp.kernel
    def fill(o: wp.array(dtype=int)):
        o[wp.tid()] = 7

    o = wp.zeros(2, dtype=int)
    before = wp.config.cpu_backend
    monkeypatch.setenv("WEFT_CXX", "/nowhere/c++")
    try:
        wp.config.cpu_backend = "cxx"
        with pytest.raises(Exception, match="no C\\+\\+ compiler"):
            wp.launch(fill, dim=2, inputs=[o])
    finally:
        wp.config.cpu_backend = "llvm" if before in ("", "llvm") else before
    wp.launch(fill, dim=2, inputs=[o])
    wp.config.cpu_backend = before
    assert o.numpy().tolist() == [7, 7]


# ---- clusters of blocks, which are of GPUs ----


def test_cluster_dim_is_checked_and_ignored_on_the_cpu():
    @wp.kernel(cluster_dim=4, module="unique")
    def kernel(a: wp.array[int]):
        i = wp.tid()
        a[i] = i

    assert kernel.options["cluster_dim"] == 4 and wp.get_cuda_max_cluster_dim(kernel, "cpu") == 1
    a = wp.zeros(5, dtype=int, device="cpu")
    wp.launch(kernel, 5, [a], device="cpu")
    np.testing.assert_array_equal(a.numpy(), np.arange(5))
    for bad, error in ((0, ValueError), (17, ValueError), ((2, 1, 1), TypeError), (True, TypeError)):
        with pytest.raises(error, match="cluster_dim"):
            wp.kernel(cluster_dim=bad)(kernel.func)

    @wp.kernel(module="unique")
    def of_module(a: wp.array[int]):
        a[wp.tid()] = 0

    assert "cluster_dim" not in of_module.options
    of_module.module.options["cluster_dim"] = 17
    with pytest.raises(ValueError, match="cluster_dim is a number from 1 to 16, found 17"):
        wp.launch(of_module, 1, [a], device="cpu")
