"""What it costs a tape to find writes that it cannot see: 200 launches of 16 items, recorded and run backwards, while
NumPy views of all their arrays are alive, against the same while as many views of other arrays are.

    python -m bench.tape_cost
"""

import gc
import itertools
import statistics
import time

import warp as wp

LAUNCHES, ITEMS = 200, 16
PAIRS, RUNS = 80, 5


@wp.kernel
def step(a: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = a[i] * a[i]


def nanoseconds(arrays):
    """Of one tape."""
    start = time.perf_counter_ns()
    tape = wp.Tape()
    with tape:
        for a, o in itertools.pairwise(arrays):
            wp.launch(step, ITEMS, [a, o])
    tape.backward()
    return time.perf_counter_ns() - start


def fastest(arrays, viewed):
    views = [a.numpy() for a in viewed]
    found = min(nanoseconds(arrays) for _ in range(RUNS))
    del views
    return found


def main():
    wp.config.quiet = True
    arrays = [wp.full(ITEMS, 0.5, dtype=float, requires_grad=True) for _ in range(LAUNCHES + 1)]
    others = [wp.zeros(ITEMS, dtype=float) for _ in arrays]
    for _ in range(20):
        nanoseconds(arrays)
    gc.disable()
    pairs = [(fastest(arrays, others), fastest(arrays, arrays)) for _ in range(PAIRS)]
    without = statistics.median(a for a, _ in pairs)
    more = statistics.median(b - a for a, b in pairs)
    print(f"a launch {without / LAUNCHES:.0f} ns, views alive {more / LAUNCHES:.0f} more: {100 * more / without:.1f} %")


if __name__ == "__main__":
    main()
