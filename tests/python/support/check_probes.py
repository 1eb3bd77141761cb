"""Runs the probes of Warp's semantics and checks that each difference is one of the decided cases of docs/language.md.

The probes are a table of small programs with Warp's outcomes, and the tool that runs them:

    python tests/python/support/check_probes.py --tool probe_semantics.py --table semantics.json
"""

import argparse
import builtins
import importlib.util
import json
import sys

from decided_probes import CLASSES, RESULTS, ids

import warp as wp


def loaded(path):
    spec = importlib.util.spec_from_file_location("probe_semantics", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def exception_class(name):
    return getattr(wp, name, None) or getattr(builtins, name)


def differences(tool, table, results, tolerance):
    """The ids whose result differs, and those whose error is of a class that does not derive from Warp's."""
    other_result, other_class, derived = set(), set(), 0
    for row in table["probes"]:
        theirs, ours = row["outcome"], results[row["id"]]
        if tool.kind(theirs) != tool.kind(ours):
            other_result.add(row["id"])
        elif "value" in theirs:
            same = tool.close(theirs["value"], ours["value"], tolerance)
            if not same or theirs.get("printed") != ours.get("printed"):
                other_result.add(row["id"])
        elif "error" in theirs and theirs["error"] != ours["error"]:
            if issubclass(exception_class(ours["error"]), exception_class(theirs["error"])):
                derived += 1
            else:
                other_class.add(row["id"])
    return other_result, other_class, derived


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True, help="the program that runs probes")
    parser.add_argument("--table", required=True, help="the probes with Warp's outcomes, JSON")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tolerance", type=float, default=1e-6, help="relative, for floats")
    arguments = parser.parse_args()
    tool = loaded(arguments.tool)
    with open(arguments.table) as file:
        table = json.load(file)
    tool.PRELUDE = table["prelude"]
    probes = [{"id": r["id"], "source": r["source"], "file": f"p{n:04}.py"} for n, r in enumerate(table["probes"])]
    results = tool.run_all(sys.executable, probes, arguments.jobs, 30)
    other_result, other_class, derived = differences(tool, table, results, arguments.tolerance)
    wrong = 0
    for found, decided, what in [(other_result, ids(RESULTS), "result"), (other_class, ids(CLASSES), "class of error")]:
        for probe in sorted(found - decided):
            print(f"another {what}, and no decided case: {probe}")
        for probe in sorted(decided - found):
            print(f"decided, but the {what} is Warp's: {probe}")
        wrong += len(found ^ decided)
    print(
        f"{len(probes)} probes: another result {len(other_result)}, a class derived from Warp's {derived}, "
        f"another class {len(other_class)}; not as decided {wrong}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
