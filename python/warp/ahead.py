"""Modules compiled ahead of time: a folder with the code of all kernels, and an index beside it.

The code is found by what it was compiled from: a kernel that has changed since is compiled anew.
"""

import json
import os
import pathlib

from warp import _core, config
from warp.devices import get_device
from warp.errors import WarpGradientError
from warp.loggers import log_warning
from warp.modules import resolve


def _devices(device):
    given = device if isinstance(device, (list, tuple)) else [device]
    return [get_device(d) for d in given]


def _folder(module_dir):
    if module_dir is not None:
        return pathlib.Path(module_dir)
    return pathlib.Path(config.kernel_cache_dir or _core.cache_info()["directory"]) / "ahead"


def _index(module, folder, device, strip_hash):
    """The file that says what was compiled."""
    strip = module.options["strip_hash"] if strip_hash is None else strip_hash
    name = module._get_compile_output_name(device)
    if strip:
        name = name.replace(module.get_module_identifier(), "wp_" + module.name.replace(".", "_"), 1)
    return folder / f"{name}.json"


def _store(kernel, folder):
    """Writes a kernel's code, of each instance where it is generic; returns their number."""
    instances = kernel._instances() if kernel.is_generic else [()]
    for types in instances:
        kernel._store(list(types), False, str(folder))
        if kernel.enable_backward:
            try:
                kernel._store(list(types), True, str(folder))
            except WarpGradientError:
                continue  # it has no derivative: told when one is asked for
    return len(instances)


def compile_aot_module(module, device=None, arch=None, module_dir=None, use_ptx=None, strip_hash=None):
    """Compiles a module's kernels, forward and backward, into a folder; returns the files that say so.

    Of generic kernels the instances so far are compiled: see `wp.overload()`. `arch` and `use_ptx` are of CUDA.
    """
    module = resolve(module)
    folder = _folder(module_dir)
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for each in _devices(device):
        flags = module.options["cpu_compiler_flags"]
        flags = config.cpu_compiler_flags if flags is None else flags
        if flags is None or "-march=native" in flags:
            log_warning(
                f"Module {module.name} is compiled ahead of time for processors like this one, as with -march=native: "
                "others compile it anew. Setting cpu_compiler_flags='' silences this, and changes nothing else."
            )
        kernels = {k.key: _store(k, folder) for k in module.live_kernels()}
        index = _index(module, folder, each, strip_hash)
        index.write_text(
            json.dumps({"module": module.name, "hash": module.get_module_hash().hex(), "kernels": kernels}, indent=1)
        )
        made.append(index)
    return made


def load_aot_module(module, device=None, arch=None, module_dir=None, use_ptx=None, strip_hash=None):
    """Takes the code of a module's kernels from a folder that `compile_aot_module()` filled."""
    module = resolve(module)
    folder = _folder(module_dir)
    for each in _devices(device):
        index = _index(module, folder, each, strip_hash)
        if not index.is_file():
            raise FileNotFoundError(
                f"Module {module.name} was not compiled ahead of time into {folder} as it is now: "
                f"{os.path.basename(index)} is missing"
            )
    _core.add_image_folder(str(folder))
    module.mark_modified()
