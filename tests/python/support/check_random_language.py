"""Many random programs of the kernel language against Python, in several processes.

usage: check_random_language.py [--first SEED] [--count N] [--jobs N]      prints what differs; exit status 1 if any
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
from pathlib import Path

BATCH = 25  # programs in a kernel
CHUNK = 500  # programs in a process: the package keeps the syntax tree of every file


def check_batch(first):
    """The programs of one batch; every other batch is compiled without optimisation, which is quicker."""
    import warp as wp
    from support.random_language_meaning import check

    wp.config.optimization_level = 0 if first // BATCH % 2 else None
    try:
        return check(range(first, first + BATCH))
    except Exception as error:
        return [(first, "this batch", f"{type(error).__name__}: {error}")]


def check_chunk(first, device="cpu"):
    """What differs in one chunk, by a process of its own."""
    command = [sys.executable, __file__, "--chunk", str(first), "--device", device]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return [(first, "this chunk", f"exit status {done.returncode}\n{done.stderr[-2000:]}")]
    return json.loads(done.stdout.splitlines()[-1])


def check_many(first, count, jobs=None, device="cpu"):
    """Yields what differs, as (seed, where, text)."""
    with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        for done, differ in enumerate(pool.map(lambda f: check_chunk(f, device), range(first, first + count, CHUNK))):
            yield from differ
            if __name__ == "__main__":
                print(f"{(done + 1) * CHUNK} programs", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--chunk", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.chunk is not None:
        import warp as wp

        wp.config.cache_kernels = False
        wp.set_device(given.device)
        sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
        batches = range(given.chunk, given.chunk + CHUNK, BATCH)
        print(json.dumps([found for first in batches for found in check_batch(first)]))
        return 0
    differ = 0
    for seed, where, text in check_many(given.first, given.count, given.jobs, given.device):
        differ += 1
        print(f"differs: seed {seed}, {where}\n{text}", flush=True)
    print(f"{given.count} programs, {differ} differ")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
