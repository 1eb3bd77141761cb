import numpy as np


def saxpy(x, y):
    scaled = np.empty_like(x)

    def run():
        np.multiply(x, np.float32(1e-3), out=scaled)
        np.add(scaled, y, out=y)

    return run, lambda: y


def normalise(x):
    y = np.empty_like(x)
    return lambda: np.divide(x, np.sqrt(np.einsum("ij,ij->i", x, x))[:, None], out=y), lambda: y


def copy(x):
    y = np.empty_like(x)
    return lambda: np.copyto(y, x), lambda: y


def transpose(x):
    y = np.empty_like(x)
    return lambda: np.copyto(y, x.T), lambda: y


def products(a, b):
    c = np.empty_like(a)
    return lambda: np.matmul(a, b, out=c), lambda: c


def transcendental(x):
    y = np.empty_like(x)

    def run():
        np.sin(x, out=y)
        np.add(y, np.exp(-x), out=y)
        np.add(y, np.power(x, np.float32(1.7)), out=y)

    return run, lambda: y


def one_address(x):
    out = np.empty(1, dtype=np.float32)

    def run():
        out[0] = x.sum()

    return run, lambda: out


def scan(x):
    y = np.empty_like(x)
    return lambda: np.cumsum(x, out=y), lambda: y


def sort(keys, values):
    out = np.empty((2, len(keys)), dtype=keys.dtype)

    def run():
        order = np.argsort(keys, kind="stable")
        np.take(keys, order, out=out[0])
        np.take(values, order, out=out[1])

    return run, lambda: out


def scatter(x, at, targets):
    out = np.zeros(int(targets), dtype=np.float32)

    def run():
        out.fill(0)
        np.add.at(out, at, x)

    return run, lambda: out


def stencil(u):
    v = np.zeros_like(u)

    def run():
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + np.float32(0.1) * (around - np.float32(4.0) * u[1:-1, 1:-1])

    return run, lambda: v
