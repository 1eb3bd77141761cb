"""Runs rows for bench/__main__.py, in the interpreter of one implementation: reads commands, answers a line each."""

import os
import sys
import time

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the implementation prints is no answer

import warp as wp  # noqa: E402

wp.config.quiet = True
wp.init()

from subjects import ROWS  # noqa: E402

work = None


def prepare(name):
    global work
    row = ROWS[name]
    work = row.make(**row.sizes)
    work.run()
    wp.synchronize()
    try:
        work.check()
    except AssertionError as error:
        return f"wrong: {error}".replace("\n", " ")
    return "ok"


def seconds(times):
    start = time.perf_counter()
    told = [work.run() for _ in range(times)]
    wp.synchronize()
    spent = time.perf_counter() - start
    return (spent if told[0] is None else sum(told)) / times


def answer(command, word):
    if command == "device":
        wp.set_device(word)
        return "ok"
    if command == "threads":
        wp.config.cpu_threads = int(word)
        return "ok"
    return prepare(word) if command == "row" else seconds(int(word))


for line in sys.stdin:
    print(answer(*line.split()), file=answers, flush=True)
