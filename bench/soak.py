"""Whether memory stays flat: launches, kernels made by a factory and dropped, captured graphs.

    python -m bench.soak [--device cuda:0] [--launches N] [--kernels N] [--captures N]

Prints what the process (resident) and the device (used) hold after the first tenth of each kind of work and after all
of it, in MiB, and how much a turn of the rest left behind. Caches and pools are filled in the first tenth.
"""

import argparse
import gc

import numpy as np

import warp as wp

MIB = 1024.0 * 1024.0


@wp.kernel
def add(x: wp.array(dtype=float), y: wp.array(dtype=float), scale: float):
    i = wp.tid()
    y[i] = y[i] + scale * x[i]


def made(number):
    @wp.kernel(module="unique")
    def kernel(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * 0.5 + float(number)

    return kernel


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / MIB


def used(device):
    return (device.total_memory - device.free_memory) / MIB if device.is_cuda else 0.0


class Soak:
    def __init__(self, device):
        self.device = device
        self.x, self.y = (wp.zeros(256, dtype=float, device=device) for _ in range(2))

    def launch(self, number):
        wp.launch(add, 256, [self.x, self.y, 1.0], device=self.device)
        if number % 1000 == 999:
            wp.synchronize_device(self.device)

    def factory(self, number):
        wp.launch(made(number), 256, [self.x], device=self.device)
        if number % 50 == 49:
            wp.synchronize_device(self.device)
            assert (self.x.numpy() >= number).all()
            gc.collect()

    def capture(self, number):
        with wp.ScopedCapture(self.device) as capture:
            z = wp.zeros(256, dtype=float, device=self.device)
            wp.launch(add, 256, [self.x, z, 1.0], device=self.device)
            wp.copy(self.y, z)
        wp.capture_launch(capture.graph)
        if number % 100 == 99:
            wp.synchronize_device(self.device)
            np.testing.assert_array_equal(self.y.numpy(), self.x.numpy())

    def held(self):
        gc.collect()
        wp.synchronize_device(self.device)
        return resident(), used(self.device)

    def rows(self, counts):
        for name, turn, count in counts:
            for number in range(count // 10):
                turn(number)
            early = self.held()
            for number in range(count // 10, count):
                turn(number)
            late = self.held()
            yield name, count, early, late, (late[0] - early[0]) * 1024.0 / max(1, count - count // 10)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=None)
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--kernels", type=int, default=2_000)
    parser.add_argument("--captures", type=int, default=10_000)
    options = parser.parse_args()
    wp.config.quiet = True
    device = wp.get_device(options.device)
    soak = Soak(device)
    counts = [
        ("launches", soak.launch, options.launches),
        ("kernels", soak.factory, options.kernels),
        ("captures", soak.capture, options.captures),
    ]
    print(f"{'on ' + str(device):12}{'turns':>10}{'process MiB':>22}{'device MiB':>22}{'KiB a turn':>12}")
    for name, count, early, late, left in soak.rows(counts):
        process, memory = (f"{early[k]:.1f} -> {late[k]:.1f}" for k in range(2))
        print(f"{name:12}{count:10}{process:>22}{memory:>22}{left:12.3f}", flush=True)


if __name__ == "__main__":
    main()
