"""Compares this checkout with others: `python -m bench [row...] --peer /path/to/python --json out.json --plot out.png`.

Rows are named in subjects/; a name stands for all rows that begin with it. Each side checks a row's results against
float64; then the sides are timed in turn. Prints the median time of each side, its spread (the distance of the
quartiles over the median), the ratio of the medians (above 1, this is faster) beside what it has to reach, and what was
achieved: in absolute terms, and as a fraction of what the machine can do (probe.cpp).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from subjects import ROWS  # noqa: E402


class Side:
    def __init__(self, python, threads, device):
        self.python = python
        command = [python, HERE / "worker.py"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE)
        self.ask(f"threads {threads}")
        self.ask(f"device {device}")

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise SystemExit(f"bench: {self.python} ended at '{command}'")
        return answer

    def prepare(self, name):
        answer = self.ask(f"row {name}")
        if answer != "ok":
            raise SystemExit(f"bench: {name} of {self.python} is {answer}")


def spread(times):
    ordered = sorted(times)
    return (ordered[3 * len(ordered) // 4] - ordered[len(ordered) // 4]) / statistics.median(ordered)


def probe(threads):
    """What this machine's processor can do: {"copy": GB/s, "fma": GFLOP/s}; empty where there is no C++ compiler."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "probe")
        options = ["-O3", "-march=native", "-std=gnu++20", "-pthread"]
        try:
            subprocess.run([os.environ.get("CXX", "c++"), *options, HERE / "probe.cpp", "-o", path], check=True)
        except (OSError, subprocess.CalledProcessError):
            return {}
        figures = subprocess.run([path, str(threads)], check=True, capture_output=True, text=True).stdout.split()
    return dict(zip(("copy", "fma"), map(float, figures), strict=True))


def measure(row, sides, rounds):
    """Seconds of each round of each side."""
    for side in sides:
        side.prepare(row.name)
    rounds = row.rounds or rounds
    repeats = [1 if row.rounds else max(1, int(0.02 / float(side.ask("time 2")))) for side in sides]
    times = [[] for _ in sides]
    for _ in range(rounds):
        for side, count, mine in zip(sides, repeats, times, strict=True):
            mine.append(float(side.ask(f"time {count}")))
    return times


def figures(row, times, limits):
    medians = [statistics.median(mine) for mine in times]
    out = {
        "row": row.name,
        "unit": row.unit,
        "gate": row.gate,
        "seconds": medians,
        "spread": [spread(t) for t in times],
    }
    out["achieved"] = row.amount / medians[0] if row.amount else None
    out["ratio"] = medians[1] / medians[0] if len(medians) == 2 else None
    out["of_probe"] = out["achieved"] / limits[row.probe] if row.probe in limits else None
    return out


COLUMNS = (
    f"{'row':24}{'ms':>11}{'spread':>8}{'peer ms':>11}{'spread':>8}{'ratio':>8}{'gate':>6}{'achieved':>10} {'':9}probe"
)


def line(f):
    def cell(value, form, width):
        return f"{'' if value is None else format(value, form):>{width}}"

    out = f"{f['row']:24}"
    for k in range(2):
        told = k < len(f["seconds"])
        out += cell(1e3 * f["seconds"][k] if told else None, ".4f", 11) + cell(
            f["spread"][k] if told else None, ".1%", 8
        )
    out += cell(f["ratio"], ".2f", 8) + cell(f["gate"], "g", 6) + cell(f["achieved"], ".4g", 10)
    out += f" {f['unit'] if f['achieved'] else '':9}" + cell(f["of_probe"], ".0%", 5)
    return out + ("  missed" if f["gate"] and f["ratio"] and f["ratio"] < f["gate"] else "")


def plot(rows, path):
    """Ratios as bars, gates as marks."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [f for f in rows if f["ratio"]][::-1]
    figure, axes = pyplot.subplots(figsize=(8, 0.28 * len(rows) + 1))
    axes.barh([f["row"] for f in rows], [f["ratio"] for f in rows], color="#4a7ebb")
    gated = [(f["gate"], k) for k, f in enumerate(rows) if f["gate"]]
    axes.plot(*zip(*gated, strict=True), "k|", markersize=10, label="gate")
    axes.axvline(1.0, color="grey", linewidth=0.8)
    axes.set(xscale="log", xlabel="times faster")
    axes.legend()
    figure.savefig(path, bbox_inches="tight", dpi=120)


def chosen(names):
    for name in names:
        if not any(row.startswith(name) for row in ROWS):
            raise SystemExit(f"bench: no row is called '{name}'; there are {', '.join(ROWS)}")
    # A whole name means that row alone.
    return [
        row
        for name, row in ROWS.items()
        if not names or name in names or any(name.startswith(n) and n not in ROWS for n in names)
    ]


def main():
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--peer", help="the interpreter of the other implementation")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="threads of this side; 0: one a core")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", help="file for the figures")
    parser.add_argument("--plot", help="file for a picture of the ratios")
    options = parser.parse_args()

    rows = chosen(options.rows)
    sides = [Side(python, options.threads, options.device) for python in (sys.executable, options.peer) if python]
    limits = probe(options.threads or os.cpu_count()) if options.device == "cpu" else {}
    print("probe:", ", ".join(f"{name} {value:.4g}" for name, value in limits.items()))
    print(COLUMNS)
    measured = []
    for row in rows:
        measured.append(figures(row, measure(row, sides, options.rounds), limits))
        print(line(measured[-1]), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps({"probe": limits, "rows": measured}, indent=1))
    if options.plot:
        plot(measured, options.plot)


if __name__ == "__main__":
    main()
