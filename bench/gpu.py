"""Rows of a GPU: bandwidth, n-body, sums, host time of launches.

usage: python bench/gpu.py [--device cuda:0]     prints a name and a figure a line

It measures whichever `warp` PYTHONPATH names, so that two packages that run in turn compare. Results are checked before
they are timed.
"""

import argparse
import statistics
import time

import numpy as np

import warp as wp


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def normalize(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = wp.normalize(x[i])


@wp.kernel
def transpose(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[j, i] = x[i, j]


@wp.kernel
def stencil(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i > 0 and j > 0 and i < x.shape[0] - 1 and j < x.shape[1] - 1:
        y[i, j] = x[i, j] + 0.1 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4.0 * x[i, j])


@wp.kernel
def nbody(pos: wp.array(dtype=wp.vec3), acc: wp.array(dtype=wp.vec3), n: int):
    i = wp.tid()
    p = pos[i]
    s = wp.vec3()
    for j in range(n):
        d = pos[j] - p
        r2 = wp.dot(d, d) + 1.0e-4
        inv = 1.0 / wp.sqrt(r2)
        s += d * (inv * inv * inv)
    acc[i] = s


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()])


@wp.kernel
def empty():
    pass


@wp.kernel
def nine(
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
    a[i] = g


class Bench:
    def __init__(self, device):
        self.device = device
        self.rng = np.random.default_rng(0)

    def random(self, *shape, dtype=float):
        return wp.array(self.rng.random(shape, dtype=np.float32), dtype=dtype, device=self.device)

    def milliseconds(self, work, turns=20):
        """Of one turn: the median of seven rounds between two events, so that launch time is not in it."""
        begin, end = (wp.Event(self.device, enable_timing=True) for _ in range(2))
        stream = wp.get_stream(self.device)
        work()
        wp.synchronize_device(self.device)
        rounds = []
        for _ in range(7):
            stream.record_event(begin)
            for _ in range(turns):
                work()
            stream.record_event(end)
            rounds.append(wp.get_event_elapsed_time(begin, end) / turns)
        return statistics.median(rounds)

    def host_microseconds(self, work, turns=2000):
        """Of one of the calls that `work` makes so many of."""
        rounds = []
        for _ in range(9):
            wp.synchronize_device(self.device)
            start = time.perf_counter()
            work(turns)
            rounds.append((time.perf_counter() - start) / turns * 1e6)
        wp.synchronize_device(self.device)
        return statistics.median(rounds)

    def launch(self, kernel, dim, *arguments, **options):
        return wp.launch(kernel, dim, list(arguments), device=self.device, **options)

    def rows(self):
        n = 1 << 27
        x, y = self.random(n), self.random(n)
        before = y.numpy()[:1000]
        self.launch(saxpy, n, x, y, 0.5)
        np.testing.assert_allclose(y.numpy()[:1000], 0.5 * x.numpy()[:1000] + before, rtol=1e-6)
        yield "saxpy, GB/s", 12 * n / self.milliseconds(lambda: self.launch(saxpy, n, x, y, 0.5)) / 1e6
        yield "copy, GB/s", 8 * n / self.milliseconds(lambda: wp.copy(y, x)) / 1e6

        out = wp.zeros(1, dtype=float, device=self.device)
        count = 1 << 24
        self.launch(total, count, x, out)
        np.testing.assert_allclose(out.numpy()[0], x.numpy()[:count].sum(dtype=np.float64), rtol=1e-3)
        yield "sum by atomics, G/s", count / self.milliseconds(lambda: self.launch(total, count, x, out), 3) / 1e6

        m = n // 3
        v, w = self.random(m, 3, dtype=wp.vec3), wp.zeros(m, dtype=wp.vec3, device=self.device)
        yield "normalise, GB/s", 24 * m / self.milliseconds(lambda: self.launch(normalize, m, v, w)) / 1e6

        a, b = self.random(8192, 8192), wp.zeros((8192, 8192), dtype=float, device=self.device)
        self.launch(transpose, a.shape, a, b)
        assert (b.numpy() == a.numpy().T).all()
        yield "transpose, GB/s", 8 * a.size / self.milliseconds(lambda: self.launch(transpose, a.shape, a, b)) / 1e6
        yield "stencil, G cells/s", a.size / self.milliseconds(lambda: self.launch(stencil, a.shape, a, b)) / 1e6

        k = 65536
        p, q = self.random(k, 3, dtype=wp.vec3), wp.zeros(k, dtype=wp.vec3, device=self.device)
        spent = self.milliseconds(lambda: self.launch(nbody, k, p, q, k), 3)
        d = p.numpy().astype(np.float64) - p.numpy()[0]
        wanted = (d * (((d * d).sum(1) + 1e-4) ** -1.5)[:, None]).sum(0)
        np.testing.assert_allclose(q.numpy()[0], wanted, rtol=1e-3)
        yield "n-body, G/s", k * k / spent / 1e6

        few = wp.zeros(16, dtype=float, device=self.device)
        arguments = [few] * 6 + [1.0, 2, 3.0]

        def launch_empty(turns):
            for _ in range(turns):
                wp.launch(empty, dim=1, device=self.device)

        def launch_nine(turns):
            for _ in range(turns):
                wp.launch(nine, dim=1, inputs=arguments, device=self.device)

        recorded = wp.launch(nine, dim=1, inputs=arguments, device=self.device, record_cmd=True)

        def launch_recorded(turns):
            for _ in range(turns):
                recorded.launch()

        launch_empty(1)
        launch_nine(1)
        yield "launch of none, us", self.host_microseconds(launch_empty)
        yield "launch of nine, us", self.host_microseconds(launch_nine)
        yield "recorded, us", self.host_microseconds(launch_recorded)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    wp.config.quiet = True
    wp.init()
    for name, figure in Bench(parser.parse_args().device).rows():
        print(f"{name:24}{figure:12.4g}", flush=True)


if __name__ == "__main__":
    main()
