#!/usr/bin/env python3
"""Runs a file of language probes (one small program each, with its outcome elsewhere) against our package and compares.

usage: run_probes.py PATH [PATTERN...] [-v]      PATTERN: ids of probes, as in a shell; -v: every difference in full

Each probe runs in a process of its own, so that a crash or a hang costs that probe alone. Prints a table of agreements
by group, then the differences. Not a test: where we differ on purpose is written in the specification.
"""

import argparse
import collections
import contextlib
import fnmatch
import io
import json
import math
import multiprocessing
import os
import sys
import tempfile

SECONDS = 20


def encode(value):
    """A result as the probes' file writes it: numbers with dtype, special floats as strings."""
    import numpy as np

    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        row = {"dtype": str(array.dtype)}
        if array.shape:
            row["shape"] = list(array.shape)
        return row | {"value": plain(array.tolist())}
    if isinstance(value, dict):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(v) for v in value]
    return plain(value)


def plain(value):
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        if value == 0 and math.copysign(1, value) < 0:
            return "-0.0"
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def run_one(source: str, connection) -> None:
    """In the probe's process: the outcome goes through the pipe, what it prints nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    with tempfile.TemporaryDirectory() as folder:
        # Kernels are found by their source file.
        path = os.path.join(folder, "probe.py")
        with open(path, "w") as file:
            file.write(source)
        names = {"__name__": "probe", "__file__": path}
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(source, path, "exec"), names)
            connection.send({"value": encode(names.get("result"))})
        except BaseException as error:
            connection.send({"error": type(error).__name__, "message": str(error)})
    connection.close()


def run(source: str) -> dict:
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=run_one, args=(source, sender))
    process.start()
    sender.close()
    outcome = {"hang": SECONDS}
    if receiver.poll(SECONDS):
        with contextlib.suppress(EOFError):
            outcome = receiver.recv()
        process.join(5)
    if process.is_alive():
        process.kill()
        process.join()
    if process.exitcode and process.exitcode < 0 and "value" not in outcome and "error" not in outcome:
        outcome = {"crash": f"signal {-process.exitcode}"}
    return outcome


def equal(a, b) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    # The last digits of mathematical functions may differ.
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-30)
    return a == b


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("-v", action="store_true", dest="verbose")
    arguments = parser.parse_args()
    with open(arguments.path) as file:
        document = json.load(file)
    import warp  # noqa: F401  (once, before the forks)

    counts = collections.defaultdict(collections.Counter)
    differences = []
    for probe in document["probes"]:
        if not any(fnmatch.fnmatch(probe["id"], pattern) for pattern in arguments.patterns or ["*"]):
            continue
        want = probe["outcome"]
        got = run(document["prelude"] + "\n" + probe["source"])
        kind = next(k for k in ("value", "error", "crash", "hang") if k in got)
        if "value" in want and kind == "value":
            verdict = "same" if equal(got["value"], want["value"]) else "other value"
        elif "error" in want and kind == "error":
            verdict = "same"
        else:
            verdict = f"{next(k for k in ('value', 'error', 'crash') if k in want)} there, {kind} here"
        counts[probe["group"]][verdict] += 1
        if verdict != "same":
            differences.append((verdict, probe, want, got))
    for group, verdicts in counts.items():
        total = sum(verdicts.values())
        others = ", ".join(f"{n} {v}" for v, n in verdicts.most_common() if v != "same")
        print(f"{group:24} {verdicts['same']:4} of {total:4} agree" + (f"   ({others})" if others else ""))
    limit = 100000 if arguments.verbose else 150
    for verdict, probe, want, got in sorted(differences, key=lambda d: d[0]):
        print(f"\n{probe['id']}: {verdict}")
        if arguments.verbose:
            print("    " + probe["source"].replace("\n", "\n    "))
        print(f"    there: {json.dumps(want.get('value', want))[:limit]}")
        print(f"    here:  {json.dumps(got.get('value', got.get('message', got)))[:limit]}")


if __name__ == "__main__":
    sys.exit(main())
