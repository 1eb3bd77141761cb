"""What gradients through run-time loops cost: time against the forward kernel, and memory of the adjoint's stacks."""

import time

import warp as wp
from warp import _core


@wp.kernel
def counted(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    s = x[i]
    for _ in range(n):
        s = s * 0.5 + wp.sin(s)
    out[i] = s


@wp.kernel
def until(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    s = x[i]
    k = int(0)  # noqa: RUF046 - a variable, not a constant
    while k < n:
        s = s * 0.5 + wp.sin(s)
        k += 1
    out[i] = s


@wp.kernel
def nested(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    s = x[i]
    for _ in range(n // 10):
        v = wp.vec3(s, x[i], 1.0)
        for _ in range(10):
            v = v * 0.5 + wp.vec3(wp.sin(v[1]), v[0] * v[2], 0.1)
        s += 0.1 * v[0]
    out[i] = s


def _best(work, repeat):
    work()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def _measure(kernel, turns, items, repeat):
    x = wp.full(items, 0.7, dtype=float, requires_grad=True)
    out = wp.zeros(items, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, items, [x, turns, out])
    seed = wp.full(items, 1.0, dtype=float)
    _core.reset_stack_peak()
    forward = _best(lambda: wp.launch(kernel, items, [x, turns, out]), repeat)
    backward = _best(lambda: tape.backward(grads={out: seed}), repeat)
    return {
        "kernel": kernel.key,
        "turns": turns,
        "items": items,
        "forward_ms": forward,
        "backward_ms": backward,
        "stack_bytes_per_item": _core.stack_peak_bytes(),
    }


def run(repeat=5):
    """Figures of each kernel for loops of several lengths."""
    rows = []
    for kernel in (counted, until, nested):
        for turns in (10, 100, 1000, 10_000, 100_000, 1_000_000):
            rows.append(_measure(kernel, turns, max(4, min(1024, 1_000_000 // turns)), repeat))
    return rows


def table(rows):
    heads = f"{'kernel':<10}{'turns':>9}{'items':>7}{'forward ms':>12}{'backward ms':>13}{'ratio':>7}"
    lines = [heads + f"{'stack bytes an item':>21}"]
    for r in rows:
        lines.append(
            f"{r['kernel']:<10}{r['turns']:>9}{r['items']:>7}{r['forward_ms']:>12.3f}{r['backward_ms']:>13.3f}"
            f"{r['backward_ms'] / r['forward_ms']:>7.2f}{r['stack_bytes_per_item']:>21}"
        )
    return "\n".join(lines)
