"""Compares this checkout with others: `python -m bench [row...] --peer /path/to/python --peer numba=/path/to/python
--peer numpy --json out.json --plot out.png`.

An interpreter alone has another Warp; a library of peers/ is named before its interpreter, or alone where it is in
this one. Rows are named in subjects/; a name stands for all rows that begin with it. Each side checks a row's results
against float64; then the sides are timed in turn. Prints this side's median time, its spread (the distance of the
quartiles over the median) and what was achieved, in absolute terms and as a fraction of what the machine can do
(probe.cpp); and of each other side the median and the spread of the ratios of times in a round (above 1, this is
faster) beside what it has to reach, and the ratio of the processors' times, which other programs disturb less.

`--instructions` counts this side's instructions instead (instructions.py).
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

import instructions  # noqa: E402
from subjects import ROWS  # noqa: E402


class Side:
    """A process of one implementation."""

    def __init__(self, name, python, script, *arguments):
        self.name = name
        command = [python, HERE / script, *map(str, arguments)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.answer(command)

    def answer(self, command):
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise SystemExit(f"bench: {self.name} ended at '{command}'")
        return answer

    def expect(self, command):
        answer = self.ask(command)
        if answer != "ok":
            raise SystemExit(f"bench: '{command}' of {self.name} is {answer}")

    def time(self, times):
        return [float(word) for word in self.ask(f"time {times}").split()]


def warp_side(name, python, options):
    side = Side(name, python, "worker.py")
    side.expect(f"threads {options.threads}")
    side.expect(f"device {options.device}")
    return side


def library_side(name, python, options):
    """None, said aloud, where the library is not installed."""
    side = Side(name, python, "peer_worker.py", name, options.threads)
    answer = side.answer("start")
    if answer == "ok":
        return side
    print(f"{name} is left out: {answer.removeprefix('missing: ')} ({python})")
    return None


def peers(options):
    sides = []
    for peer in options.peer:
        name, _, python = peer.rpartition("=") if "=" in peer else (peer, "", "")
        if (HERE / "peers" / f"with_{name}.py").exists():
            sides.append(library_side(name, python or sys.executable, options))
        elif name in ("", "warp") or not python:
            sides.append(warp_side("warp", python or name, options))
        else:
            known = sorted(path.stem.removeprefix("with_") for path in (HERE / "peers").glob("with_*.py"))
            raise SystemExit(f"bench: '{name}' is no library with rows; there are warp, {', '.join(known)}")
    return [side for side in sides if side is not None]


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


def prepared(row, sides, folder):
    """The sides that have the row, ready to be timed; the first one says what the others are given."""
    first, *others = sides
    libraries = [side for side in others if side.name != "warp" and side.ask(f"has {row.name}") == "yes"]
    ready = [side for side in sides if side.name == "warp" or side in libraries or side is first]
    path = os.path.join(folder, "problem.npz")
    for side in ready:
        if side in libraries:
            side.expect(f"row {row.name} {path}")
        else:
            side.expect(f"row {row.name}")
        if side is first and libraries:
            side.expect(f"save {path}")
    if libraries:
        os.remove(path)
    return ready


def measure(row, sides, rounds):
    """{side's name: [(seconds, seconds of processors) of each round]}"""
    rounds = row.rounds or rounds
    repeats = [1 if row.rounds else max(1, int(0.02 / side.time(2)[0])) for side in sides]
    times = {side.name: [] for side in sides}
    for _ in range(rounds):
        for side, count in zip(sides, repeats, strict=True):
            times[side.name].append(side.time(count))
    return times


def figures(row, times, limits):
    (_, mine), *others = times.items()
    seconds = statistics.median(wall for wall, _ in mine)
    achieved = row.amount / seconds if row.amount else None
    out = {
        "row": row.name,
        "seconds": seconds,
        "spread": spread([wall for wall, _ in mine]),
        "unit": row.unit,
        "achieved": achieved,
        "of_probe": achieved / limits[row.probe] if row.probe in limits else None,
        "peers": {},
    }
    for name, theirs in others:
        ratios = [b[0] / a[0] for a, b in zip(mine, theirs, strict=True)]
        own_processes = not any(cpu for _, cpu in mine)
        out["peers"][name] = {
            "seconds": statistics.median(wall for wall, _ in theirs),
            "ratio": statistics.median(ratios),
            "spread": spread(ratios),
            "cpu_ratio": None
            if own_processes
            else statistics.median(b[1] / a[1] for a, b in zip(mine, theirs, strict=True)),
            "gate": row.gate if name == "warp" else row.gates.get(name),
        }
    return out


PEER_WIDTH = 27


def heading(names):
    return f"{'row':24}{'ms':>11}{'spread':>8}{'achieved':>10} {'':9}{'probe':>5}" + "".join(
        f"{name + ' (processors)':>{PEER_WIDTH}}" for name in names
    )


def line(f, names):
    def cell(value, form, width):
        return f"{'' if value is None else format(value, form):>{width}}"

    out = f"{f['row']:24}" + cell(1e3 * f["seconds"], ".4f", 11) + cell(f["spread"], ".1%", 8)
    out += cell(f["achieved"], ".4g", 10) + f" {f['unit'] if f['achieved'] else '':9}" + cell(f["of_probe"], ".0%", 5)
    for name in names:
        peer = f["peers"].get(name)
        if peer is None:
            out += " " * PEER_WIDTH
            continue
        gate = f"/{peer['gate']:g}{'!' if peer['ratio'] < peer['gate'] else ''}" if peer["gate"] else ""
        cpu = "" if peer["cpu_ratio"] is None else f" ({peer['cpu_ratio']:.2f})"
        out += f"{peer['ratio']:.2f}{gate} ±{peer['spread']:.0%}{cpu}".rjust(PEER_WIDTH)
    return out.rstrip()


def plot(rows, names, path):
    """Ratios as bars, gates as marks; a colour a peer."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    bars = [(f["row"], name, f["peers"][name]) for f in rows[::-1] for name in names[::-1] if name in f["peers"]]
    places = []
    for k, (row, _, _) in enumerate(bars):
        same = k > 0 and bars[k - 1][0] == row
        places.append(places[-1] + (1.0 if same else 1.6) if places else 0.0)
    figure, axes = pyplot.subplots(figsize=(8, 0.2 * len(bars) + 1))
    for index, name in enumerate(names):
        mine = [(place, peer["ratio"]) for place, (_, of, peer) in zip(places, bars, strict=True) if of == name]
        if mine:
            axes.barh(*zip(*mine, strict=True), color=f"C{index}", label=name)
    gated = [(peer["gate"], place) for place, (_, _, peer) in zip(places, bars, strict=True) if peer["gate"]]
    if gated:
        axes.plot(*zip(*gated, strict=True), "k|", markersize=8, label="to be reached")
    axes.set_yticks(places, [row for row, _, _ in bars], fontsize=7)
    axes.axvline(1.0, color="grey", linewidth=0.8)
    axes.set(xscale="log", xlabel="times faster")
    axes.legend(fontsize=7)
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
    parser.add_argument("--peer", action="append", default=[], metavar="[LIBRARY=]PYTHON | LIBRARY")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="threads; 0: one a core")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", help="file for the figures")
    parser.add_argument("--plot", help="file for a picture of the ratios")
    parser.add_argument("--instructions", action="store_true", help="count instructions with valgrind")
    options = parser.parse_args()

    rows = chosen(options.rows)
    if options.instructions:
        if not instructions.is_there():
            raise SystemExit("bench: --instructions needs valgrind, which is not installed")
        for row in rows:
            print(instructions.line(row, instructions.counted(row, options.threads or 1)), flush=True)
        return
    others = peers(options)
    sides = [warp_side("this", sys.executable, options), *others]
    names = [side.name for side in others]
    limits = probe(options.threads or os.cpu_count()) if options.device == "cpu" else {}
    print("probe:", ", ".join(f"{name} {value:.4g}" for name, value in limits.items()))
    print(heading(names))
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            ready = prepared(row, sides, folder)
            measured.append(figures(row, measure(row, ready, options.rounds), limits))
            print(line(measured[-1], names), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps({"probe": limits, "rows": measured}, indent=1))
    if options.plot:
        plot(measured, names, options.plot)


if __name__ == "__main__":
    main()
