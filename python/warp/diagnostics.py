"""What a report about a problem should say: versions, the build, devices."""

import platform

from warp import _core, config
from warp.devices import get_devices


def collect():
    """All of it as a dictionary, with the keys that Warp has."""
    import importlib.metadata  # it takes longer to load than the package

    import numpy as np

    backends = dict(_core.backends())
    llvm = next((target for name, target in backends.items() if name.startswith("llvm")), "")
    info = {
        "warp_python": config.version,
        "warp_native": config.version,
        "warp_clang": config.version,
        "weft": _core.version,
        "backends": backends,
        "llvm": llvm,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cuda_enabled": False,
        "cuda_toolkit": None,
        "cuda_driver": None,
        "nvrtc": None,
        "cuda_compatibility": None,
        "mathdx_enabled": False,
        "libmathdx": "",
        "cubql_enabled": False,
        "nanovdb": "",
        "host_compiler": "none is needed",
        "debug": False,
        "verify_fp": bool(config.verify_fp),
        "fast_math": False,
        "devices": [
            {
                "alias": d.alias,
                "name": d.name,
                "memory_gb": d.total_memory / 2**30,
                "threads": _core.cpu_threads() if d.is_cpu else None,
            }
            for d in get_devices()
        ],
    }
    for package in ("torch", "jax", "jaxlib"):
        try:
            info[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return info


def print_diagnostics():
    """Prints it, and returns it."""
    info = collect()
    print("Software")
    for key, value in info.items():
        if key == "devices":
            continue
        print(f"  {key}: {value}")
    print("Devices")
    for device in info["devices"]:
        print(f"  {device['alias']}: {device['name']}, {device['memory_gb']:.1f} GiB")
    return info
