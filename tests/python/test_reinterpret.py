"""wp.cast: the bytes of a value seen as another type, against Python's struct module."""

import struct

import numpy as np
import pytest

import warp as wp


@wp.struct
class Halves:
    f: wp.float16
    i: wp.int16


@wp.struct
class Padded:
    a: wp.uint8
    b: wp.uint32


@wp.kernel
def casts(x: float, v: wp.vec2, out: wp.array[wp.uint64]):
    out[0] = wp.uint64(wp.cast(x, wp.uint32))
    out[1] = wp.cast(v, wp.uint64)
    h = Halves(wp.float16(2.0), wp.int16(-123))
    out[2] = wp.uint64(wp.cast(h, wp.uint32))
    back = wp.cast(wp.cast(h, wp.int32), Halves)
    out[3] = wp.uint64(wp.uint16(back.i))
    out[4] = wp.cast(Padded(wp.uint8(7), wp.uint32(9)), wp.uint64)
    w = wp.cast(wp.uint64(0x4000000040400000), dtype=wp.vec2)
    out[5] = wp.uint64(w[0]) * wp.uint64(10) + wp.uint64(w[1])
    out[6] = wp.cast(wp.vector(True, False, True, True, False, False, False, True), wp.uint64)


@pytest.mark.parametrize("backend", ["llvm", "cxx"])
def test_bytes(backend, monkeypatch):
    monkeypatch.setattr(wp.config, "cpu_backend", backend)
    out = wp.zeros(7, dtype=wp.uint64)
    wp.launch(casts, dim=1, inputs=[1.25, wp.vec2(1.5, -2.0), out])
    number = lambda form, *values: int.from_bytes(struct.pack("<" + form, *values), "little")  # noqa: E731
    wanted = [number("f", 1.25), number("ff", 1.5, -2.0), number("eh", 2.0, -123), number("h", -123)]
    wanted += [number("BxxxI", 7, 9), 32, number("8?", *np.array([1, 0, 1, 1, 0, 0, 0, 1], bool))]
    assert out.numpy().tolist() == wanted
