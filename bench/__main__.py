"""Compares this checkout with another implementation of Warp: `python -m bench [row...] --peer /path/to/python`.

Each row's results are compared after its first run; then both sides are timed in turn. Prints the median time of each
side, its spread (the distance of the quartiles over the median) and the ratio of the medians: above 1, this is faster.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


class Side:
    def __init__(self, python, threads):
        command = [python, HERE / "worker.py"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE)
        self.ask(f"threads {threads}")

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise SystemExit(f"bench: a side ended at '{command}'")
        return answer


def quartiles(times):
    ordered = sorted(times)
    return ordered[len(ordered) // 4], statistics.median(ordered), ordered[3 * len(ordered) // 4]


def main():
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--peer", help="the interpreter of the other implementation")
    parser.add_argument("--threads", type=int, default=0, help="threads of this side; 0: one a core")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()

    sides = [Side(sys.executable, options.threads)]
    if options.peer:
        sides.append(Side(options.peer, options.threads))
    names = options.rows or sides[0].ask("list").split()
    print(f"{'row':16} {'ms':>9} {'spread':>7} {'peer ms':>9} {'spread':>7} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            results = []
            for k, side in enumerate(sides):
                side.ask(f"row {name} {folder}/{k}.npy")
                results.append(np.load(f"{folder}/{k}.npy"))
            if len(results) == 2:
                np.testing.assert_allclose(results[0], results[1], rtol=2e-3, atol=1e-4, err_msg=name)
            repeats = [max(1, int(0.02 / float(side.ask("time 2")))) for side in sides]
            times = [[] for _ in sides]
            for _ in range(options.rounds):
                for side, count, mine in zip(sides, repeats, times, strict=True):
                    mine.append(float(side.ask(f"time {count}")))
            cells = f"{name:16}"
            medians = []
            for mine in times:
                low, middle, high = quartiles(mine)
                medians.append(middle)
                cells += f" {1e3 * middle:9.4f} {(high - low) / middle:7.1%}"
            if len(medians) == 2:
                cells += f" {medians[1] / medians[0]:7.2f}"
            print(cells, flush=True)


if __name__ == "__main__":
    main()
