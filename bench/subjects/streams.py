"""Work that memory bounds: saxpy, normalised vectors, copies, products of small matrices."""

import numpy as np
from problem import random
from row import Row, Subject, forward

import warp as wp

FIELDS = 19


@wp.kernel
def saxpy_kernel(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


def saxpy(n):
    x, y = wp.array(random(n)), wp.array(random(n, seed=2))
    return Subject(
        lambda: wp.launch(saxpy_kernel, dim=n, inputs=[1e-3, x, y]), [x, y], y, lambda x, y: np.float32(1e-3) * x + y
    )


@wp.kernel
def normalise_kernel(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = wp.normalize(x[i])


def normalise(n):
    x, y = wp.array(random(n, 3), dtype=wp.vec3), wp.zeros(n, dtype=wp.vec3)
    return Subject(
        lambda: wp.launch(normalise_kernel, dim=n, inputs=[x, y]),
        [x],
        y,
        lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
    )


@wp.kernel
def copy_kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]


def copy(n):
    x, y = wp.array(random(n)), wp.zeros(n, dtype=float)
    return Subject(lambda: wp.launch(copy_kernel, dim=n, inputs=[x, y]), [x], y, lambda x: x)


@wp.kernel
def fields_kernel(f: wp.array2d(dtype=float), g: wp.array2d(dtype=float)):
    i = wp.tid()
    for k in range(wp.static(FIELDS)):
        g[k, i] = 0.5 * f[k, i] + 1.0


def fields(n):
    """As many streams read and written at once as lattice Boltzmann in three dimensions has."""
    f, g = wp.array(random(FIELDS, n)), wp.zeros((FIELDS, n), dtype=float)
    return Subject(lambda: wp.launch(fields_kernel, dim=n, inputs=[f, g]), [f], g, lambda f: 0.5 * f + 1.0)


@wp.kernel
def transpose_kernel(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[j, i] = x[i, j]


def transpose(n):
    x, y = wp.array(random(n, n)), wp.zeros((n, n), dtype=float)
    return Subject(lambda: wp.launch(transpose_kernel, dim=(n, n), inputs=[x, y]), [x], y, np.transpose)


@wp.kernel
def products_kernel(a: wp.array(dtype=wp.mat44), b: wp.array(dtype=wp.mat44), c: wp.array(dtype=wp.mat44)):
    i = wp.tid()
    c[i] = a[i] * b[i]


def products(n):
    a, b = (wp.array(random(n, 4, 4, seed=s), dtype=wp.mat44) for s in (1, 2))
    c = wp.zeros(n, dtype=wp.mat44)
    return Subject(lambda: wp.launch(products_kernel, dim=n, inputs=[a, b, c]), [a, b], c, np.matmul)


def fresh(n):
    """An array that is made, used once and dropped, as programs do in each step."""
    x = wp.array(random(n))

    last = wp.zeros(n, dtype=float)

    def launches():
        y = wp.zeros(n, dtype=float)
        wp.launch(saxpy_kernel, dim=n, inputs=[1.0, x, y])
        wp.copy(last, y, count=16)

    return Subject(launches, [x], last, lambda x: np.where(np.arange(n) < 16, x, 0.0))


def _stream(name, subject, n, bytes_each, gate=None, **gates):
    return Row(name, forward(subject), {"n": n}, gate, bytes_each * n / 1e9, "GB/s", "copy", gates=gates)


ROWS = [
    _stream("saxpy_2^25", saxpy, 2**25, 12, 4.5, torch=0.95, numba=0.95),
    _stream("saxpy_2^18", saxpy, 2**18, 12, 4.0),
    _stream("saxpy_2^14", saxpy, 2**14, 12, 4.0, torch=0.95, numba=0.95),
    _stream("normalise_2^23", normalise, 2**23, 24, 5.5),
    _stream("copy_2^24", copy, 2**24, 8),
    _stream("fields_19_2^20", fields, 2**20, 2 * 4 * 19),
    Row("transpose_4096", forward(transpose), {"n": 4096}, None, 8 * 4096**2 / 1e9, "GB/s", "copy"),
    _stream("matrices_2^19", products, 2**19, 192, 1.7),
    _stream("fresh_2^22", fresh, 2**22, 12),
]
