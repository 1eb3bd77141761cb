"""Compares gradients of random kernels with `jax.grad` of the same text, in float64.

Run:  python tests/python/support/check_against_jax.py --jax /path/to/python/with/jax [--count 300] [--first SEED]

JAX runs in an environment of its own, without jit, so that loops and branches are Python's. Prints how many agree to
1e-9 and exits with 1 when one does not.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from support import random_kernels as rk


def answer_with_jax():
    """Reads seeds, answers each with the gradients of its program, one line of JSON."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def names_for(item):
        names = rk.plain_warp(item)
        for f in ("sin", "cos", "exp", "sqrt", "tanh", "log"):
            setattr(names, f, getattr(jnp, f))
        names.min = lambda a, b: a if a < b else b
        names.max = lambda a, b: a if a > b else b
        names.abs = lambda v: v if v > 0 else -v
        names.length = lambda v: jnp.sqrt(rk._dot(v, v))
        return names

    def weighted_sum(code, x, a, h, y, n):
        x, a, h, y = ([v[i] for i in range(rk.ITEMS)] for v in (x, a, h, y))
        for item in range(rk.ITEMS):
            names = {"wp": names_for(item), "D1": None, "I1": None}
            exec(code, names)
            st = names["Holder"]()
            rk.fill_holder(st, rk.Vec3)
            st.h = h
            names["kernel"](x, a, y, n, st)
        return sum(w * (p + q + r) for w, p, q, r in zip(rk.weights(), a, y, h, strict=True))

    for line in sys.stdin:
        seed = int(line)
        code = compile(rk.HEAD + rk.program(seed), "<random kernel>", "exec")
        x, a, y, n, h = rk.inputs(seed)
        gradient = jax.grad(lambda x, a, h: weighted_sum(code, x, a, h, y, n), argnums=(0, 1, 2))  # noqa: B023
        found = gradient(*map(jnp.asarray, (x, a, h)))
        print(json.dumps([np.asarray(g).tolist() for g in found]), flush=True)


def compare(jax, first, count):
    import warp as wp
    from support.check_random_kernels import close, derive

    command = [jax, __file__, "--answer"]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    results, bad = Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            text = rk.program(seed)
            other.stdin.write(f"{seed}\n")
            other.stdin.flush()
            line = other.stdout.readline()
            if not line:
                raise SystemExit(f"JAX ended at program {seed}")
            want = [np.array(g) for g in json.loads(line)]
            _, got = derive(seed, text, folder)
            if isinstance(got, wp.WarpGradientError):
                results["refused"] += 1
            elif not all(np.all(np.isfinite(g)) for g in want):
                results["not finite"] += 1
            elif all(close(g, w, 1e-9) for g, w in zip(got, want, strict=True)):
                results["equal"] += 1
            else:
                results["different"] += 1
                bad.append(seed)
                print(f"--- {seed}\n{got}\nwanted {want}\n{text}")
    print(dict(results))
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jax", help="the interpreter of an environment with jax")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.answer:
        return answer_with_jax()
    if not arguments.jax:
        parser.error("--jax is missing")
    return compare(arguments.jax, arguments.first, arguments.count)


if __name__ == "__main__":
    raise SystemExit(main())
