"""Checks gradients of random kernels against central differences of the same text run as Python.

Run:  python tests/python/support/check_random_kernels.py --count 10000 [--first SEED] [--counters] [--verbose]

Prints how many were right, refused (by reason), uncheckable (the differences themselves disagree: a kink is near) and
wrong; exits with 1 when one is wrong or more than 2 % are refused.
"""

import argparse
import importlib.util
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import warp as wp

sys.path.insert(0, str(Path(__file__).parent.parent))
from support import random_kernels as rk

HEAD = "import warp as wp\nD1 = wp.array(dtype=wp.float64)\nI1 = wp.array(dtype=wp.int32)\n\n" + rk.HEAD


@wp.kernel
def weighted_sum(
    a: wp.array(dtype=wp.float64),
    y: wp.array(dtype=wp.float64),
    h: wp.array(dtype=wp.float64),
    w: wp.array(dtype=wp.float64),
    loss: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    wp.atomic_add(loss, 0, w[i] * (a[i] + y[i] + h[i]))


def load(text, folder, name):
    """The kernel of a program, compiled from a file, as kernels are, and the struct that it takes."""
    path = Path(folder) / f"{name}.py"
    path.write_text(HEAD + text.replace("def kernel(", "@wp.kernel\ndef kernel("))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    holder = module.Holder()
    rk.fill_holder(holder, wp.vec3d)
    return module.kernel, holder


def close(got, want, tolerance):
    return bool(np.all(np.abs(got - want) <= tolerance * (1.0 + np.abs(want))))


def derive(seed, text, folder, counters=False):
    """(values of a, y, h after a program, d(sum(w * (y + a + h))) / d(x, a, h)), by the program as a kernel.

    In the place of gradients that are refused, the error.
    """
    x, a, y, n, h = rk.inputs(seed, counters)
    kernel, holder = load(text, folder, f"random_{seed}")
    arrays = [wp.array(v, dtype=wp.float64, requires_grad=True) for v in (x, a, y, h)]
    holder.h = arrays[3]
    turns = wp.array(n, dtype=wp.int32)
    weights = wp.array(rk.weights(), dtype=wp.float64)
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim=rk.ITEMS, inputs=[*arrays[:3], turns, holder])
        wp.launch(weighted_sum, dim=rk.ITEMS, inputs=[*arrays[1:], weights, loss])
    found = [np.array(v.numpy()) for v in arrays[1:]]
    # Half of the time everything is overwritten before the backward pass.
    for v in arrays if seed % 2 else ():
        v.fill_(7.0)
    if seed % 2 and counters:
        turns.fill_(7)
    try:
        tape.backward(loss)
    except wp.WarpGradientError as error:
        return found, error
    return found, [arrays[k].grad.numpy() for k in (0, 1, 3)]


def check(seed, folder, counters=False):
    """('right' | 'refused' | 'uncheckable' | 'wrong forward' | 'wrong gradient', detail) of one program."""
    text = rk.program(seed, counters)
    plain = rk.Plain(text)
    numbers = rk.inputs(seed, counters)
    try:
        want = plain.run(*numbers)
    except (ValueError, OverflowError) as error:  # Python's mathematics has no NaN where a function is not defined
        return "uncheckable", str(error)
    if not all(np.all(np.isfinite(v)) for v in want):
        return "uncheckable", "not finite"
    found, got = derive(seed, text, folder, counters)
    if not all(close(f, w, 1e-9) for f, w in zip(found, want, strict=True)):
        return "wrong forward", f"{found}\nwanted {want}\n{text}"
    if isinstance(got, wp.WarpGradientError):
        return "refused", str(got).split("\n")[0]
    fine, coarse = plain.gradient(*numbers, 1e-6), plain.gradient(*numbers, 1e-5)
    if not all(close(f, c, 1e-4) for f, c in zip(fine, coarse, strict=True)):
        return "uncheckable", "the differences disagree"
    if all(close(g, w, 2e-5) for g, w in zip(got, fine, strict=True)):
        return "right", ""
    return "wrong gradient", f"{got}\nwanted {fine}\n{text}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--counters", action="store_true", help="programs whose items take slots from counters")
    parser.add_argument("--verbose", action="store_true", help="print each program that is not right")
    arguments = parser.parse_args()
    results, reasons, bad = Counter(), Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.first, arguments.first + arguments.count):
            try:
                result, detail = check(seed, folder, arguments.counters)
            except Exception as error:  # a fault of ours: named with its seed
                text = rk.program(seed, arguments.counters)
                result, detail = "raised", f"{type(error).__name__}: {error}\n{text}"
            results[result] += 1
            if result == "refused":
                reasons[detail] += 1
            if result.startswith("wrong") or result == "raised":
                bad.append(seed)
                if arguments.verbose:
                    print(f"--- {seed}: {result}\n{detail}")
            if seed % 500 == 499:
                print(seed + 1, dict(results), flush=True)
    print(dict(results))
    for reason, count in reasons.most_common():
        print(f"  refused {count}: {reason}")
    if bad:
        print("bad seeds:", *bad[:40])
    return 1 if bad or results["refused"] > 0.02 * arguments.count else 0


if __name__ == "__main__":
    raise SystemExit(main())
