"""What a launch costs its caller: kernels that do next to nothing, a thousand times."""

import numpy as np
from problem import assert_close, random
from row import Row, Subject, Work, gradient

import warp as wp

TIMES = 1000


@wp.kernel
def empty_kernel():
    pass


@wp.kernel
def nine_kernel(
    a: wp.array(dtype=float),
    b: wp.array(dtype=float),
    c: wp.array(dtype=float),
    d: wp.array(dtype=float),
    e: wp.array(dtype=float),
    f: wp.array(dtype=float),
    g: float,
    h: int,
    k: float,
):
    i = wp.tid()
    a[i] = g + b[i] * float(h) + k


def empty():
    def run():
        for _ in range(TIMES):
            wp.launch(empty_kernel, 1)

    return Work(run)


def _nine():
    arrays = [wp.array(np.full(16, 1.0 + s, dtype=np.float32)) for s in range(6)]
    return arrays, [*arrays, 1.0, 2, 3.0], lambda: assert_close(arrays[0].numpy(), np.full(16, 8.0), 0.0)


def nine():
    _, arguments, check = _nine()

    def run():
        for _ in range(TIMES):
            wp.launch(nine_kernel, 16, arguments)

    return Work(run, check)


def recorded():
    _, arguments, check = _nine()
    command = wp.launch(nine_kernel, 16, arguments, record_cmd=True)

    def run():
        for _ in range(TIMES):
            command.launch()

    return Work(run, check)


@wp.kernel
def decay(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 0.99 * x[i] + 0.01 * x[i] * x[i]


def chain(n, steps):
    states = [wp.array(random(n), requires_grad=True)]
    states += [wp.zeros(n, dtype=float, requires_grad=True) for _ in range(steps)]

    def launches():
        for k in range(steps):
            wp.launch(decay, n, [states[k], states[k + 1]])

    def reference(x):
        for _ in range(steps):
            x = np.float32(0.99) * x + np.float32(0.01) * x * x
        return x

    return Subject(launches, [states[0]], states[-1], reference)


ROWS = [
    Row("launch_empty", empty, {}, 5.0, TIMES / 1e6, "M/s"),
    Row("launch_9", nine, {}, 8.0, TIMES / 1e6, "M/s"),
    Row("launch_recorded", recorded, {}, 5.0, TIMES / 1e6, "M/s"),
    Row("taped_100", gradient(chain), {"n": 64, "steps": 100}, 4.0, 100 / 1e6, "M/s"),
]
