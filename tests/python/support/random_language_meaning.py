"""What the programs of random_language.py mean in Python, and how they are run and compared."""

import linecache
import warnings

import numpy as np

import warp as wp

from .random_language import SIZE, make_batch

ITEMS = 3  # of each program, on data of their own: side by side in lanes where the kernel allows it


def wrapped(n, bits):
    n = int(n) % 2**bits
    return n - 2**bits if n >= 2 ** (bits - 1) else n


def int32(n):
    return np.int32(wrapped(n, 32))


def int64(n):
    return np.int64(wrapped(n, 64))


def uint8(n):
    return np.uint8(int(n) % 256)


def floordiv(a, b):
    return int32(int(a) // int(b))


def quotient(a, b):
    q = abs(int(a)) // abs(int(b))
    return int32(q if (a < 0) == (b < 0) else -q)


def remainder(a, b):
    return int32(int(a) - int(b) * int(quotient(a, b)))


def truncated(x):
    """A float as int32: what does not fit is the least number."""
    return np.int32(int(x)) if -(2.0**31) - 1 < x < 2.0**31 else np.int32(-(2**31))


class P:
    def __init__(self, a, v):
        self.a, self.v = a, v

    def copy(self):
        return P(self.a, self.v.copy())


class R:
    def __init__(self, p, b):
        self.p, self.b = p, b


def bump(x, by):
    x = int32(int(x) + int(by))
    return by if x > 1000 else x


def blend(x, y):
    return x * 0.5 + y


def fill(a, n, start):
    for i in range(n):
        a[i] = int(a[i]) ^ int(int32(int(start) + i))
    return a[n - 1]


def moved(p, n):
    return P(int32(int(p.a) - int(n)), p.v * 0.5)


def pick(n, x, scale=2.0, limit=5):
    if n > limit:
        return x * scale
    return x - np.float64(n) if 0 <= n < 4 else -x


def first_above(a, x):
    return np.int32(next((i for i in range(len(a)) if a[i] > x), -1))


def dot3(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross3(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def product2(a, b):
    return np.array([[a[i][0] * b[0][j] + a[i][1] * b[1][j] for j in range(2)] for i in range(2)])


MEANING = {f.__name__: f for f in (int32, int64, uint8, floordiv, quotient, remainder, truncated, P, R, bump, blend)}
MEANING |= {f.__name__: f for f in (fill, moved, pick, first_above, dot3, cross3, product2)}
MEANING["np"] = np


def inputs(seeds):
    shape = (len(seeds), ITEMS, SIZE)
    ks, xs = np.zeros(shape, np.int32), np.zeros(shape)
    for place, seed in enumerate(seeds):
        rng = np.random.default_rng(seed)
        ks[place], xs[place] = rng.integers(-20, 20, shape[1:]), rng.integers(-8, 8, shape[1:]) / 4.0
    return ks, xs


def run_python(texts, ks, xs):
    """The results of the Python programs."""
    ko, xo = np.zeros(ks.shape, np.int32), np.zeros(xs.shape)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, text in enumerate(texts):
            names = dict(MEANING)
            exec(compile(text, "<python>", "exec"), names)
            for item in range(ITEMS):
                names["p"](ks[place, item], xs[place, item], ko[place, item], xo[place, item])
    return ko, xo


def check(seeds):
    """Runs a batch of programs and the same as Python; returns (seed, backend, text) of those that differ.

    On the CPU both backends run them. The kernels tell GPUs not to round products and sums at once.
    """
    seeds = list(seeds)
    backends = ("llvm", "cxx") if wp.get_device().is_cpu else ("llvm",)
    text, python = make_batch(seeds)
    ks, xs = inputs(seeds)
    wanted = run_python(python, ks, xs)
    path = f"<random {seeds[0]} to {seeds[-1]}>"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    names = {"__name__": "random_language"}
    exec(compile(text, path, "exec"), names)
    differ = []
    before = wp.config.cpu_backend
    for backend in backends:
        wp.config.cpu_backend = backend
        try:
            outputs = [wp.zeros(ks.shape, dtype=int), wp.zeros(xs.shape, dtype=wp.float64)]
            wp.launch(names["k"], dim=ITEMS, inputs=[wp.array(ks), wp.array(xs), *outputs])
        finally:
            wp.config.cpu_backend = before
        same = np.ones(len(seeds), bool)
        for found, expected in zip(outputs, wanted, strict=True):
            pairs = zip(found.numpy(), expected, strict=True)
            same &= np.array([np.array_equal(f, e, equal_nan=True) for f, e in pairs])
        differ += [(seed, backend, python[k]) for k, seed in enumerate(seeds) if not same[k]]
    return differ
