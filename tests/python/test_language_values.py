"""Loops over values, tuples, operators of the user, statics and wp.grad: values from closed forms and plain Python."""

import enum

import numpy as np
import pytest

import warp as wp


def run(kernel, *inputs, size=8, dtype=float):
    out = wp.zeros(size, dtype=dtype)
    wp.launch(kernel, dim=1, inputs=[*inputs, out])
    return out.numpy().tolist()


class Colour(enum.IntEnum):
    RED = 1
    GREEN = 2
    BLUE = 4


@wp.kernel
def loops_over_values(v: wp.vec3, m: wp.mat22, out: wp.array(dtype=float)):
    for x in v:
        out[0] += x * x
    for row in m:
        out[1] += row[0] * row[1]
    t = (1, 2.5, wp.vec2(3.0, 4.0))
    out[2] = float(len(t)) + t[2][1]
    for pair in ((1.0, 2.0), (3.0, 4.0)):
        a, b = pair
        out[3] += a * b
    for a, b in ((1.0, 2.0), (3.0, 4.0)):
        out[4] += a + b
    for c in Colour:
        out[5] = out[5] * 10.0 + float(c)
    for i in reversed(range(1, 8, 3)):
        out[6] = out[6] * 10.0 + float(i)
    x = y = v[0]
    out[7] = x + y


def test_loops_over_values():
    out = run(loops_over_values, wp.vec3(1.0, 2.0, 3.0), wp.mat22(1.0, 2.0, 3.0, 4.0))
    assert out == [14, 14, 7, 14, 10, 124, 741, 2]


@wp.kernel
def nested_targets(v: wp.vec2, out: wp.array(dtype=float)):
    a, (b, (c, out[4])), d = 1.0, (2.0, (3.0, 4.0)), v
    for i, (x, y) in ((1, (2.0, 3.0)), (4, (5.0, 6.0))):
        out[3] += float(i) * x + y
    (e, f), g = v, a
    out[0] = a + 10.0 * b + 100.0 * c
    out[1] = d[1] + e * f
    out[2] = g


def test_nested_targets():
    assert run(nested_targets, wp.vec2(5.0, 6.0)) == [321, 36, 1, 31, 4, 0, 0, 0]


@wp.kernel
def statics_in_loops(out: wp.array(dtype=float)):
    for i in range(20):
        if wp.static(i % 3 == 0):
            continue
        if wp.static(i > 7):
            break
        out[0] += wp.static(float(i))
    n = 4
    out[1] = wp.static(float(n * 2))
    v = wp.vec3(1.0, 2.0, 3.0)
    out[2] = float(wp.static(len(v) + 1))


def test_statics_unroll_their_loops_and_see_literals_and_lengths():
    assert run(statics_in_loops)[:3] == [sum(i for i in range(8) if i % 3), 8, 4]


@wp.kernel
def left_at_run_time(n: int, out: wp.array(dtype=float)):
    for i in range(3):
        if i == n:
            break
        out[0] += wp.static(float(i))


def test_a_loop_with_a_static_cannot_be_left_at_run_time():
    with pytest.raises(wp.WarpSyntaxError, match="unrolled"):
        run(left_at_run_time, 1)


@wp.struct
class Inner:
    scale: wp.float64
    offset: wp.vec2


@wp.struct
class Outer:
    inner: Inner
    flag: int


def test_struct_constants_keep_their_types():
    value = Outer()
    value.inner.scale, value.inner.offset, value.flag = 0.1, wp.vec2(-1.0, 4.0), 7

    @wp.kernel(module="unique")
    def kernel(scale: wp.array(dtype=wp.float64), out: wp.array(dtype=float)):
        scale[0] = wp.static(value).inner.scale
        out[0] = wp.static(value).inner.offset[1]
        out[1] = float(wp.static(value).flag)

    scale = wp.zeros(1, dtype=wp.float64)
    assert run(kernel, scale)[:2] == [4, 7]
    assert scale.numpy()[0] == 0.1


@wp.func
def add(a: Inner, b: Inner):
    return Inner(a.scale + b.scale, a.offset + b.offset)


@wp.func
def mul(a: wp.vec2, b: wp.vec2):
    return wp.vec2(a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])


@wp.func
def div(a: float, b: float):
    return a / b + 100.0


@wp.kernel
def operators_of_the_user(out: wp.array(dtype=float)):
    a = Inner(wp.float64(1.0), wp.vec2(2.0, 3.0))
    a += a
    out[0] = a.offset[1]
    z = wp.vec2(0.0, 1.0) * wp.vec2(0.0, 1.0)
    out[1] = z[0]
    out[2] = 6.0 / 3.0
    out[3] = 3.0
    out[3] /= 2.0
    w = wp.vec2(1.0, 2.0)
    w *= wp.vec2(0.0, 1.0)
    out[4] = w[0]


def test_operators_of_the_user_come_before_builtins_but_not_in_themselves():
    assert run(operators_of_the_user)[:5] == [6, -1, 102, 101.5, -2]


@wp.func
def cubic(x: float, n: int):
    return x * x * x * float(n)


@wp.func
def two(x: float, y: float):
    return x * y, x + y


@wp.func
def along(x: wp.vec3, a: wp.array(dtype=float)):
    return wp.dot(x, x) * a[0]


@wp.kernel
def gradients(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    g = wp.grad(cubic)
    dx, dn = g(2.0, 3)
    out[0] = dx
    out[1] = float(dn)
    p, q = wp.grad(two)(3.0, 2.0)
    out[2] = p
    out[3] = q
    out[4] = wp.grad(along)(wp.vec3(1.0, 2.0, 3.0), a)[2]
    dy, dx2 = wp.grad(wp.atan2)(1.0, 1.0)
    out[5] = dy
    out[6] = dx2
    out[7] = wp.grad(wp.sin)(0.0)


def test_grad_gives_the_derivative_by_each_value():
    out = run(gradients, wp.array([5.0], dtype=float))
    np.testing.assert_allclose(out, [36, 0, 3, 4, 30, 0.5, -0.5, 1])


@wp.struct
class WithArray:
    v: wp.vec3
    a: wp.array(dtype=float)


@wp.func
def with_array(x: wp.vec3, a: wp.array(dtype=float)) -> WithArray:
    s = WithArray()
    s.v = 2.0 * x
    s.a = a
    return s


@wp.func
def use(s: WithArray) -> float:
    return wp.dot(s.v, s.v) * s.a[0]


@wp.kernel
def structs_with_arrays(x: wp.array(dtype=wp.vec3), a: wp.array(dtype=float), loss: wp.array(dtype=float)):
    s = with_array(x[0], a)
    for _i in range(2):
        s.v = s.v * s.a[0]
    loss[0] = use(s) + s.a[0]


def test_structs_with_arrays_have_gradients_by_value_and_in_their_arrays():
    x = wp.array([wp.vec3(1.0, 2.0, 3.0)], dtype=wp.vec3, requires_grad=True)
    a = wp.array([2.0], dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(structs_with_arrays, dim=1, inputs=[x, a, loss])
    tape.backward(loss)
    # loss = 4 |x|^2 a^5 + a
    np.testing.assert_allclose(x.grad.numpy()[0], 8 * np.array([1, 2, 3]) * 32)
    np.testing.assert_allclose(a.grad.numpy()[0], 20 * 14 * 16 + 1)


def test_a_redefined_function_stays_what_it_was_for_those_who_have_it():
    @wp.func
    def f():
        return 17.0

    first = f

    @wp.func
    def f():
        return 42.0

    second = f

    @wp.kernel(module="unique")
    def kernel(out: wp.array(dtype=float)):
        out[0] = f()
        out[1] = first()
        out[2] = second()

    assert run(kernel)[:3] == [42, 17, 42]


@wp.kernel
def expectations(x: float):
    wp.expect_eq(x, 2.0)
    wp.expect_near(wp.vec2(x, 1.0), wp.vec2(2.0, 1.5), 0.25)
    wp.expect_neq(int(x), 3)


def test_expectations_print_where_they_fail(capfd):
    wp.launch(expectations, dim=1, inputs=[2.0])
    wp.synchronize()
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 3 and "expect_near failed" in lines[0] and "test_language_values.py" in lines[0]
    assert lines[1:] == ["2 1", "2 1.5"]


@wp.struct
class HoldsArray:
    data: wp.array[int]


@wp.struct
class HoldsStruct:
    inner: HoldsArray


def test_statics_with_arrays_are_refused_where_the_array_is():
    held = HoldsStruct()
    held.inner.data = wp.zeros(3, dtype=int)

    @wp.kernel(module="unique")
    def kernel():
        wp.static(held)

    with pytest.raises(wp.WarpCodegenError, match=r"cannot be created .* found one at HoldsStruct.inner.data"):
        wp.launch(kernel, dim=1)


fixed = wp.static


def test_static_by_another_name():
    @wp.kernel(module="unique")
    def kernel(out: wp.array[int]):
        out[0] = fixed(3 + 4)

    out = wp.zeros(1, dtype=int)
    wp.launch(kernel, dim=1, inputs=[out])
    assert out.list() == [7]
