"""Modules: the kernels, functions and structs of one Python module, their options, and what identifies their code.

A kernel is compiled by itself; a module is the unit of options, of names and of loading ahead.
"""

import sys
import time
import weakref

from warp import _core, config, loggers
from warp.devices import get_cpu_kernel_cache_key, get_cuda_devices, get_device, gpu_architecture
from warp.errors import WarpError
from warp.fingerprint import fingerprint

# option: default; None: taken from config when a kernel is compiled, "config": copied when the module is made
OPTIONS = {
    "mode": None,
    "optimization_level": None,
    "max_unroll": "config",
    "enable_backward": "config",
    "fast_math": False,
    "fuse_fp": True,
    "lineinfo": "config",
    "cuda_output": None,
    "block_dim": 256,
    "compile_time_trace": "config",
    "strip_hash": False,
    "cpu_compiler_flags": None,
    "enable_mathdx_gemm": None,
    "enable_mathdx_solver": None,
    "enable_mathdx_fft": None,
    "extra_build_options": None,
    "deterministic": "config",
    "deterministic_max_records": "config",
    "default_grid_stride": None,
}
# Settings that change what any module's code does.
_GLOBAL = ("verify_fp", "verify_autograd_array_access", "enable_vector_component_overwrites", "cpu_backend")


def digest(*parts):
    """A hash of texts."""
    return _core.sha256("".join(f"{part}\0" for part in parts).encode())


def _joined(first, second):
    return list(dict.fromkeys([*first, *second]))


class ModuleBuildOptions:
    """What a C++ compiler is told beyond Warp's own. None is part of Weft: they count for a module's hash only."""

    def __init__(
        self,
        extra_cuda_include_dirs=None,
        extra_cpu_include_dirs=None,
        extra_cuda_preamble="",
        extra_cpu_preamble="",
        extra_build_dependencies=None,
    ):
        self.extra_cuda_include_dirs = list(extra_cuda_include_dirs or [])
        self.extra_cpu_include_dirs = list(extra_cpu_include_dirs or [])
        self.extra_cuda_preamble, self.extra_cpu_preamble = extra_cuda_preamble, extra_cpu_preamble
        self.extra_build_dependencies = list(extra_build_dependencies or [])

    def merged(self, other):
        """These options, and then the others."""
        if not isinstance(other, ModuleBuildOptions):
            raise TypeError(f"expected ModuleBuildOptions, found {type(other).__name__}")
        made = {}
        for name, value in vars(self).items():
            added = getattr(other, name)
            if isinstance(value, list):
                made[name] = _joined(value, added)
            else:
                made[name] = value + ("\n" if value and added and not value.endswith("\n") else "") + added
        return ModuleBuildOptions(**made)

    def content(self):
        """The content of the files that the code depends on."""
        for path in self.extra_build_dependencies:
            with open(path, "rb") as file:
                yield file.read()

    def __repr__(self):
        return f"ModuleBuildOptions({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


def _tell_missing(options):
    for name, value in options.items():
        told = config.missing(name, value)
        if told is not None:
            loggers.log_warning(told)


def check_options(options):
    """Options given with a kernel, checked."""
    if not isinstance(options, dict):
        raise TypeError(f"module_options must be a dict, found {type(options).__name__}")
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise ValueError(f"unknown module options: {', '.join(unknown)}. Valid options: {', '.join(sorted(OPTIONS))}")
    _tell_missing(options)
    _check_deterministic(options)


def _check_deterministic(options):
    mode = options.get("deterministic")
    if mode is not None and not isinstance(mode, config.DeterministicMode):
        raise ValueError(f"deterministic must be a warp.DeterministicMode, found {mode!r}")
    records = options.get("deterministic_max_records", 0)
    if records is None:
        return
    if isinstance(records, bool) or not isinstance(records, int):
        raise TypeError(f"deterministic_max_records must be an int, found {records!r}")
    if records < 0:
        raise ValueError(f"deterministic_max_records must not be negative, found {records}")


class KernelHooks:
    """The names of a kernel's entries."""

    def __init__(self, kernel):
        self.forward = kernel.get_mangled_name()
        self.backward = f"{self.forward}_adjoint" if kernel.enable_backward else None
        self.cluster_dim = kernel.cluster_dim


def threads_of_block(wanted, device):
    """The size of blocks that a launch has when this one is asked for; None or not positive: the device's default."""
    if device.is_cpu:
        return _core.block_dim(wanted)
    return wanted if wanted is not None and wanted > 0 else 256


# Every module, also those that get_module() does not know.
_all = weakref.WeakSet()


class ModuleExec:
    """The compiled code of a module on one device."""

    def __init__(self, module, device, block_dim):
        self.module, self.device, self.block_dim = module, device, block_dim
        self.module_hash = module.get_module_hash(block_dim)
        # Of a GPU: what the code is for.
        self.compile_arch = device.get_cuda_compile_arch() if device.is_cuda else None
        self._hooks = {}

    def get_kernel_hooks(self, kernel):
        """The entries of a kernel; equal kernels share them."""
        return self._hooks.setdefault(kernel._identity(), KernelHooks(kernel))


class Module:
    """The kernels and options of one Python module."""

    def __init__(self, name, loader=None, unique=False):
        self.name = name
        self.loader = loader
        self.unique = unique
        # The latest of each key; that of a unique module is kept by who uses it, or the module.
        self.kernels = weakref.WeakValueDictionary() if unique else {}
        self.functions = {}
        self.structs = {}
        self._live = weakref.WeakSet()
        self.options = {k: getattr(config, k) if v == "config" else v for k, v in OPTIONS.items()}
        self.settled = None  # (options and settings, what the core made of them) of the last kernel that asked
        self._execs = {}
        self._hashes = {}
        self.resolved_options = {}
        _all.add(self)

    # ---- content ----

    def register_kernel(self, kernel):
        self.kernels[kernel.key] = kernel
        self._live.add(kernel)
        self._changed()

    def register_function(self, function):
        self.functions[function.key] = function
        self._changed()

    def register_struct(self, struct):
        self.structs[struct.key] = struct

    def _changed(self):
        self._hashes.clear()

    def live_kernels(self):
        """All kernels that somebody holds, also those whose key has been taken by a later one."""
        return sorted(self._live, key=lambda k: (k.key, fingerprint(k.func)))

    def following(self, kernel):
        """The other kernels, in order of definition, those behind this one first."""
        kernels = list(self.kernels.values())
        place = next((i for i, k in enumerate(kernels) if k is kernel), -1)
        return kernels[place + 1 :] + kernels[: max(place, 0)]

    # The name that programs written for Warp know.
    _get_live_kernels = live_kernels

    @property
    def unique_kernels(self):
        return {k.get_mangled_name(): k for k in self.live_kernels()}

    def find_kernel(self, func):
        return self.kernels.get(kernel_key(func))

    @property
    def references(self):
        """The modules whose functions the kernels and functions of this one call."""
        found = set()
        for function in [*(k.func for k in self._live), *(f.func for f in self.functions.values())]:
            seen = {}
            fingerprint(function, seen)
            found.update(f.module for f in seen.values() if f.module not in (None, self))
        return found

    @property
    def dependents(self):
        return {m for m in list(_all) if m is not self and self in m.references}

    # ---- identity ----

    def resolve_options(self, settings=config, block_dim=None):
        """The options with what they inherit."""
        made = {k: getattr(settings, k, None) if v is None else v for k, v in self.options.items()}
        made["block_dim"] = self.options["block_dim"] if block_dim is None else block_dim
        return made

    def hash_module(self):
        """The hash of everything that the module's code depends on."""
        return self._hash(self.options["block_dim"])

    def _hash(self, block_dim):
        options = self.resolve_options(config, block_dim)
        # None is a level of its own: what a device takes by default.
        parts = [f"{k}={options[k]!r}" for k in sorted(options)]
        parts += [f"{k}={getattr(config, k)!r}" for k in _GLOBAL]
        if options["extra_build_options"] is not None:
            parts += options["extra_build_options"].content()
        kernels = sorted(k._identity() for k in self._live)
        functions = sorted(f"{f.key} {fingerprint(f.func)}" for f in self.functions.values())
        return bytes.fromhex(digest(*parts, *dict.fromkeys(kernels), *functions))

    @property
    def hashers(self):
        """The hashes that were asked for, and of what launches have compiled, by block size."""
        for block_dim in self._compiled_block_dims() - self._hashes.keys():
            self.get_module_hash(block_dim)
        return self._hashes

    def get_module_hash(self, block_dim=None):
        """The hash, kept until something changes."""
        block_dim = self.options["block_dim"] if block_dim is None else block_dim
        made = self._hash(block_dim)
        self._hashes[block_dim] = made
        self.resolved_options[block_dim] = self.resolve_options(config, block_dim)
        return made

    def get_module_identifier(self):
        """A name for files: the module's own and the beginning of its hash."""
        base = "wp_" + self.name.replace(".", "_")
        return base if self.options["strip_hash"] else f"{base}_{self.get_module_hash().hex()[:7]}"

    def _get_compile_output_name(self, device, output_arch=None, **kwargs):
        """The name of a file with the module's code for a device: whose code, and which machines run it.

        `output_arch`: the architecture of a GPU, where it is not the device's or there is no device.
        """
        if output_arch is not None or device.is_cuda:
            return f"{self.get_module_identifier()}.{gpu_architecture(device, output_arch).replace('_', '')}.ptx"
        key = get_cpu_kernel_cache_key(cpu_compiler_flags=self.options["cpu_compiler_flags"])
        return f"{self.get_module_identifier()}.cpu{key.rsplit('-', 1)[1]}.o"

    # ---- loading ----

    @property
    def execs(self):
        """What is loaded: (context of the device, block size) -> the code; launches load as well."""
        cpu, gpus = get_device("cpu"), [device for device in get_cuda_devices() if device.has_context]
        for kernel in list(self._live):
            loaded_on = [device for device in gpus if kernel._is_loaded_on(device)]
            for block_dim in kernel._block_dims():
                # Blocks of one thread are the CPU's; others may be, where it has them or no GPU runs the kernel.
                if block_dim == 1 or config.enable_cpu_blocks or not loaded_on:
                    self._exec(cpu, block_dim)
                for device in loaded_on if block_dim > 1 else ():
                    self._exec(device, block_dim)
        return self._execs

    def _compiled_block_dims(self):
        return {n for kernel in self._live for n in kernel._block_dims()}

    def _exec(self, device, block_dim):
        found = self._execs.get((device.context, block_dim))
        if found is None:
            found = self._execs[device.context, block_dim] = ModuleExec(self, device, block_dim)
        return found

    def load(self, device=None, block_dim=None, **kwargs):
        """Compiles all kernels (in parallel) and waits. Without a block size: for those in use, or the default."""
        device = get_device(device)
        return [self._load(device, n) for n in self._block_dims(block_dim, device)][-1]

    def _block_dims(self, wanted, device):
        """The block sizes to load for: what a launch with `wanted` has; None: those in use, else the default."""
        if wanted is not None:
            return [threads_of_block(wanted, device)]
        used = sorted({n for context, n in self.execs if context == device.context})
        return used or [1 if device.is_cpu else self.options["block_dim"]]

    def _request(self, block_dims, device=None):
        """Asks for the code of all kernels without waiting; what fails is raised again when it is waited for."""
        for kernel in list(self._live):
            try:
                for size in () if kernel.is_generic else block_dims:
                    kernel._load(wait=False, block_dim=size, device=device)
            except WarpError:
                continue

    def _load(self, device, block_dim):
        start = time.perf_counter()
        ready = [k for k in self._live if not k.is_generic]
        new = [k for k in ready if not k.is_loaded]
        self._request((block_dim,), device)
        for kernel in ready:
            try:
                kernel._load(block_dim=block_dim, device=device)
            except WarpError:
                if self.kernels.get(kernel.key) is kernel:  # what has been replaced may be broken
                    raise
        if new:
            milliseconds = (time.perf_counter() - start) * 1e3
            loggers.log_info(
                f"Module {self.name} {self.get_module_hash().hex()[:7]} load on device '{device}' took "
                f"{milliseconds:.2f} ms ({len(new)} kernels)"
            )
        found = self._exec(device, block_dim)
        if found.module_hash != self.get_module_hash(block_dim):
            del self._execs[device.context, block_dim]
            found = self._exec(device, block_dim)
        return found

    def unload(self):
        """Kernels are compiled again when they are next needed."""
        self._execs.clear()
        self.mark_modified()

    def mark_modified(self):
        """To be called after options or what kernels refer to have changed: kernels are looked at again."""
        self._changed()
        for kernel in self._live:
            kernel._forget()

    def dump(self, kind="cxx", adjoint=False):
        """The code of the module's kernels as readable text, by key: C++ for the host ("cxx") or, a file a kernel, for
        GPUs ("cuda", "maca"), or another kind that `python -m warp dump` has. Of generic kernels their instances;
        `adjoint`: the adjoints instead. What does not compile raises as its launch would.
        """
        return {kernel.key: kernel.text(kind, adjoint) for kernel in self.kernels.values()}

    def __repr__(self):
        return f"<Module {self.name}>"


_modules = {}
# those of one kernel, which live as long as it does
_unique = weakref.WeakValueDictionary()


def known_modules():
    return [*_modules.values(), *_unique.values()]


def unique_module(name):
    """A new module of one kernel."""
    module = _unique[name] = Module(name, unique=True)
    return module


def get_module(name):
    """The module of this name, made where there is none; what has no name is the main program's."""
    name = name or "__main__"
    module = _modules.get(name) or _unique.get(name)
    if module is None:
        module = _modules[name] = Module(name)
    return module


def name_of_module(function):
    """The name of the Python module that a function belongs to."""
    return function.__module__


def full_name(function):
    """A function's qualified name as an identifier."""
    return "".join(c for c in function.__qualname__.replace(".", "__") if c.isalnum() or c == "_")


kernel_key = full_name


def redefined():
    """A function has been defined anew under its old name: kernels may call the old one."""
    for module in known_modules():
        module.mark_modified()


def reset(name):
    """Forgets a Python module that is being loaded anew."""
    module = _modules.get(name)
    if module is not None:
        module.kernels.clear()
        module.functions.clear()


def _caller(depth=2):
    """The name of the Python module that called."""
    name = sys._getframe(depth).f_globals.get("__name__")
    if name is None:
        raise RuntimeError("Could not determine the calling module: give its name")
    return name


def resolve(module):
    """The module that an argument means: a Module, a name, or a Python module."""
    if isinstance(module, Module):
        return module
    return get_module(module if isinstance(module, str) else module.__name__)


def _has_content(module):
    return bool(module._live or module.kernels or module.functions or module.structs)


def _forget_frames(call, *args, **kwargs):
    """Calls; what it raises does not keep the frames beneath alive, and with them kernels that have been replaced."""
    try:
        return call(*args, **kwargs)
    except WarpError as raised:
        error = raised.with_traceback(None)
    raise error


def load_module(module=None, device=None, block_dim=None, recursive=False):
    """Compiles the kernels of a module (default: the caller's) before they are launched."""
    if module is None:
        module = _caller()
    name = module if isinstance(module, str) else getattr(module, "name", None) or module.__name__
    wanted = [m for m in known_modules() if m.name == name or (recursive and m.name.startswith(f"{name}."))]
    wanted = [m for m in wanted if _has_content(m)]
    if not wanted and not recursive and not name.startswith("warp."):
        raise RuntimeError(f"Module '{name}' does not contain any Warp kernels, functions, or structs")
    for each in wanted:
        _forget_frames(each.load, device, block_dim)


def force_load(device=None, modules=None, block_dim=None, max_workers=None):
    """Compiles the kernels of all modules (or of those given), all in parallel."""
    chosen = [resolve(m) for m in (known_modules() if modules is None else modules)]
    failed = None
    for module in chosen:
        module._request(module._block_dims(block_dim, get_device(device)), get_device(device))
    for module in chosen:
        try:
            _forget_frames(module.load, device, block_dim)
        except Exception as error:
            failed = failed or error
    if failed is not None:
        raise failed


def set_module_options(options, module=None):
    """Sets options of a module (default: the caller's): for kernels compiled from now on."""
    made = resolve(_caller() if module is None else module)
    _tell_missing(options)
    _check_deterministic(options)
    made.options.update(options)
    made.mark_modified()


def get_module_options(module=None):
    """The options of a module (default: the caller's)."""
    return resolve(_caller() if module is None else module).options


def start():
    """Before a program's first launch settings may have changed: hashes are taken anew."""
    for module in known_modules():
        module._hashes.clear()
        module.resolved_options.clear()


def _settings_changed(_):
    _core.settings_changed()


_COMPILED = "mode verify_fp optimization_level max_unroll enable_backward lineinfo cpu_backend cpu_lanes"
for _name in (*_COMPILED.split(), "cuda_arch_suffix"):
    config.EFFECTS[_name] = _settings_changed


def _set_cache(_):
    _core.set_cache(config.kernel_cache_dir or "", bool(config.cache_kernels))


config.EFFECTS["kernel_cache_dir"] = config.EFFECTS["cache_kernels"] = _set_cache
config.EFFECTS["enable_cpu_blocks"] = lambda enabled: _core.set_cpu_blocks(bool(enabled))
config.EFFECTS["verify_cuda"] = lambda enabled: _core.set_verify_cuda(bool(enabled))
config.EFFECTS["deterministic"] = lambda mode: _core.set_deterministic(bool(mode))
config.EFFECTS["compile_ahead"] = lambda enabled: _core.set_compile_ahead(bool(enabled))
config.EFFECTS["cpu_threads"] = lambda count: _core.set_cpu_threads(int(count))


def clear_kernel_cache():
    """Removes all compiled kernels from disk."""
    _core.cache_clear()


def clear_lto_cache():
    """Removes what CUDA's linker has kept: nothing, since it is not used."""
