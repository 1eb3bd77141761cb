"""What a process of the benchmark does whatever it measures: reads commands, answers a line each."""

import os
import sys
import time


def answers():
    """Where answers go; what is printed from now on is none."""
    file = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return file


class Worker:
    """A method is a command: it answers what it returns, or `ok`. `row` prepares, runs once and checks."""

    def time(self, times):
        """Seconds of one run: by the clock, and of all threads' processors (0: the work runs in other processes)."""
        times = int(times)
        start, used = time.perf_counter(), time.process_time()
        told = self.run(times)
        spent, used = time.perf_counter() - start, time.process_time() - used
        return f"{spent / times} {used / times}" if told is None else f"{told / times} 0"

    def serve(self, answers):
        for line in sys.stdin:
            command, *words = line.split()
            try:
                answer = getattr(self, command)(*words)
            except AssertionError as error:
                answer = f"wrong: {error}".replace("\n", " ")
            print("ok" if answer is None else answer, file=answers, flush=True)
