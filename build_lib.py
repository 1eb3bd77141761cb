"""Builds Weft's binaries inside the source tree, so that `pip install -e .` afterwards has nothing left to compile.

It takes the options of Warp's script of the same name. Those without a meaning here are accepted, and a line says so.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
TOOLS = ROOT / "build" / "tools"

# Options of Warp's script without a meaning here, and why.
NO_MEANING = {
    "no CUDA toolkit is used: the driver is opened at run time": {
        "flags": ["cuda", "use-dynamic-cuda", "use-libmathdx", "libmathdx"],
        "values": ["cuda-path", "libmathdx-path", "arch"],
    },
    "LLVM comes from system packages and is always linked statically": {
        "flags": ["build-llvm", "standalone", "debug-llvm", "clang-build-toolchain"],
        "values": ["llvm-path", "llvm-source-path"],
    },
    "kernels choose it at run time (warp.config)": {"flags": ["verify-fp", "fast-math"], "values": []},
    "there is no such variant of the build": {"flags": ["quick", "compile-time-trace"], "values": []},
    "only Linux is supported": {"flags": [], "values": ["msvc-path", "sdk-path"]},
}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=["release", "debug"], default="release", help="debug builds with sanitizers")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="number of processes")
    parser.add_argument("--verbose", action=argparse.BooleanOptionalAction, default=False, help="show each command")
    ignored = parser.add_argument_group("accepted without effect")
    for reason, options in NO_MEANING.items():
        for name in options["flags"]:
            spellings = {f"--{name}", f"--no-{name}", f"--{name.replace('-', '_')}", f"--no_{name.replace('-', '_')}"}
            ignored.add_argument(*sorted(spellings), action=Note, nargs=0, reason=reason, help=reason)
        for name in options["values"]:
            spellings = {f"--{name}", f"--{name.replace('-', '_')}"}
            ignored.add_argument(*sorted(spellings), action=Note, reason=reason, help=reason)
    return parser.parse_args()


class Note(argparse.Action):
    """Says that the option given has no effect, and why."""

    def __init__(self, *args, reason: str, **kwargs):
        super().__init__(*args, **kwargs)
        self.reason = reason

    def __call__(self, parser, namespace, values, option_string=None):
        print(f"note: {option_string} has no effect: {self.reason}", flush=True)


# What the build takes from the package registry; tools/requirements.txt pins the versions.
PACKAGES = ("cmake", "ninja", "nanobind", "nvidia-cuda-nvcc-cu12")


def has_module(name: str) -> bool:
    """Tells whether this interpreter finds a module, without importing more than its parents."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def environment() -> dict[str, str]:
    """The environment in which PACKAGES are found: this one, or one with them added in build/tools."""
    env = dict(os.environ)
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", "")])
    programs = all(shutil.which(name, path=env["PATH"]) for name in ("cmake", "ninja"))
    if programs and has_module("nanobind") and has_module("nvidia.cuda_nvcc"):
        return env
    if not (TOOLS / "nvidia" / "cuda_nvcc").exists():
        print(f"Installing {', '.join(PACKAGES)} to {TOOLS.relative_to(ROOT)} ...", flush=True)
        lines = (ROOT / "tools" / "requirements.txt").read_text().splitlines()
        pins = [
            line.split("#")[0].strip() for line in lines if line.startswith(tuple(f"{name}==" for name in PACKAGES))
        ]
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target", str(TOOLS), *pins], check=True
        )
    env["PATH"] = os.pathsep.join([str(TOOLS / "bin"), env["PATH"]])
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(TOOLS), env.get("PYTHONPATH", "")]))
    return env


def main() -> int:
    options = parse()
    env = environment()
    build = ROOT / "build" / options.mode
    for command in (
        ["cmake", "--preset", options.mode, f"-DPython_EXECUTABLE={sys.executable}"],
        ["cmake", "--build", str(build), "-j", str(options.jobs), *(["--verbose"] if options.verbose else [])],
    ):
        result = subprocess.run(command, cwd=ROOT, env=env)
        if result.returncode != 0:
            print("\nThe build failed. tools/system-packages.txt lists the packages that it needs.", file=sys.stderr)
            return result.returncode
    print(f"Built {build.relative_to(ROOT)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
