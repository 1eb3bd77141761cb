"""How long compiling takes, stage by stage: measured in fresh processes, with an empty cache and with a filled one."""

import json
import os
import statistics
import subprocess
import sys
import tempfile

# Two kernels of one shape: the second one tells what a compile costs once the compiler is loaded.
PROGRAM = """
import sys, time
start = time.perf_counter()
import warp as wp
imported = time.perf_counter()
import json

@wp.kernel
def length(points: wp.array(dtype=wp.vec3), lengths: wp.array(dtype=float)):
    tid = wp.tid()
    lengths[tid] = wp.length(points[tid])

@wp.kernel
def twice(points: wp.array(dtype=wp.vec3), lengths: wp.array(dtype=float)):
    tid = wp.tid()
    lengths[tid] = 2.0 * wp.length(points[tid])

def measure(kernel):
    points, lengths = wp.zeros(1024, dtype=wp.vec3), wp.zeros(1024, dtype=float)
    begin = time.perf_counter()
    wp.launch(kernel, dim=1024, inputs=[points, lengths])
    first = time.perf_counter()
    for _ in range(1000):
        wp.launch(kernel, dim=1024, inputs=[points, lengths])
    end = time.perf_counter()
    stages, cached = kernel._times()
    stages.insert(0, ("source", kernel.source_milliseconds))
    return {"stages": stages, "from_cache": cached, "first_launch": (first - begin) * 1e3, "launch": end - first}

out = {"import": (imported - start) * 1e3, "length": measure(length), "twice": measure(twice)}
print(json.dumps(out))
"""


def _process(path, cache):
    environment = {**os.environ, "WARP_CACHE_PATH": cache}
    done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _median(runs, kernel):
    """Medians of the figures of one kernel over several processes."""
    stages = {}
    for run in runs:
        for name, milliseconds in run[kernel]["stages"]:
            stages.setdefault(name, []).append(milliseconds)
    return {
        "stages": {name: statistics.median(values) for name, values in stages.items()},
        "first_launch": statistics.median(r[kernel]["first_launch"] for r in runs),
        "launch_us": statistics.median(r[kernel]["launch"] for r in runs) * 1e3,
        "from_cache": all(r[kernel]["from_cache"] for r in runs),
    }


def run(repeat=5):
    """Figures in milliseconds: {"import", "first", "further", "cached"}."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.py")
        with open(path, "w") as file:
            file.write(PROGRAM)
        cold = [_process(path, os.path.join(folder, f"cache{i}")) for i in range(repeat)]
        warm = [_process(path, os.path.join(folder, "cache0")) for _ in range(repeat)]
    return {
        "import": statistics.median(r["import"] for r in cold + warm),
        "first": _median(cold, "length"),
        "further": _median(cold, "twice"),
        "cached": _median(warm, "length"),
    }


def table(result):
    columns = ("first", "further", "cached")
    names = []
    for column in columns:
        names += [n for n in result[column]["stages"] if n not in names]
    lines = [f"{'milliseconds':<14}" + "".join(f"{c:>10}" for c in columns)]
    for name in names:
        cells = (result[c]["stages"].get(name) for c in columns)
        lines.append(f"{name:<14}" + "".join(f"{'' if v is None else format(v, '.2f'):>10}" for v in cells))
    lines.append(f"{'first launch':<14}" + "".join(f"{result[c]['first_launch']:>10.2f}" for c in columns))
    lines.append(f"{'a launch (us)':<14}" + "".join(f"{result[c]['launch_us']:>10.2f}" for c in columns))
    lines.append(f"import warp: {result['import']:.1f}")
    return "\n".join(lines)
