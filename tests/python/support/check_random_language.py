"""Many random programs of the kernel language against Python, in several processes.

usage: check_random_language.py [--first SEED] [--count N] [--jobs N]      prints what differs; exit status 1 if any
"""

import argparse
import concurrent.futures
import multiprocessing
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

BATCH = 25  # programs in a kernel


def check_batch(first):
    """The programs of one batch; every other batch is compiled without optimisation, which is quicker."""
    import warp as wp
    from support.random_language_meaning import check

    wp.config.cache_kernels = False
    wp.config.optimization_level = 0 if first // BATCH % 2 else None
    try:
        return [(seed, backend, text) for seed, backend, text in check(range(first, first + BATCH))]
    except Exception as error:
        return [(first, "in this batch", f"{type(error).__name__}: {error}")]


def check_many(first, count, jobs=None):
    """Yields what differs, as (seed, where, text)."""
    context = multiprocessing.get_context("spawn")
    starts = range(first, first + count, BATCH)
    # Workers do not live for ever: each file's syntax tree is kept.
    limits = {"max_tasks_per_child": 40} if sys.version_info >= (3, 11) else {}
    with concurrent.futures.ProcessPoolExecutor(jobs or os.cpu_count(), mp_context=context, **limits) as pool:
        for done, differ in enumerate(pool.map(check_batch, starts)):
            yield from differ
            if __name__ == "__main__" and done % 40 == 39:
                print(f"{(done + 1) * BATCH} programs", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--jobs", type=int)
    given = parser.parse_args()
    differ = 0
    for seed, where, text in check_many(given.first, given.count, given.jobs):
        differ += 1
        print(f"differs: seed {seed}, {where}\n{text}", flush=True)
    print(f"{given.count} programs, {differ} differ")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
