"""Structs: layout on demand, what they inherit, static members, the classes of their numbers."""

import ctypes

import numpy as np
import pytest

import warp as wp


@wp.struct
@wp.packed
class Packed:
    a: wp.uint8
    b: wp.float64
    c: wp.int16


@wp.struct
@wp.aligned(64)
class Aligned:
    a: wp.uint8
    b: wp.float64


@wp.struct
class Holder:
    first: wp.uint8
    packed: Packed
    aligned: Aligned


class CPacked(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("a", ctypes.c_uint8), ("b", ctypes.c_double), ("c", ctypes.c_int16)]


@wp.kernel
def sums(p: wp.array[Packed], a: wp.array[Aligned], h: Holder, out: wp.array[wp.float64]):
    i = wp.tid()
    out[i] = wp.float64(p[i].a) + p[i].b + wp.float64(p[i].c)
    out[i] += wp.float64(a[i].a) + a[i].b * h.aligned.b + wp.float64(h.packed.c)
    p[i].b += h.packed.b
    a[i].b = wp.float64(i)


@pytest.mark.host("GPUs update no member of a packed struct in one step")
@pytest.mark.parametrize("backend", ["llvm", "cxx"])
def test_layout(backend, monkeypatch):
    monkeypatch.setattr(wp.config, "cpu_backend", backend)
    assert Packed._weft_type_.size == ctypes.sizeof(CPacked) == 11
    assert Packed._weft_type_.offsets == [CPacked.a.offset, CPacked.b.offset, CPacked.c.offset]
    assert Aligned._weft_type_.size == 64 and Holder._weft_type_.offsets == [0, 1, 64]
    n = 5
    p, a = wp.zeros(n, dtype=Packed), wp.zeros(n, dtype=Aligned)
    values = np.arange(n)
    host = p.numpy()
    host["a"], host["b"], host["c"] = values, values + 0.5, -values
    p.assign(host)
    host = a.numpy()
    host["a"], host["b"] = 2 * values, values * 10.0
    a.assign(host)
    h = Holder()
    h.packed = Packed(1, 2.0, 3)
    h.aligned = Aligned(4, 5.0)
    out = wp.zeros(n, dtype=wp.float64)
    wp.launch(sums, dim=n, inputs=[p, a, h, out])
    np.testing.assert_array_equal(out.numpy(), values + values + 0.5 - values + 2 * values + 50.0 * values + 3)
    np.testing.assert_array_equal(p.numpy()["b"], values + 2.5)
    np.testing.assert_array_equal(a.numpy()["b"], values)


def test_layout_is_demanded_beneath_struct():
    with pytest.raises(TypeError, match="beneath"):
        wp.packed(Packed)
    with pytest.raises(ValueError, match="power of two"):
        wp.aligned(12)


class Base:
    factor = 3.0
    origin = wp.vec3(1.0, 2.0, 3.0)
    mass: float

    def doubled(self):
        return 2.0 * self.size


@wp.struct
class Inherits(Base):
    size: float
    count = 7


@wp.kernel
def statics(s: Inherits, out: wp.array[float]):
    out[0] = s.size * Inherits.factor + s.mass
    out[1] = float(Inherits.count)
    out[2] = Inherits.origin[2]


def test_plain_classes_are_inherited():
    s = Inherits(2.0, 5.0)
    assert (s.mass, s.size, s.doubled(), s.count, s.factor) == (2.0, 5.0, 10.0, 7, 3.0)
    assert isinstance(s, Inherits.cls) and isinstance(s, Base)
    out = wp.zeros(3)
    wp.launch(statics, dim=1, inputs=[s, out])
    assert out.numpy().tolist() == [17.0, 7.0, 3.0]
    with pytest.raises(RuntimeError, match="must be defined as base classes"):

        @wp.struct
        class Child(Inherits):
            y: int


def test_numbers_keep_their_class():
    h = Packed()
    assert type(h.a) is wp.uint8 and type(h.b) is wp.float64
    h.c = wp.int16(5)
    assert type(h.c) is wp.int16 and h.c == 5
    h.c = 6
    assert type(h.c) is int


def make_kernel(value, default=1.0):
    @wp.func
    def scaled(x: float, by: float = default):
        return x * by

    @wp.kernel(module="unique")
    def use(out: wp.array[float]):
        out[0] = scaled(value.size)

    return use


def test_captured_values_tell_kernels_apart():
    # Each a kernel of its own: the text is the same, what it captures is not.
    results = []
    for size, default in ((1.0, 1.0), (2.0, 1.0), (2.0, 5.0)):
        out = wp.zeros(1)
        wp.launch(make_kernel(Inherits(0.0, size), default), dim=1, inputs=[out])
        results.append(out.numpy()[0])
    assert results == [1.0, 2.0, 10.0]


class Settings:
    def __init__(self, gain):
        self.gain = gain
        self.f = scaled_twice


@wp.func
def scaled_twice(x: float):
    return 2.0 * x


def test_attributes_of_objects():
    def make(settings):
        @wp.kernel(module="unique")
        def use(out: wp.array[float]):
            out[0] = settings.f(settings.gain)

        return use

    for gain in (1.5, 2.5):
        out = wp.zeros(1)
        wp.launch(make(Settings(gain)), dim=1, inputs=[out])
        assert out.numpy()[0] == 2.0 * gain
