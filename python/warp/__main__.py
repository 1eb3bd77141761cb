"""`python -m warp`: information, the cache, dumps of compiled kernels, benchmarks of compile times."""

import argparse
import importlib.util
import json
import os
import platform
import sys
import time
from pathlib import Path

import warp as wp
from warp import _core, bench_compile, bench_gradient, bench_snippets
from warp.kernels import printer


def info(arguments):
    print(f"Weft, with the interface of Warp {wp.config.version}")
    print(f"core {_core.version}, Python {platform.python_version()}, {platform.machine()}")
    for device in wp.get_devices():
        memory = device.total_memory / 2**30
        print(f"device {device.alias}: {device.name}, {memory:.1f} GiB, {_core.cpu_threads()} threads")
    for name, target in _core.backends():
        print(f"backend {name}: {target}")
    cache = _core.cache_info()
    state = "writable" if cache["writable"] else "readable" if cache["readable"] else "off"
    print(f"cache {cache['directory'] or '-'}: {state}, {_core.cache_size()} bytes")
    if cache["problem"]:
        print(f"  {cache['problem']}")


def cache_list(arguments):
    for key, size, modified in _core.cache_list():
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(modified))} {size:>10} {key}")


def cache_size(arguments):
    print(f"{_core.cache_size()} bytes in {len(_core.cache_list())} files, {_core.cache_info()['directory']}")


def cache_clear(arguments):
    print(f"{_core.cache_clear()} files removed")


def find_kernel(path, name):
    """The kernel of that name (or key) in a Python file, which is run as a module."""
    path = Path(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None:
        sys.exit(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    kernels = {k: v for k, v in vars(module).items() if isinstance(v, wp.Kernel)}
    kernels.update(wp.get_module(path.stem).kernels)
    if name not in kernels:
        sys.exit(f"{path} has no kernel '{name}'; its kernels: {', '.join(sorted(kernels)) or 'none'}")
    return kernels[name]


def dump(arguments):
    kernel = find_kernel(arguments.file, arguments.kernel)
    architecture = arguments.arch or ("sm_75" if arguments.kind == "ptx" else "")
    backend = "llvm-nvptx" if architecture and arguments.kind not in ("cuda", "maca") else printer(arguments.kind)
    kinds = _core.dump_kinds(backend)
    if arguments.kind not in kinds:
        sys.exit(f"backend {backend} shows: {', '.join(kinds)}")
    types = [_core.Type.parse(text) for text in arguments.type]
    print(kernel._dump(arguments.kind, types, arguments.adjoint, backend, gpu=architecture))


def bench(subject):
    """The command that measures a subject: a module with run() and table()."""

    def command(arguments):
        result = subject.run(arguments.repeat)
        print(subject.table(result))
        if arguments.json:
            Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n")

    return command


def make_parser():
    parser = argparse.ArgumentParser(prog="python -m warp", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    commands.add_parser("info", help="devices, versions, processor features, cache").set_defaults(run=info)

    cache = commands.add_parser("cache", help="the cache of compiled kernels")
    actions = cache.add_subparsers(required=True, metavar="action")
    actions.add_parser("list", help="its files, oldest first").set_defaults(run=cache_list)
    actions.add_parser("size", help="bytes and number of files").set_defaults(run=cache_size)
    actions.add_parser("clear", help="remove all files").set_defaults(run=cache_clear)

    dumped = commands.add_parser("dump", help="show what a kernel is compiled to")
    dumped.add_argument("file", help="a Python file; it is run as a module")
    dumped.add_argument("kernel", help="the kernel's name in it")
    dumped.add_argument(
        "--kind",
        default="ir",
        help="source-ir (as lowered), ir (after the passes, the default), llvm, asm, cxx (C++ text), cuda or maca (C++ "
        "text for GPUs, as one file), or ptx (for launches whose arrays lie densely and are under 2 GiB)",
    )
    dumped.add_argument(
        "--arch",
        default="",
        help="of the GPU to compile for, as sm_90 (ptx without it: sm_75; cuda and maca: for any launch)",
    )
    dumped.add_argument("--adjoint", action="store_true", help="the adjoint instead of the kernel")
    dumped.add_argument(
        "--type", action="append", default=[], help='type of each argument of a generic kernel, as "array<f32, 1>"'
    )
    dumped.set_defaults(run=dump)

    benches = commands.add_parser("bench", help="benchmarks").add_subparsers(required=True, metavar="subject")
    for name, subject, text, repeat in (
        ("compile", bench_compile, "compile times of a small kernel by stage, in fresh processes", "processes"),
        ("snippets", bench_snippets, "compile times of native snippets of 20 lines, after the first one", "snippets"),
        ("gradient", bench_gradient, "gradients through loops: time, and memory of the adjoint's stacks", "runs"),
    ):
        made = benches.add_parser(name, help=text)
        made.add_argument("--json", metavar="FILE", help="write the figures there")
        made.add_argument("--repeat", type=int, default=5, help=f"{repeat} for each figure (default: %(default)s)")
        made.set_defaults(run=bench(subject))
    return parser


def main(arguments=None):
    parsed = make_parser().parse_args(arguments)
    try:
        parsed.run(parsed)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
