"""Overloads of functions and kernels, defaults that change, references to arrays, transformers of syntax trees."""

import ast
import typing

import numpy as np
import pytest

import warp as wp


def run(kernel, *inputs):
    out = wp.zeros(1)
    wp.launch(kernel, dim=1, inputs=[*inputs, out])
    return out.numpy()[0]


@wp.func(inline=True)
def size_of(x: float):
    return 1.0


@wp.func(inline=True)
def size_of(x: wp.vec2):  # noqa: F811
    return 2.0


@wp.kernel
def sizes(out: wp.array[float]):
    out[0] = size_of(1.0) + 10.0 * size_of(wp.vec2())


def test_definitions_with_options_are_overloads():
    assert run(sizes) == 21.0
    with pytest.raises(TypeError, match="inline must be a bool"):
        wp.func(inline=1)(lambda x: x)


def test_definitions_that_differ_in_references_only():
    @wp.func
    def twice(x: int):
        return 2 * x

    with pytest.raises(RuntimeError, match="differ only"):

        @wp.func
        def twice(x: wp.ref[int]):
            x *= 2


@wp.func
def row_sum(values: wp.ref[wp.array2d[float]], row: int) -> float:
    view = values
    view[row, 0] += 1.0
    return view[row, 0] + values[row, 1]


@wp.kernel
def references_to_arrays(values: wp.array2d[float], out: wp.array[float]):
    out[0] = row_sum(values, 1)


def test_references_to_arrays():
    values = wp.array([[1.0, 2.0], [3.0, 4.0]], dtype=float)
    assert run(references_to_arrays, values) == 8.0
    np.testing.assert_array_equal(values.numpy(), [[1.0, 2.0], [4.0, 4.0]])

    @wp.func
    def rebinds(values: wp.ref[wp.array[float]], other: wp.array[float]):
        values = other  # noqa: F841

    @wp.kernel
    def calls(a: wp.array[float], out: wp.array[float]):
        rebinds(a, out)

    with pytest.raises(wp.WarpUnsupportedError, match="the name cannot"):
        run(calls, wp.zeros(1))


@wp.func
def halved(x: float):
    return x / 2.0


@wp.func
def tripled(x: float):
    return x * 3.0


@wp.func
def applied(x: float, f: wp.Function = halved, by: float = 1.0):
    return f(x) * by


def test_defaults_can_be_changed():
    def make():
        @wp.kernel(module="unique")
        def use(out: wp.array[float]):
            out[0] = applied(4.0)

        return use

    assert dict(applied.defaults) == {"f": halved, "by": 1.0}
    first = make()
    assert run(first) == 2.0
    before = applied.module.hash_module()
    try:
        applied.defaults["f"] = tripled
        assert applied.module.hash_module() != before
        assert run(make()) == 12.0 and make() is not first
    finally:
        applied.defaults = {"f": halved, "by": 1.0}
    with pytest.raises(KeyError):
        applied.defaults["x"] = 1.0


def test_overload_of_given_types():
    assert size_of.get_overload([wp.vec2], {}).input_types == {"x": wp.vec2}
    assert size_of.get_overload([], {"x": float}).input_types == {"x": float}
    assert size_of.get_overload([int], {}) is None
    assert applied.get_overload([float, wp.Function], {}) is applied


def test_functions_at_python_scope_take_functions():
    assert applied(3.0, tripled) == 9.0
    with pytest.raises(RuntimeError, match="no overload found"):
        applied(3.0, lambda x: x)


def test_stubs_of_kernels():
    def stub_kernel(x: typing.Any, out: wp.array[float]):
        out[0] = float(x)

    kernels = [wp.kernel(name=f"stub_kernel_{name}")(stub_kernel) for name in "ab"]

    with pytest.raises(RuntimeError, match="Ambiguous kernel lookup: stub_kernel_a, stub_kernel_b"):

        @wp.overload
        def stub_kernel(x: int, out: wp.array[float]): ...

    assert len(kernels) == 2


@wp.kernel
def stubbed(x: typing.Any, out: wp.array[float]):
    out[0] = float(x)


kernel_with_stubs = stubbed


@wp.overload
def stubbed(x: int, out: wp.array[float]): ...


def stubbed(x: int, out: wp.array[float]) -> float: ...


def test_a_stub_finds_its_kernel():
    assert len(kernel_with_stubs.overloads) == 1 and run(kernel_with_stubs, 3) == 3.0
    with pytest.raises(TypeError, match="Return annotations"):
        wp.overload(stubbed)


class Doubling(ast.NodeTransformer):
    def visit_Constant(self, node):
        return ast.copy_location(ast.Constant(2.0 * node.value), node) if isinstance(node.value, float) else node


def test_transformers_change_the_tree():
    def text(out: wp.array[float]):
        out[0] = 1.5

    assert run(wp.Kernel(text)) == 1.5
    assert run(wp.Kernel(text, key="changed", code_transformers=[Doubling()])) == 3.0


def test_identities_at_python_scope():
    for dtype in (wp.float16, wp.float32, wp.float64):
        assert type(wp.quat_identity(dtype)) is wp.types.quaternion(dtype=dtype)
        assert list(map(float, wp.transform_identity(dtype=dtype))) == [0, 0, 0, 0, 0, 0, 1]
        np.testing.assert_array_equal(np.array(wp.identity(n=3, dtype=dtype)), np.eye(3))
    with pytest.raises(RuntimeError, match="Couldn't find a function 'quat_identity'"):
        wp.quat_identity(dtype=wp.int32)


@pytest.mark.parametrize("dtype", [wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64])
def test_integers_at_python_scope_wrap(dtype):
    numpy_type = wp.dtype_to_numpy(dtype)
    value = -1234567890123456789
    wrapped = np.array(value).astype(numpy_type)
    for given in (dtype(value), wrapped[()]):
        assert int(wp.invert(given)) == int(~wrapped)
        with np.errstate(all="ignore"):
            assert int(wp.mul(given, dtype(value))) == int((wrapped * wrapped).astype(numpy_type))
    assert wp.invert(value) == wp.invert(wp.int32(value))


def test_numpy_numbers_have_their_type():
    assert type(wp.sin(np.float16(1.0))) is wp.float16
    assert abs(float(wp.sin(np.float64(1.23))) - np.sin(1.23)) < 1e-15
    with pytest.raises(RuntimeError, match=r"function 'mul' compatible with the arguments 'int8, int'$"):
        wp.mul(np.int8(3), 4)
