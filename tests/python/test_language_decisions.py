"""What Weft does where Warp does something silently: the cases of docs/language.md, by their numbers there. Those that
are refused when a kernel is compiled are in support/wrong_programs.py."""

import numpy as np
import pytest

import warp as wp

f64 = wp.float64


def values(kernel, *inputs, dtype=float, size=8):
    out = wp.zeros(size, dtype=dtype)
    wp.launch(kernel, dim=1, inputs=[*inputs, out])
    return out.numpy().tolist()


@wp.kernel
def masks(out: wp.array(dtype=int)):
    out[0] = 0xFFFFFFFF
    out[1] = -2147483648
    out[2] = int(wp.uint32(0x80000000) >> wp.uint32(31))


def test_1_hash_masks_keep_their_bits():
    assert values(masks, dtype=int)[:3] == [-1, -(2**31), 1]


@wp.kernel
def divisions(zero: int, smallest: int, minus_one: int, out: wp.array(dtype=int)):
    out[0] = 7 / zero
    out[1] = 7 // zero
    out[2] = 7 % zero
    out[3] = smallest / minus_one
    out[4] = smallest % minus_one


def test_5_integer_division_by_zero_gives_zero():
    assert values(divisions, 0, -(2**31), -1, dtype=int)[:5] == [0, 0, 0, -(2**31), 0]


@wp.kernel
def shifts_and_casts(count: int, large: float, out: wp.array(dtype=int)):
    out[0] = 1 << count
    out[1] = -8 >> count
    out[2] = int(large)
    out[3] = int(-large)


def test_6_shifts_count_modulo_the_width_and_casts_saturate_as_x86_does():
    assert values(shifts_and_casts, 33, 1e20, dtype=int)[:4] == [2, -4, -(2**31), -(2**31)]


@wp.kernel
def signs(zero: float, out: wp.array(dtype=float)):
    out[0] = float(-7 % 3)
    out[1] = float(-7 / 2)
    out[2] = float(-7 // 2)
    out[3] = wp.round(2.5)
    out[4] = wp.sign(0.0)
    out[5] = 1.0 / (-zero)


def test_7_signs_are_those_of_warp_but_minus_zero_is_ieee():
    assert values(signs, 0.0)[:6] == [-1, -3, -4, 3, 1, -np.inf]


@wp.kernel
def of_nan(nan: float, out: wp.array(dtype=float)):
    out[0] = wp.min(nan, 1.0)
    out[1] = wp.max(2.0, nan)
    out[2] = wp.clamp(nan, 3.0, 4.0)
    out[3] = wp.acos(nan)
    out[4] = wp.smoothstep(0.0, 1.0, nan)


def test_8_nan_is_swallowed_as_in_warp():
    np.testing.assert_allclose(values(of_nan, float("nan"))[:5], [1, 2, 3, np.pi, 0], rtol=1e-6)


@wp.kernel
def defined_on_one_path(n: int, out: wp.array(dtype=int)):
    if n > 0:
        a = 5
    for i in range(n):
        b = i + 1
    out[0] = a
    out[1] = b


def test_9_a_value_whose_definition_did_not_run_is_zero():
    assert values(defined_on_one_path, 3, dtype=int)[:2] == [5, 3]
    assert values(defined_on_one_path, 0, dtype=int)[:2] == [0, 0]


@wp.kernel
def steps(step: int, out: wp.array(dtype=int)):
    for _i in range(0, 4, step):
        out[0] += 1


def test_11_a_step_of_zero_runs_no_turn():
    assert values(steps, 0, dtype=int)[0] == 0
    assert values(steps, 3, dtype=int)[0] == 2


@wp.kernel
def sizes(y: wp.array3d(dtype=float), k: int, out: wp.array(dtype=int)):
    out[0] = y.size
    out[1] = y.shape[-1]
    out[2] = y.shape[k]
    out[3] = y.strides[0]
    out[4] = len(y)
    out[5] = y.ndim


def test_13_size_and_shapes_are_right():
    assert values(sizes, wp.zeros((2, 3, 4), dtype=float), -2, dtype=int)[:6] == [24, 4, 3, 48, 2, 3]


@wp.func
def lost(v: wp.vec3):
    v[0] = 9.0


@wp.kernel
def copies(a: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    v = a[0]
    w = v
    v[0] = 5.0
    lost(w)
    a[0][1] = 7.0
    out[0] = w[0]
    out[1] = a[0][0]
    out[2] = v[1]
    out[3] = a[0][1]


def test_15_bindings_copy():
    assert values(copies, wp.array([wp.vec3(1.0, 2.0, 3.0)], dtype=wp.vec3))[:4] == [1, 1, 2, 7]


@wp.kernel
def null_array(x: wp.array2d(dtype=float), out: wp.array(dtype=int)):
    out[0] = x.shape[0]
    if x:
        out[1] = 1


def test_18_a_null_array_has_no_elements():
    assert values(null_array, None, dtype=int)[:2] == [0, 0]


@wp.kernel
def unchosen_arms(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.where(x[i] > 0.0, wp.sqrt(x[i]), 0.0) + wp.frac(x[i]) * 0.5


def test_25_arms_that_were_not_chosen_have_no_gradient():
    x = wp.array([-1.0, 0.0, 0.25], dtype=float, requires_grad=True)
    o = wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(unchosen_arms, dim=3, inputs=[x, o])
    tape.backward(grads={o: wp.ones(3, dtype=float)})
    np.testing.assert_allclose(x.grad.numpy(), [0.5, 0.5, 1.5])


@wp.kernel
def ties(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    o[0] = wp.min(x[0], x[1])
    o[1] = wp.max(x[0], x[1])
    o[2] = wp.clamp(x[2], 0.0, 1.0)
    o[3] = wp.abs(x[3])


def test_26_ties_are_those_of_warp():
    x = wp.array([2.0, 2.0, 0.0, 0.0], dtype=float, requires_grad=True)
    o = wp.zeros(4, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(ties, dim=1, inputs=[x, o])
    tape.backward(grads={o: wp.ones(4, dtype=float)})
    assert x.grad.numpy().tolist() == [0, 2, 1, 1]


@wp.kernel
def comparisons(minus_one: int, one: wp.uint32, v: wp.vec3, out: wp.array(dtype=int)):
    out[0] = int(minus_one < one)
    out[1] = int(16777217 == 16777216.0)
    out[2] = int(v != v)


def test_29_30_comparisons_convert_as_c_does_and_vectors_may_differ():
    assert values(comparisons, -1, 1, wp.vec3(1.0, 2.0, 3.0), dtype=int)[:3] == [0, 1, 0]


@wp.kernel
def zero_by_default(out: wp.array(dtype=float)):
    q = wp.quat()
    t = wp.transform()
    out[0] = q[3] + t[6]


def test_31_quaternions_and_transforms_are_zero_in_kernels():
    assert values(zero_by_default)[0] == 0
    assert wp.transform()[6] == 1


@wp.kernel
def literals_in_loops(n: int, out: wp.array(dtype=float)):
    s = 0.0
    flag = True
    a = 1
    b = 2
    for _i in range(n):
        s += 1.0
        a, b = b, a
        flag = not flag
    out[0] = s
    out[1] = float(a)
    out[2] = float(int(flag))
    out[3], out[4] = out[1], out[0]


def test_literals_may_be_changed_in_run_time_loops():
    assert values(literals_in_loops, 3)[:5] == [3, 2, 0, 2, 3]


@pytest.mark.parametrize("vectors", [(1.0, 2.0, 3.0, 4.0)])
def test_old_forms_keep_their_meaning(vectors):
    @wp.kernel(module="unique")
    def kernel(c: bool, out: wp.array(dtype=float)):
        out[0] = wp.select(c, 1.0, 2.0)
        m = wp.mat22(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
        out[1] = m[0, 1]
        v = wp.vec(1.0, length=3, dtype=float)
        out[2] = v[2]
        w = wp.vector(1.0, 2.0, 3.0)
        out[3] = w[1]

    assert values(kernel, True)[:4] == [2, 3, 1, 2]
    assert values(kernel, False)[0] == 1


@wp.func
def minus(a: float, b: float, c: float):
    return a - b - c


@wp.kernel
def starred(v: wp.vec3, row: wp.array[float], out: wp.array(dtype=float)):
    out[0] = minus(*v)
    out[1] = minus(*(9.0, 1.0, 2.0))
    out[2] = minus(7.0, *wp.vec2(1.0, 2.0))
    out[3] = minus(*row[:3])
    pair = (1.0, 2.0)
    out[4] = minus(*pair, c=3.0)


def test_starred_arguments():
    found = values(starred, wp.vec3(5.0, 1.0, 1.0), wp.array([8.0, 2.0, 1.0], dtype=float))
    assert found[:5] == [3, 6, 4, 5, -4]


def test_arrays_at_python_scope():
    for dtype in (np.float32, "float32"):
        a = wp.array([1.0, 2.0, 3.0], dtype=dtype)
        assert a.dtype is wp.float32 and a.list() == [1, 2, 3]
    a[1:3] += 1.0
    assert a.list() == [1, 3, 4]
    assert a[wp.array([2, 0], dtype=int)].strides == (4,)
    v = wp.vec3(1.0, 2.0, 3.0)
    assert [type(x).__name__ for x in (v[0:2], v + 1.0, wp.mat22(1.0)[1])] == ["vec2f", "vec3f", "vec2f"]
    assert repr(wp.mat22(1.0, 2.0, 3.0, 4.0)) == "mat22f([[1.0, 2.0],\n [3.0, 4.0]])"
    assert wp.zeros((1, 1, 1, 1, 1)).ndim == 5
