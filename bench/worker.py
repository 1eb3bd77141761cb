"""Runs rows for bench/__main__.py, in the interpreter of one implementation: reads commands, answers a line each."""

import os
import sys
import time

import numpy as np

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the implementation prints is no answer

import gradient_rows  # noqa: E402
import rows  # noqa: E402

import warp as wp  # noqa: E402

ROWS = {row.__name__: row for row in (*rows.ROWS, *gradient_rows.ROWS)}
run = result = None
for line in sys.stdin:
    command, *words = line.split()
    if command == "threads":
        wp.config.cpu_threads = int(words[0])
        wp.init()
        print("ok", file=answers, flush=True)
    elif command == "list":
        print(*ROWS, file=answers, flush=True)
    elif command == "row":
        run, result = ROWS[words[0]]()
        run()
        np.save(words[1], result())
        print("ok", file=answers, flush=True)
    elif command == "time":
        start = time.perf_counter()
        for _ in range(int(words[0])):
            run()
        wp.synchronize()
        print((time.perf_counter() - start) / int(words[0]), file=answers, flush=True)
