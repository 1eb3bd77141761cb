"""Gradients through Tape: closed forms, finite differences, what is recorded, and what is refused."""

import warnings

import numpy as np
import pytest

import warp as wp


@wp.kernel
def square(a: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = a[i] * a[i]


@wp.kernel
def sum_of_squares(a: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(o, 0, a[i] * a[i])


def record(kernel, dim, *arguments):
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim=dim, inputs=arguments)
    return tape


def leaf(values, dtype=float):
    return wp.array(values, dtype=dtype, requires_grad=True)


def made(n, dtype=float):
    return wp.zeros(n, dtype=dtype, requires_grad=True)


# ---- seeds, accumulation, clearing ----


def test_a_loss_is_seeded_with_one():
    a, o = leaf([1.0, 2.0, 3.0]), made(1)
    tape = record(sum_of_squares, 3, a, o)
    assert o.numpy()[0] == 14.0
    tape.backward(o)
    assert a.grad.numpy().tolist() == [2.0, 4.0, 6.0] and o.grad.numpy().tolist() == [1.0]
    assert len(tape.gradients) == 2 and tape.gradients[a] is a.grad
    tape.backward(o)  # adds
    assert a.grad.numpy().tolist() == [4.0, 8.0, 12.0] and o.grad.numpy().tolist() == [1.0]
    tape.zero()
    assert a.grad.numpy().tolist() == [0.0] * 3 and o.grad.numpy().tolist() == [0.0]
    tape.backward(o)
    assert a.grad.numpy().tolist() == [2.0, 4.0, 6.0]
    tape.reset()
    assert a.grad.numpy().tolist() == [0.0] * 3
    tape.backward(o)
    assert a.grad.numpy().tolist() == [0.0] * 3


@pytest.mark.parametrize("make", [lambda s: wp.array(s, dtype=float), lambda s: np.array(s, dtype=np.float32)])
def test_seeds(make):
    a, o = leaf([1.0, 2.0, 3.0]), made(3)
    tape = record(square, 3, a, o)
    tape.backward(grads={o: make([1.0, 10.0, 100.0])})
    assert a.grad.numpy().tolist() == [2.0, 40.0, 600.0] and o.grad.numpy().tolist() == [0.0] * 3


def test_without_a_seed_there_is_no_gradient():
    a, o = leaf([1.0, 2.0, 3.0]), made(3)
    tape = record(square, 3, a, o)
    tape.backward()
    assert a.grad.numpy().tolist() == [0.0] * 3
    o.grad.fill_(1.0)
    tape.backward()
    assert a.grad.numpy().tolist() == [2.0, 4.0, 6.0]


def test_what_is_refused():
    a, o = leaf([1.0, 2.0, 3.0]), made(3)
    tape = record(square, 3, a, o)
    with pytest.raises(RuntimeError, match="one element"):
        tape.backward(o)
    with pytest.raises(RuntimeError, match="requires_grad"):
        tape.backward(wp.zeros(1, dtype=float))
    with pytest.raises(AttributeError):
        tape.backward(2.0)
    with pytest.raises(RuntimeError, match="shape"):
        tape.backward(grads={o: wp.ones(1, dtype=float)})
    with pytest.raises(RuntimeError, match="nested"), wp.Tape(), wp.Tape():
        pass
    # The failed entry has left no tape behind.
    with wp.Tape():
        pass


def test_launches_outside_are_not_recorded():
    a, o = leaf([1.0, 2.0, 3.0]), made(3)
    tape = wp.Tape()
    wp.launch(square, dim=3, inputs=[a, o])
    with tape:
        wp.launch(square, dim=3, inputs=[a, o], record_tape=False)
    assert tape.launches == []
    o.grad.fill_(1.0)
    tape.backward()
    assert a.grad.numpy().tolist() == [0.0] * 3


def test_arrays_without_gradient_get_none():
    a, b, o = leaf([1.0, 2.0]), wp.array([3.0, 4.0], dtype=float), made(1)

    @wp.kernel
    def product(a: wp.array(dtype=float), b: wp.array(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_add(o, 0, a[i] * b[i])

    record(product, 2, a, b, o).backward(o)
    assert a.grad.numpy().tolist() == [3.0, 4.0] and b.grad is None


def test_disabled_gradients_warn():
    @wp.kernel(enable_backward=False)
    def double(a: wp.array(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        o[i] = a[i] * 2.0

    a, o = leaf([1.0]), made(1)
    tape = record(double, 1, a, o)
    with pytest.warns(UserWarning, match="enable_backward"):
        tape.backward(o)
    assert a.grad.numpy().tolist() == [0.0]


def test_the_adjoint_can_be_launched_by_hand():
    a, o = leaf([1.0, 2.0, 3.0]), made(3)
    o.grad.fill_(1.0)
    wp.launch(square, dim=3, inputs=[a], outputs=[o], adjoint=True)
    assert a.grad.numpy().tolist() == [2.0, 4.0, 6.0]
    mine, seed = wp.zeros(3, dtype=float), wp.full(3, 2.0, dtype=float)
    wp.launch(square, dim=3, inputs=[a], outputs=[o], adj_inputs=[mine], adj_outputs=[seed], adjoint=True)
    assert mine.numpy().tolist() == [4.0, 8.0, 12.0] and a.grad.numpy().tolist() == [2.0, 4.0, 6.0]


def test_gradient_attributes():
    a = wp.array([1.0], dtype=float)
    assert a.grad is None and not a.requires_grad
    a.requires_grad = True
    assert a.grad.numpy().tolist() == [0.0]
    a.requires_grad = False
    assert a.grad is None
    b = leaf([1.0, 2.0, 3.0])
    b[1:].grad.fill_(5.0)
    assert b.grad.numpy().tolist() == [0.0, 5.0, 5.0]
    assert b.reshape((3, 1)).grad.shape == (3, 1) and wp.clone(b).requires_grad and (b + b).requires_grad
    with pytest.raises(ValueError):
        b.grad = wp.zeros(2, dtype=float)
    grad = wp.zeros(3, dtype=float)
    b.grad = grad
    assert b.grad is grad


def test_copies_operators_and_functions_are_recorded():
    a, b, c = leaf([1.0, 2.0, 3.0]), made(3), made(3)
    tape = wp.Tape()
    with tape:
        wp.launch(square, dim=3, inputs=[a, b])
        wp.copy(c, b)
        d = c * b + 1.0
        e = wp.clone(d)
    e.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(a.grad.numpy(), 4 * a.numpy() ** 3)
    calls = []
    other = wp.Tape()
    other.record_func(lambda: calls.append(1), [a])
    other.backward()
    assert calls == [1]


def test_an_operator_in_place():
    a, o = leaf([1.0, 2.0]), made(2)

    @wp.kernel
    def plain(a: wp.array(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        o[i] = a[i]

    tape = wp.Tape()
    with tape:
        wp.launch(plain, dim=2, inputs=[a, o])
        o += a
    o.grad.fill_(1.0)
    tape.backward()
    assert o.numpy().tolist() == [2.0, 4.0] and a.grad.numpy().tolist() == [2.0, 2.0]


# ---- overwritten values ----


def test_an_input_overwritten_after_the_launch_is_saved_before():
    for overwrite in (
        lambda a: a.fill_(10.0),
        lambda a: a.zero_(),
        lambda a: a.assign([9.0, 9.0, 9.0]),
        lambda a: wp.copy(a[1:], wp.ones(2, dtype=float)),
        lambda a: wp.launch(square, dim=3, inputs=[wp.ones(3, dtype=float), a]),
    ):
        a, o = leaf([1.0, 2.0, 3.0]), made(3)
        tape = record(square, 3, a, o)
        overwrite(a)
        o.grad.fill_(1.0)
        tape.backward()
        assert a.grad.numpy().tolist() == [2.0, 4.0, 6.0]
        a.fill_(5.0)  # saved once: a later write is none of its business
        a.grad.zero_()
        o.grad.fill_(1.0)
        tape.backward()
        assert a.grad.numpy().tolist() == [2.0, 4.0, 6.0]


def test_a_state_that_every_step_overwrites():
    @wp.kernel
    def grow(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] *= x[i]

    x, o = leaf([1.5, -0.5, 0.25]), made(3)
    start = x.numpy().copy()
    tape = wp.Tape()
    with tape:
        for _ in range(3):
            wp.launch(grow, dim=3, inputs=[x])
        wp.copy(o, x)
    o.grad.fill_(1.0)
    for _ in range(2):  # running backwards uses nothing up
        x.grad.zero_()
        o.grad.fill_(1.0)
        tape.backward()
        np.testing.assert_allclose(x.grad.numpy(), 8.0 * start**7, rtol=1e-5)


@wp.struct
class Inner:
    b: wp.array(dtype=float)


@wp.struct
class State:
    n: int
    a: wp.array(dtype=float)
    inner: Inner
    scale: float


@wp.kernel
def squares_of_struct(s: State, o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = s.scale * s.a[i] * s.a[i] * s.inner.b[i]


@wp.kernel
def grow_in_struct(s: State):
    i = wp.tid()
    s.a[i] = s.a[i] * s.a[i] * s.inner.b[i]


def state():
    s = State()
    s.a, s.inner.b, s.scale, s.n = leaf([1.0, 2.0, 3.0]), leaf([2.0, 1.0, 0.5]), 3.0, 7
    return s


def test_an_overwritten_array_inside_a_struct_is_saved():
    s, o = state(), made(3)
    tape = record(squares_of_struct, 3, s, o)
    s.a.zero_()
    s.inner.b.fill_(9.0)
    o.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(s.a.grad.numpy(), [12.0, 12.0, 9.0])
    np.testing.assert_allclose(s.inner.b.grad.numpy(), [3.0, 12.0, 27.0])


def test_a_struct_may_be_changed_after_the_launch():
    """Its members are those of the launch: arrays of other names, numbers of other values come later."""
    s, o = state(), made(3)
    a = s.a
    tape = record(squares_of_struct, 3, s, o)
    s.a, s.scale, s.inner.b = leaf([7.0, 7.0, 7.0]), 100.0, leaf([0.0, 0.0, 0.0])
    o.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(a.grad.numpy(), [12.0, 12.0, 9.0])
    assert s.a.grad.numpy().tolist() == [0.0] * 3


def test_an_array_inside_a_struct_that_the_kernel_itself_overwrites():
    s = state()
    start, b = s.a.numpy().copy(), s.inner.b.numpy().copy()
    tape = wp.Tape()
    with tape:
        for _ in range(3):
            wp.launch(grow_in_struct, 3, [s])
    for _ in range(2):
        s.a.grad.fill_(1.0)
        s.inner.b.grad.zero_()
        tape.backward()
        np.testing.assert_allclose(s.a.grad.numpy(), 8.0 * start**7 * b**7, rtol=1e-5)
        np.testing.assert_allclose(s.inner.b.grad.numpy(), 7.0 * start**8 * b**6, rtol=1e-5)


# ---- writes that no tape can see ----


def unseen_by_numpy(a):
    view = a.numpy()
    return lambda: view.__setitem__(slice(None), 9.0)


def unseen_by_interface(a):
    view = np.asarray(a)
    return lambda: view.__setitem__(slice(None), 9.0)


def unseen_by_dlpack(a):
    view = np.from_dlpack(a)
    if not view.flags.writeable:
        view = a.numpy()
    return lambda: view.__setitem__(slice(None), 9.0)


def unseen_by_pointer(a):
    import ctypes

    place = ctypes.cast(a.ptr, ctypes.POINTER(ctypes.c_float))
    return lambda: place.__setitem__(1, 9.0)


@pytest.mark.host("memory of NumPy")
@pytest.mark.parametrize("export", [unseen_by_numpy, unseen_by_interface, unseen_by_dlpack, unseen_by_pointer])
@pytest.mark.parametrize("early", [True, False])
def test_a_write_that_no_tape_can_see_is_found(export, early):
    a, o = leaf([1.0, 2.0, 3.0]), made(3)
    if early:
        write = export(a)
    tape = record(square, 3, a, o)
    if not early:
        write = export(a)
    o.grad.fill_(1.0)
    tape.backward()  # nothing has been written yet
    assert a.grad.numpy().tolist() == [2.0, 4.0, 6.0]
    write()
    with pytest.raises(wp.WarpGradientError) as caught:
        tape.backward()
    message = str(caught.value)
    assert "'square'" in message and "'a'" in message
    assert "o[i] = a[i] * a[i]" in caught.value.text  # the line that needs the values
    assert "test_tape.py:" in message.split("given away at ")[1]  # the line where the view was made


@pytest.mark.host("memory of NumPy")
def test_a_write_that_no_tape_can_see_before_one_that_it_sees():
    a, o = leaf([1.0, 2.0, 3.0]), made(3)
    view = a.numpy()
    tape = record(square, 3, a, o)
    view[:] = 9.0
    a.zero_()
    o.grad.fill_(1.0)
    with pytest.raises(wp.WarpGradientError, match=r"'square', launched at .*test_tape.py:\d+, .*'a' .*overwritten"):
        tape.backward()


@pytest.mark.host("memory of NumPy")
def test_memory_borrowed_from_numpy_is_compared():
    data = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    a, o = wp.array(data, dtype=float, copy=False, requires_grad=True), made(3)
    tape = record(square, 3, a, o)
    data[1] = 5.0
    with pytest.raises(wp.WarpGradientError, match="borrowed"):
        tape.backward(grads={o: np.ones(3, dtype=np.float32)})


def test_values_that_are_not_needed_may_be_written_unseen():
    a, o = leaf([1.0, 2.0, 3.0]), made(3)
    view = o.numpy()
    tape = record(square, 3, a, o)
    view[:] = 0.0
    tape.backward(grads={o: np.ones(3, dtype=np.float32)})
    assert a.grad.numpy().tolist() == [2.0, 4.0, 6.0]


@pytest.mark.host("memory of NumPy")
def test_a_view_that_is_gone_is_no_danger():
    a = leaf([1.0, 2.0, 3.0])
    assert not a._exported
    view = a.numpy()[1:]
    assert a._exported
    del view
    assert not a._exported
    assert a.ptr
    assert a._exported


@pytest.mark.host("memory of NumPy")
def test_writes_between_steps_of_training_are_no_mistake():
    """Between the end of one tape and the next anything may be written."""
    a, o = leaf([1.0, 2.0, 3.0]), made(3)
    for value in (2.0, 5.0):
        a.numpy()[:] = value
        a.grad.zero_()
        tape = record(square, 3, a, o)
        tape.backward(grads={o: np.ones(3, dtype=np.float32)})
        assert a.grad.numpy().tolist() == [2.0 * value] * 3


# ---- atomics ----


@pytest.mark.parametrize("largest", [True, False])
def test_extremes_go_to_the_winner_over_all_launches(largest):
    """Of three launches on one array only the one that won has a gradient; what was there before, if it stayed."""

    @wp.kernel
    def highest(x: wp.array(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_max(o, i % 2, x[i])

    @wp.kernel
    def lowest(x: wp.array(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_min(o, i % 2, -x[i])

    kernel, sign = (highest, 1.0) if largest else (lowest, -1.0)
    start = leaf([sign * 6.0, 0.0])
    parts = [leaf(v) for v in ([1.0, 2.0, 5.0, 3.0], [4.0, 9.0, 4.0, 9.0], [0.0, 8.0, 1.0, 1.0])]
    o = made(2)
    tape = wp.Tape()
    with tape:
        wp.copy(o, start)
        for part in parts:
            wp.launch(kernel, 4, [part, o])
    assert o.numpy().tolist() == [sign * 6.0, sign * 9.0]
    o.zero_()
    tape.backward(grads={o: np.array([10.0, 100.0], dtype=np.float32)})
    assert start.grad.numpy().tolist() == [10.0, 0.0]
    found = [p.grad.numpy().tolist() for p in parts]
    assert found == [[0.0] * 4, [0.0, sign * 100.0, 0.0, sign * 100.0], [0.0] * 4]


def test_exchange_is_refused_by_name():
    @wp.kernel
    def swap(x: wp.array(dtype=float), o: wp.array(dtype=float)):
        wp.atomic_exch(o, 0, x[0] * x[0])

    tape = record(swap, 1, leaf([2.0]), made(1))
    with pytest.raises(wp.WarpGradientError, match="no derivative for atomic exch"):
        tape.backward()


@pytest.mark.host("in graphs of GPUs what is overwritten is saved: test_cuda")
def test_what_a_captured_graph_overwrites_is_refused():
    @wp.kernel
    def grow(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] *= x[i]

    a, o = leaf([1.0, 2.0, 3.0]), made(3)
    with wp.ScopedCapture() as capture:
        tape = record(square, 3, a, o)
        o.grad.fill_(1.0)
        a.grad.zero_()
        tape.backward()
    for _ in range(2):
        wp.capture_launch(capture.graph)
        assert a.grad.numpy().tolist() == [2.0, 4.0, 6.0]
    for overwrite in (lambda: a.fill_(3.0), lambda: wp.launch(grow, 3, [a]), lambda: wp.copy(a, o)):
        with pytest.raises(wp.WarpGradientError, match="graph that is captured"), wp.ScopedCapture():
            tape = record(square, 3, a, o)
            overwrite()
            tape.backward()


def test_values_that_the_derivative_does_not_need_may_be_overwritten():
    a, o = leaf([1.0, 2.0, 3.0]), made(3)

    @wp.kernel
    def triple(a: wp.array(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        o[i] = 3.0 * a[i]

    tape = record(triple, 3, a, o)
    a.fill_(10.0)
    o.fill_(0.0)
    o.grad.fill_(1.0)
    tape.backward()
    assert a.grad.numpy().tolist() == [3.0] * 3


def test_other_parts_of_a_buffer_may_be_overwritten():
    states = made((5, 3))
    states[0].assign([1.0, 2.0, 0.5])
    tape = wp.Tape()
    with tape:
        for t in range(4):
            wp.launch(square, dim=3, inputs=[states[t], states[t + 1]])
    states[4].grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(states.grad.numpy()[0], 16 * states.numpy()[0] ** 15)


def test_a_value_that_the_kernel_itself_overwrites_is_restored():
    @wp.kernel
    def overwrites(a: wp.array(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        x = a[i]
        o[i] = x * x
        a[i] = 7.0

    a, o = leaf([1.0, 2.0]), made(2)
    tape = record(overwrites, 2, a, o)
    o.grad.fill_(1.0)
    tape.backward()
    assert a.grad.numpy().tolist() == [2.0, 4.0] and a.numpy().tolist() == [7.0, 7.0]
    with pytest.raises(wp.WarpGradientError, match="record the launch with a Tape"):
        wp.launch(overwrites, dim=2, inputs=[a, o], adjoint=True)


def test_the_result_of_an_atomic_on_floats_is_refused():
    @wp.kernel
    def running_sum(a: wp.array(dtype=float), total: wp.array(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        before = wp.atomic_add(total, 0, a[i])
        o[i] = before * before

    a, o = leaf([1.0, 2.0]), made(2)
    tape = record(running_sum, 2, a, made(1), o)
    o.grad.fill_(1.0)
    with pytest.raises(wp.WarpGradientError) as caught:
        tape.backward()
    assert "before = wp.atomic_add" in caught.value.text


# ---- loops ----


@wp.kernel
def product_of(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    prod = float(1.0)
    for i in range(n):
        prod *= x[i]
    o[0] = prod


def test_a_product_in_a_run_time_loop():
    x, o = leaf([2.0, 2.0, 2.0]), made(1)
    record(product_of, 1, x, 3, o).backward(o)
    assert o.numpy().tolist() == [8.0] and x.grad.numpy().tolist() == [4.0, 4.0, 4.0]


@pytest.mark.parametrize("count", [0, 1, 17, 1000])
def test_products_of_any_length(count):
    values = 1.0 + 0.01 * np.cos(np.arange(max(count, 1)))
    x, o = leaf(values), made(1)
    record(product_of, 1, x, count, o).backward(o)
    values = x.numpy().astype(np.float64)[:count]
    np.testing.assert_allclose(o.numpy()[0], np.prod(values), rtol=1e-4)
    np.testing.assert_allclose(x.grad.numpy()[:count], np.prod(values) / values, rtol=1e-4)


@wp.kernel
def mixed_loop(x: wp.array(dtype=wp.float64), n: int, o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    s = wp.float64(0.1)
    for j in range(n):
        if j % 3 == 1:
            continue
        s = s * x[i] + wp.sin(s)
        if s > wp.float64(50.0):
            break
    k = int(0)  # noqa: RUF046 - a variable, not a constant
    while k < n:
        s = s + x[(i + k) % 3] * x[i]
        k += 1
    o[i] = s


@wp.kernel
def early_return(x: wp.array(dtype=wp.float64), n: int, o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    o[i] = x[i] * x[i]
    if i == n:
        return
    o[i] = wp.exp(x[i]) / x[i]


@wp.func
def curve(x: wp.float64, n: int):
    y = x
    for _ in range(n):
        y = y * x + wp.float64(1.0)
    return y, wp.sqrt(y * y + wp.float64(1.0))


@wp.kernel
def through_functions(x: wp.array(dtype=wp.float64), n: int, o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    a, b = curve(x[i], n)
    c, d = curve(b, 1)
    o[i] = a * d + c


@wp.kernel
def vectors(x: wp.array(dtype=wp.float64), n: int, o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    v = wp.vec3d(x[i], x[i] * x[i], wp.float64(0.5))
    for _ in range(n):
        v = wp.cross(v, wp.vec3d(x[i], wp.float64(1.0), v[0])) * wp.float64(0.5)
        v[1] = v[1] * x[i]
    m = wp.outer(v, v)
    o[i] = wp.length(v) + wp.dot(m * v, v) + wp.normalize(v)[2]


@wp.kernel
def nested(x: wp.array(dtype=wp.float64), n: int, o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    s = wp.float64(1.0)
    for a in range(n):
        t = wp.float64(0.0)
        for b in range(a):
            t += s * x[i] * wp.float64(b) * wp.float64(0.01)
        s += wp.sin(t) * x[i]
    o[i] = s


def finite_differences(kernel, x, n, step=1e-6):
    """d sum(o) / dx, in float64."""

    def total(values):
        o = wp.zeros(len(values), dtype=wp.float64)
        wp.launch(kernel, dim=len(values), inputs=[wp.array(values, dtype=wp.float64), n, o])
        return o.numpy().sum()

    out = np.zeros_like(x)
    for k in range(len(x)):
        ahead, behind = x.copy(), x.copy()
        ahead[k] += step
        behind[k] -= step
        out[k] = (total(ahead) - total(behind)) / (2 * step)
    return out


@pytest.mark.parametrize("count", [0, 1, 2, 5, 17])
@pytest.mark.parametrize("kernel", [mixed_loop, early_return, through_functions, vectors, nested], ids=lambda k: k.key)
def test_gradients_against_finite_differences(kernel, count):
    if kernel is through_functions and count > 5:
        count = 5  # the polynomial grows out of range
    x = np.array([0.7, 0.9, 1.1])
    a, o = leaf(x, wp.float64), made(3, wp.float64)
    tape = record(kernel, 3, a, count, o)
    o.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(a.grad.numpy(), finite_differences(kernel, x, count), rtol=2e-6, atol=1e-7)


def test_a_derivative_by_hand():
    @wp.func
    def clipped(x: float):
        return wp.max(x, 0.0)

    @wp.func_grad(clipped)
    def adj_clipped(x: float, adj: float):
        wp.adjoint[x] += adj * 10.0

    @wp.kernel
    def uses(a: wp.array(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        o[i] = clipped(a[i])

    a, o = leaf([1.0, -1.0]), made(2)
    tape = record(uses, 2, a, o)
    o.grad.fill_(1.0)
    tape.backward()
    assert o.numpy().tolist() == [1.0, 0.0] and a.grad.numpy().tolist() == [10.0, 10.0]


def test_many_items_add_into_one_gradient():
    n = 10_000
    a, o = leaf([2.0]), made(n)

    @wp.kernel
    def spread(a: wp.array(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        o[i] = a[0] * float(i % 7)

    tape = record(spread, n, a, o)
    o.grad.fill_(1.0)
    tape.backward()
    assert a.grad.numpy()[0] == sum(i % 7 for i in range(n))


def test_warnings_are_not_raised_without_need():
    a, o = leaf([1.0, 2.0]), made(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record(sum_of_squares, 2, a, o).backward(o)


# ---- seeds, generations, retained gradients, scopes ----


@wp.kernel
def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def thrice_of_some(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if i % 2 == 0:
        y[i] = 3.0 * x[i]


def test_a_seed_for_an_array_without_gradient():
    x, y = leaf([1.0, 2.0]), wp.zeros(2, dtype=float)
    tape = record(square, 2, x, y)
    seed = wp.ones(2, dtype=float)
    for times in (1, 2):
        tape.backward(grads={y: seed})
        assert x.grad.numpy().tolist() == [2.0 * times, 4.0 * times]
    assert y.grad is None and seed.numpy().tolist() == [1.0, 1.0]


def test_what_is_not_used_up_is_the_gradient_of_what_was_there_before():
    x, y = leaf([1.0, 1.0, 1.0]), leaf([5.0, 5.0, 5.0])
    tape = record(thrice_of_some, 3, x, y)
    tape.backward(grads={y: wp.ones(3, dtype=float)})
    assert x.grad.numpy().tolist() == [3.0, 0.0, 3.0]
    assert y.grad.numpy().tolist() == [0.0, 1.0, 0.0]  # y[1] is what it was


def test_a_retained_gradient_of_several_writes_is_that_of_the_last():
    a, b, y, z = leaf([1.0, 1.0]), leaf([1.0, 1.0]), made(2), made(2)
    y.retain_grad = True
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, [a, y])  # overwritten: no gradient
        wp.launch(twice, 2, [b, y])
        wp.launch(square, 2, [y, z])
    for times in (1, 2):  # a gradient that was put back is no seed
        tape.backward(grads={z: wp.ones(2, dtype=float)})
        assert a.grad.numpy().tolist() == [0.0, 0.0]
        assert b.grad.numpy().tolist() == [8.0 * times, 8.0 * times]
        assert y.grad.numpy().tolist() == [4.0, 4.0] and z.grad.numpy().tolist() == [0.0, 0.0]


def test_older_generations_keep_all_gradients(monkeypatch):
    monkeypatch.setattr(wp.config, "api_version", "1.4")
    x, y, z = leaf([1.0, 3.0]), made(2), made(2)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, [x, y])
        wp.launch(twice, 2, [y, z])
    tape.backward(grads={z: wp.ones(2, dtype=float)})
    assert x.grad.numpy().tolist() == [4.0, 12.0]
    assert y.grad.numpy().tolist() == [2.0, 2.0] and z.grad.numpy().tolist() == [1.0, 1.0]


def test_a_tape_may_be_entered_again():
    x, y, z = leaf([1.0, 3.0]), made(2), made(2)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, [x, y])
    wp.launch(twice, 2, [x, z])  # not recorded
    with tape:
        wp.launch(twice, 2, [y, z])
    tape.backward(grads={z: wp.ones(2, dtype=float)})
    assert x.grad.numpy().tolist() == [4.0, 12.0]


def test_backward_inside_another_tape_records_nothing():
    x, y = leaf([1.0, 3.0]), made(2)
    inner = record(square, 2, x, y)
    outer = wp.Tape()
    with outer:
        inner.backward(grads={y: wp.ones(2, dtype=float)})
        y.grad.fill_(0.0)
    assert outer.launches == [] and x.grad.numpy().tolist() == [2.0, 6.0]


def test_gradients_of_structs():
    s, o = state(), made(3)
    tape = record(squares_of_struct, 3, s, o)
    tape.backward(grads={o: wp.ones(3, dtype=float)})
    np.testing.assert_allclose(tape.gradients[s].a.numpy(), [12.0, 12.0, 9.0])
    assert tape.get_adjoint(s).a is s.a.grad and tape.get_adjoint(o) is o.grad
    tape.reset()
    assert tape.gradients[s].inner.b.numpy().tolist() == [0.0] * 3 and tape.launches == []


def test_scopes_and_pictures():
    x, y = leaf([1.0, 3.0]), made(2)
    tape = wp.Tape()
    with pytest.raises(RuntimeError, match="scope not present"):
        tape.record_scope_end()
    with tape:
        tape.record_scope_begin("outer", {"n": 1})
        tape.record_scope_begin("empty")
        tape.record_scope_end()
        for _ in range(5):
            wp.launch(square, 2, [x, y])
        tape.record_scope_end()
    assert tape.scopes == [(0, "outer", {"n": 1}), (5, None, None)]
    text = tape.visualize(array_labels={x: "the input"})
    assert text.count("repeated 5x") == 1 and "the input" in text and '"outer"' in text
    assert text.count("{") == text.count("}") and "array: dtype=float32" in text
    assert tape.visualize(simplify_graph=False).count('label="square"') == 5


def test_gradients_of_their_own_add_to_members_of_structs_in_loops():
    @wp.struct
    class Pair:
        v: wp.vec3
        s: float

    @wp.func
    def weigh(p: Pair, n: int):
        return p.s * p.v[1]

    @wp.func_grad(weigh)
    def adj_weigh(p: Pair, n: int, adj: float):
        for _ in range(n):
            wp.adjoint[p.v][1] += adj * p.s / float(n)
            wp.adjoint[p.s] += adj * p.v[1] / float(n)
        wp.adjoint[p.v].x = 7.0 * adj

    @wp.kernel
    def apply(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
        p = Pair()
        p.v = wp.vec3(x[0], x[1], x[2])
        p.s = x[3]
        o[0] = weigh(p, n)

    x, o = leaf([1.0, 2.0, 3.0, 4.0]), made(1)
    record(apply, 1, x, 4, o).backward(o)
    np.testing.assert_allclose(x.grad.numpy(), [7.0, 4.0, 0.0, 2.0])


@wp.kernel
def doubled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


def test_an_adjoint_by_hand_leaves_the_gradients_that_it_is_given():
    """Other libraries own them: PyTorch hands the same buffer to several functions."""
    x, y = wp.ones(3, device="cpu"), wp.zeros(3, device="cpu")
    given = wp.full(6, 5.0, device="cpu")[::2]
    for _ in range(2):
        gradient = wp.zeros(3, device="cpu")
        wp.launch(doubled, 3, [x], [y], adj_inputs=[gradient], adj_outputs=[given], device="cpu", adjoint=True)
        assert gradient.numpy().tolist() == [10.0] * 3
        assert given.numpy().tolist() == [5.0] * 3


def test_clearing_takes_each_gradient_once(monkeypatch):
    x, y = (wp.zeros(3, dtype=float, requires_grad=True) for _ in range(2))
    tape = wp.Tape()
    with tape:
        for _ in range(5):
            wp.copy(y, x)
    cleared = []
    monkeypatch.setattr(wp.array, "_zero", lambda a: cleared.append(a))
    tape.zero()
    assert sorted(map(id, cleared)) == sorted([id(x.grad), id(y.grad)])
