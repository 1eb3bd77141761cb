"""Runs rows for bench/__main__.py, in the interpreter of one implementation: reads commands, answers a line each."""

import os
import sys
import time

import numpy as np

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the implementation prints is no answer

import rows  # noqa: E402

import warp as wp  # noqa: E402

run = result = None
for line in sys.stdin:
    command, *words = line.split()
    if command == "threads":
        wp.config.cpu_threads = int(words[0])
        wp.init()
        print("ok", file=answers, flush=True)
    elif command == "list":
        print(*[row.__name__ for row in rows.ROWS], file=answers, flush=True)
    elif command == "row":
        run, result = getattr(rows, words[0])()
        run()
        np.save(words[1], result())
        print("ok", file=answers, flush=True)
    elif command == "time":
        start = time.perf_counter()
        for _ in range(int(words[0])):
            run()
        wp.synchronize()
        print((time.perf_counter() - start) / int(words[0]), file=answers, flush=True)
