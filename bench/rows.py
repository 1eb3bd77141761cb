"""The rows of the benchmark: each a function that makes (run, result): `run()` does the work once and waits for it,
`result()` gives what is compared between implementations. Plain Warp programs: whichever `warp` is installed runs them.
"""

import numpy as np

import warp as wp

RANDOM = np.random.default_rng(1)


@wp.kernel
def saxpy_kernel(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


def saxpy(n=1_000_000):
    x = wp.array(RANDOM.random(n, dtype=np.float32))
    y = wp.array(RANDOM.random(n, dtype=np.float32))
    return lambda: wp.launch(saxpy_kernel, dim=n, inputs=[1e-3, x, y]), y.numpy


@wp.kernel
def normalise_kernel(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = wp.normalize(x[i])


def normalise(n=1_000_000):
    x = wp.array(RANDOM.random((n, 3), dtype=np.float32), dtype=wp.vec3)
    y = wp.zeros(n, dtype=wp.vec3)
    return lambda: wp.launch(normalise_kernel, dim=n, inputs=[x, y]), y.numpy


@wp.kernel
def bodies_kernel(x: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), n: int):
    i = wp.tid()
    p = x[i]
    total = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        d = x[j] - p
        r2 = wp.dot(d, d) + 0.01
        total += d / (r2 * wp.sqrt(r2))
    f[i] = total


def bodies(n=2000):
    x = wp.array(RANDOM.random((n, 3), dtype=np.float32), dtype=wp.vec3)
    f = wp.zeros(n, dtype=wp.vec3)
    return lambda: wp.launch(bodies_kernel, dim=n, inputs=[x, f, n]), f.numpy


@wp.kernel
def stencil_kernel(u: wp.array2d(dtype=float), v: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i > 0 and j > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1:
        v[i, j] = u[i, j] + 0.1 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])


def stencil(n=1000):
    u = wp.array(RANDOM.random((n, n), dtype=np.float32))
    v = wp.zeros((n, n), dtype=float)
    return lambda: wp.launch(stencil_kernel, dim=(n, n), inputs=[u, v]), v.numpy


@wp.kernel
def scatter_kernel(index: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, index[i], x[i])


def scatter(n=1_000_000, targets=10_000):
    index = wp.array(RANDOM.integers(0, targets, n, dtype=np.int32))
    x = wp.array(RANDOM.random(n, dtype=np.float32))
    out = wp.zeros(targets, dtype=float)
    return lambda: wp.launch(scatter_kernel, dim=n, inputs=[index, x, out]), out.numpy


@wp.kernel
def reduction_kernel(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, x[i])


def reduction(n=1_000_000):
    x = wp.array(RANDOM.random(n, dtype=np.float32))
    out = wp.zeros(1, dtype=float)
    return lambda: wp.launch(reduction_kernel, dim=n, inputs=[x, out]), out.numpy


@wp.func
def weight(k: int):
    w = 1.0 / 36.0
    if k == 0:
        w = 4.0 / 9.0
    elif k < 5:
        w = 1.0 / 9.0
    return w


@wp.kernel
def lattice_kernel(cx: wp.array(dtype=int), cy: wp.array(dtype=int), f: wp.array3d(dtype=float),
                   g: wp.array3d(dtype=float), omega: float):  # fmt: skip
    i, j = wp.tid()
    nx = f.shape[1]
    ny = f.shape[2]
    density = float(0.0)
    ux = float(0.0)
    uy = float(0.0)
    for k in range(9):
        v = f[k, i, j]
        density += v
        ux += v * float(cx[k])
        uy += v * float(cy[k])
    ux /= density
    uy /= density
    for k in range(9):
        c = 3.0 * (float(cx[k]) * ux + float(cy[k]) * uy)
        wanted = weight(k) * density * (1.0 + c + 0.5 * c * c - 1.5 * (ux * ux + uy * uy))
        a = (i + cx[k] + nx) % nx
        b = (j + cy[k] + ny) % ny
        g[k, a, b] = f[k, i, j] + omega * (wanted - f[k, i, j])


def lattice(n=300):
    cx = wp.array(np.array([0, 1, 0, -1, 0, 1, -1, -1, 1], dtype=np.int32))
    cy = wp.array(np.array([0, 0, 1, 0, -1, 1, 1, -1, -1], dtype=np.int32))
    f = wp.array(1.0 + 0.1 * RANDOM.random((9, n, n), dtype=np.float32))
    g = wp.zeros((9, n, n), dtype=float)
    return lambda: wp.launch(lattice_kernel, dim=(n, n), inputs=[cx, cy, f, g, 1.2]), g.numpy


@wp.kernel
def waves_kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * wp.exp(-0.1 * x[i]) + wp.cos(3.0 * x[i])


def waves(n=1_000_000):
    x = wp.array(10.0 * RANDOM.random(n, dtype=np.float32))
    y = wp.zeros(n, dtype=float)
    return lambda: wp.launch(waves_kernel, dim=n, inputs=[x, y]), y.numpy


@wp.kernel
def length_kernel(v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.length(v[i])


def length(n=1_000_000):
    v = wp.array(RANDOM.random((n, 3), dtype=np.float32), dtype=wp.vec3)
    out = wp.zeros(n, dtype=float)
    return lambda: wp.launch(length_kernel, dim=n, inputs=[v, out]), out.numpy


def length_adjoint(n=1_000_000):
    v = wp.array(RANDOM.random((n, 3), dtype=np.float32) + 0.1, dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(n, dtype=float, requires_grad=True)
    seed = wp.array(np.ones(n, dtype=np.float32))
    adj_v = wp.zeros(n, dtype=wp.vec3)

    def run():
        wp.launch(length_kernel, dim=n, inputs=[v], outputs=[out], adj_inputs=[adj_v], adj_outputs=[seed], adjoint=True)

    return run, adj_v.numpy


ROWS = [saxpy, normalise, bodies, stencil, scatter, reduction, lattice, waves, length, length_adjoint]
