"""`@wp.func`: overloads, scopes, closures, statics, calls at Python scope; structs; builtins at Python scope."""

import numpy as np
import pytest

import warp as wp


@wp.func
def twice(x: float):
    return x + x


@wp.func
def twice(x: int):  # noqa: F811
    return x + x


@wp.func
def twice(x: wp.vec3):  # noqa: F811
    return 2.0 * x


@wp.kernel
def overloads(f: wp.array(dtype=float), i: wp.array(dtype=int), v: wp.array(dtype=wp.vec3)):
    f[0] = twice(1.5)
    i[0] = twice(21)
    v[0] = twice(wp.vec3(1.0, 2.0, 3.0))


def test_overloads():
    f, i, v = wp.zeros(1, dtype=float), wp.zeros(1, dtype=int), wp.zeros(1, dtype=wp.vec3)
    wp.launch(overloads, dim=1, inputs=[f, i, v])
    assert (f.numpy()[0], i.numpy()[0], v.numpy()[0].tolist()) == (3.0, 42, [2.0, 4.0, 6.0])


def make(factor):
    @wp.func
    def scaled(x: float):
        return x * factor

    @wp.kernel
    def apply(o: wp.array(dtype=float)):
        o[0] = scaled(2.0)

    return apply


def test_closures_keep_their_own_values():
    kernels = [make(float(k)) for k in range(3)]
    for k, kernel in enumerate(kernels):
        o = wp.zeros(1, dtype=float)
        wp.launch(kernel, dim=1, inputs=[o])
        assert o.numpy()[0] == 2.0 * k


def test_statics_are_evaluated_at_the_definition():
    kernels = []
    for k in range(3):

        @wp.kernel(module="unique")
        def constant_of_loop(o: wp.array(dtype=float)):
            o[0] = wp.static(float(k) * 10.0)  # noqa: B023 - now, not later

        kernels.append(constant_of_loop)
    for k, kernel in enumerate(kernels):
        o = wp.zeros(1, dtype=float)
        wp.launch(kernel, dim=1, inputs=[o])
        assert o.numpy()[0] == 10.0 * k
    assert wp.static(3) == 3


def test_functions_run_as_python_at_python_scope():
    @wp.func
    def double(x: float):
        return 2.0 * x

    assert double(2.5) == 5.0 and double(x=2.5) == 5.0
    assert twice(1.0) == 2.0 and twice(3) == 6
    with pytest.raises(RuntimeError, match="no overload found"):
        double(1)


def test_native_functions_are_called_from_kernels_only():
    @wp.func_native("return x;")
    def native(x: float) -> float: ...

    @wp.kernel
    def calls_native(o: wp.array(dtype=float)):
        o[0] = native(1.0)

    o = wp.zeros(1, dtype=float)
    wp.launch(calls_native, dim=1, inputs=[o])
    assert o.numpy()[0] == 1.0
    with pytest.raises(RuntimeError, match="called from kernels only"):
        native(1.0)


@wp.struct
class Body:
    mass: float
    position: wp.vec3
    index: int
    values: wp.array(dtype=float)


@wp.kernel
def move(body: Body, o: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    o[i] = body.position * body.mass * body.values[i]


def test_structs():
    body = Body()
    assert (body.mass, body.index, body.values) == (0.0, 0, None)
    body.mass = 2.0
    body.position = wp.vec3(1.0, 2.0, 3.0)
    body.position[2] = 4.0  # in place
    body.values = wp.array([1.0, 10.0], dtype=float, requires_grad=True)
    o = wp.zeros(2, dtype=wp.vec3, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(move, dim=2, inputs=[body, o])
    assert o.numpy().tolist() == [[2.0, 4.0, 8.0], [20.0, 40.0, 80.0]]
    o.grad.fill_(1.0)
    tape.backward()
    assert body.values.grad.numpy().tolist() == [14.0, 14.0]
    for name, value in [("mass", "x"), ("position", 1.5), ("values", [1.0]), ("values", wp.zeros(1, dtype=int))]:
        with pytest.raises(TypeError):
            setattr(body, name, value)
    with pytest.raises(AttributeError):
        body.missing = 1


def test_builtins_at_python_scope():
    assert wp.min(1, 2) == 1 and wp.mod(-7, 2) == -1 and wp.round(2.5) == 3.0
    assert wp.sin(0.5) == np.float32(np.sin(np.float32(0.5)))
    assert wp.cross(wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0)) == wp.vec3(0.0, 0.0, 1.0)
    assert isinstance(wp.length(wp.vec3d(3.0, 4.0, 0.0)), wp.float64)
    for call in (lambda: wp.min(1.5, 2), lambda: wp.sin(1), lambda: wp.sin("x")):
        with pytest.raises(RuntimeError):
            call()


def test_values():
    assert str(wp.vec3(1.0, 2.5, 3.0)) == "[1.0, 2.5, 3.0]" and repr(wp.vec3(0.1)).startswith("vec3f([0.1000000014")
    assert str(wp.mat22(1.0, 2.0, 3.0, 4.0)) == "[[1.0, 2.0],\n [3.0, 4.0]]"
    v, m = wp.vec3(1.0, 2.0, 3.0), wp.mat22([[1.0, 2.0], [3.0, 4.0]])
    assert (v[-1], v[0:2], v.y, len(v), list(v)) == (3.0, (1.0, 2.0), 2.0, 3, [1.0, 2.0, 3.0])
    assert (m[1], m[1, 0], m.get_col(1)) == ((3.0, 4.0), 3.0, (2.0, 4.0))
    assert v + v == 2.0 * v == v * 2.0 and -v == (-1.0, -2.0, -3.0) and v / 2.0 == (0.5, 1.0, 1.5)
    assert m @ m == [[7.0, 10.0], [15.0, 22.0]] and m @ wp.vec2(1.0, 1.0) == (3.0, 7.0)
    assert np.array(m).dtype == np.float32 and np.array([v, v]).shape == (2, 3)
    assert wp.transform() == (0, 0, 0, 0, 0, 0, 1) and wp.quat() == (0, 0, 0, 0)
    assert wp.types.vector(3, float) is wp.vec3f and wp.types.matrix((2, 2), wp.float64) is wp.mat22d
    assert wp.types.vector(5, float) is wp.types.vector(length=5, dtype=wp.float32)
    for wrong in (lambda: wp.vec3(1.0, 2.0), lambda: wp.mat22(1.0, 2.0, 3.0)):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError):
        wp.vec3i(1.5, 2.5, 3.5)
    with pytest.raises(IndexError):
        v[3]


def test_scalars():
    assert wp.int8(200).value == 200 and float(wp.float32(1.5)) == 1.5 and int(wp.uint8(3)) == 3
    assert wp.float32(1.0) + wp.float32(2.0) == 3.0 and wp.int32(3) == 3 and wp.int64(2) < 3
    assert str(wp.float32(1.5)) == "1.5" and hash(wp.int32(3)) == hash(3)
    assert wp.constant(3) == 3 and wp.PI == wp.pi
    with pytest.raises(TypeError):
        wp.constant([1])


def test_settings():
    assert wp.config.mode == "release" and wp.config.max_unroll == 16
    wp.config.any_name = 5
    assert wp.config.any_name == 5
    with pytest.raises(ValueError):
        wp.config.deterministic = 1
    with wp.ScopedDevice("cpu") as device:
        assert device is wp.get_device() and str(device) == "cpu" and device.is_cpu and not device.is_cuda
    with wp.ScopedTimer("test", print=False) as timer:
        pass
    assert timer.elapsed >= 0.0
    wp.init()
    wp.synchronize()
