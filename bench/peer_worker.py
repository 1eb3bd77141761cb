"""Runs the rows of one library of peers/, as worker.py does for Warp.

Arguments: the library's name; threads, 0 being one a core.
"""

import os
import sys

import worker_loop

answers = worker_loop.answers()
name, threads = sys.argv[1], int(sys.argv[2])
if threads > 0:  # before the library makes its own
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])

import importlib  # noqa: E402

from peers import maker  # noqa: E402
from problem import Problem  # noqa: E402

try:
    library = importlib.import_module(f"peers.with_{name}")
except ImportError as error:
    print(f"missing: {error}", file=answers, flush=True)
    sys.exit()
print("ok", file=answers, flush=True)


class Worker(worker_loop.Worker):
    def has(self, row):
        return "no" if maker(library, row) is None else "yes"

    def row(self, row, path):
        problem = Problem.load(path)
        self.run_once, output = maker(library, row)(*problem.inputs)
        self.run_once()
        problem.check(output())

    def run(self, times):
        for _ in range(times):
            self.run_once()


Worker().serve(answers)
