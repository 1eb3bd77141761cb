"""Arrays of up to eight dimensions in kernels, with slices, views, local arrays and gradients, against NumPy."""

import numpy as np
import pytest

import warp as wp


@wp.struct
class Holder:
    a: wp.array(dtype=float, ndim=5)


@wp.kernel
def reads(a: wp.array(dtype=float, ndim=8), b: wp.array(dtype=float, ndim=6), h: Holder, out: wp.array(dtype=float)):
    out[0] = a[0, 1, 0, 1, 0, 1, 0, 1]
    row = b[1]
    out[1] = row[0, 1, 2, 0, 1]
    part = a[:, 1, 0]
    out[2] = float(part.ndim) + part[1, 0, 1, 0, 1, 0]
    out[3] = h.a[1, 0, 1, 0, 1]
    out[4] = float(a.shape[7]) + float(len(b))
    local = wp.zeros(shape=(2, 1, 2, 1, 2), dtype=float)
    local[1, 0, 1, 0, 1] = 5.0
    out[5] = local[1, 0, 1, 0, 1] + local[0, 0, 0, 0, 0]


@pytest.mark.parametrize("backend", ["llvm", "cxx"])
def test_reads(backend, monkeypatch):
    monkeypatch.setattr(wp.config, "cpu_backend", backend)
    rng = np.random.default_rng(1)
    a, b, c = (rng.random(s, dtype=np.float32) for s in ((2,) * 8, (2, 2, 3, 3, 2, 2), (2,) * 5))
    h = Holder()
    h.a = wp.array(c)
    out = wp.zeros(6)
    wp.launch(reads, dim=1, inputs=[wp.array(a), wp.array(b), h, out])
    part = a[:, 1, 0]
    wanted = [a[0, 1, 0, 1, 0, 1, 0, 1], b[1, 0, 1, 2, 0, 1], 6 + part[1, 0, 1, 0, 1, 0], c[1, 0, 1, 0, 1], 4, 5]
    np.testing.assert_array_equal(out.numpy(), np.array(wanted, dtype=np.float32))


@wp.kernel
def product(a: wp.array(dtype=float, ndim=8), out: wp.array(dtype=float)):
    out[0] = a[1, 1, 1, 1, 1, 1, 1, 0] * a[0, 0, 0, 0, 0, 0, 0, 1]


def test_gradient():
    values = np.arange(256, dtype=np.float32).reshape((2,) * 8)
    a, out = wp.array(values, requires_grad=True), wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(product, dim=1, inputs=[a], outputs=[out])
    tape.backward(loss=out)
    wanted = np.zeros_like(values)
    wanted[1, 1, 1, 1, 1, 1, 1, 0] = values[0, 0, 0, 0, 0, 0, 0, 1]
    wanted[0, 0, 0, 0, 0, 0, 0, 1] = values[1, 1, 1, 1, 1, 1, 1, 0]
    np.testing.assert_array_equal(a.grad.numpy(), wanted)
