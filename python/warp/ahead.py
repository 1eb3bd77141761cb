"""Modules compiled ahead of time: a folder with the code of all kernels, and an index beside it.

The code is found by what it was compiled from: a kernel that has changed since is compiled anew.
"""

import json
import os
import pathlib

from warp import _core, config
from warp.devices import get_device, gpu_architecture
from warp.errors import WarpGradientError
from warp.loggers import log_warning
from warp.modules import resolve

# The architecture.
_FIRST_WITH_CLUSTERS = 90


def _devices(device):
    given = device if isinstance(device, (list, tuple)) else [device]
    return [get_device(d) for d in given]


def _folder(module_dir):
    if module_dir is not None:
        return pathlib.Path(module_dir)
    return pathlib.Path(config.kernel_cache_dir or _core.cache_info()["directory"]) / "ahead"


def _index(module, folder, device, arch, strip_hash):
    """The file that says what was compiled."""
    strip = module.options["strip_hash"] if strip_hash is None else strip_hash
    name = module._get_compile_output_name(device, arch)
    if strip:
        name = name.replace(module.get_module_identifier(), "wp_" + module.name.replace(".", "_"), 1)
    return folder / f"{name}.json"


def _check_clusters(module, arch):
    for kernel in module.live_kernels():
        if kernel.cluster_dim > 1 and arch < _FIRST_WITH_CLUSTERS:
            raise RuntimeError(
                f"kernel '{kernel.key}' has cluster_dim={kernel.cluster_dim}, and sm_{arch} has no clusters of thread "
                f"blocks: compile for sm_{_FIRST_WITH_CLUSTERS} or newer, or remove cluster_dim"
            )


def _store(kernel, folder, gpu):
    """Writes a kernel's code, of each instance where it is generic; returns their number."""
    instances = kernel._instances() if kernel.is_generic else [()]
    for types in instances:
        kernel._store(list(types), False, str(folder), gpu)
        if kernel.enable_backward:
            try:
                kernel._store(list(types), True, str(folder), gpu)
            except WarpGradientError:
                continue  # it has no derivative: told when one is asked for
    return len(instances)


def compile_aot_module(module, device=None, arch=None, module_dir=None, use_ptx=None, strip_hash=None):
    """Compiles a module's kernels, forward and backward, into a folder; returns the files that say so.

    Of generic kernels the instances so far are compiled: see `wp.overload()`. With `arch`, as 90, the code is PTX for
    GPUs of that architecture and later ones. `use_ptx`: for GPUs it is always PTX.
    """
    module = resolve(module)
    folder = _folder(module_dir)
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for each in _devices(device):
        gpu = gpu_architecture(each, arch) if arch is not None or each.is_cuda else ""
        if arch is not None:
            _check_clusters(module, arch)
        flags = module.options["cpu_compiler_flags"]
        flags = config.cpu_compiler_flags if flags is None else flags
        if not gpu and (flags is None or "-march=native" in flags):
            log_warning(
                f"Module {module.name} is compiled ahead of time for processors like this one, as with -march=native: "
                "others compile it anew. Setting cpu_compiler_flags='' silences this, and changes nothing else."
            )
        kernels = {k.key: _store(k, folder, gpu) for k in module.live_kernels()}
        index = _index(module, folder, each, arch, strip_hash)
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
        index = _index(module, folder, each, arch, strip_hash)
        if not index.is_file():
            raise FileNotFoundError(
                f"Module {module.name} was not compiled ahead of time into {folder} as it is now: "
                f"{os.path.basename(index)} is missing"
            )
    _core.add_image_folder(str(folder))
    module.mark_modified()
