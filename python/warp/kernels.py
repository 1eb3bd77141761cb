"""`@wp.kernel`, and the modules that kernels belong to."""

import functools
import inspect
import sys
import time

from warp import _core, config
from warp.functions import OverloadSet, _type_key
from warp.source import locate, read_lines, uses_static


class Module:
    """The kernels and options of one Python module."""

    def __init__(self, name):
        self.name = name
        self.kernels = {}
        self.options = {
            "mode": None,
            "optimization_level": None,
            "max_unroll": None,
            "enable_backward": None,
            "fast_math": False,
            "fuse_fp": True,
            "lineinfo": None,
            "block_dim": 256,
        }

    def load(self, device=None, block_dim=None):
        """Compiles all kernels (in parallel) and waits."""
        ready = [k for k in self.kernels.values() if not k.is_generic]
        for kernel in ready:
            kernel._load(wait=False)
        for kernel in ready:
            kernel._load()
        return self

    def unload(self):
        pass

    def mark_modified(self):
        pass

    def __repr__(self):
        return f"<Module {self.name}>"


_modules = {}


def get_module(name):
    module = _modules.get(name)
    if module is None:
        module = _modules[name] = Module(name)
    return module


def backend_name(setting):
    """The backend that a setting means: its name or the beginning of it, as "cxx"; empty: the default one."""
    names = [name for name, _ in _core.backends()]
    found = next((name for name in names if setting and name.startswith(setting)), None)
    if setting and found is None:
        raise ValueError(f"there is no backend '{setting}'; there are: {', '.join(names)}")
    return found or ""


class Kernel(_core.Kernel):
    """A kernel: compiled when it is first launched."""

    _weft_kernel_ = True

    def __init__(self, func, key=None, module=None, options=None):
        key = key or func.__qualname__.replace("<locals>.", "").replace(".", "_")
        super().__init__(key, func.__defaults__)
        functools.update_wrapper(self, func)
        self.func = func
        self.key = key
        self.module = module or get_module(func.__module__)
        self.options = dict(options or {})
        self._lines = read_lines(func)
        # What wp.static(...) gives is what it gives now; other sources are read when they are first needed.
        self._function = self._read() if uses_static(func) else None
        self.module.kernels[key] = self

    def _option(self, name):
        """The kernel's own setting, else its module's, else the global one."""
        for options in (self.options, self.module.options):
            value = options.get(name)
            if value is not None:
                return value
        return getattr(config, name)

    def _definition(self):
        level = self._option("optimization_level")
        self._configure(
            enable_backward=bool(self._option("enable_backward")),
            max_unroll=self._option("max_unroll"),
            assertions=self._option("mode") == "debug",
            checks=self._option("mode") in ("debug", "safe"),
            verify_fp=bool(config.verify_fp),
            fast_math=bool(self.module.options["fast_math"]),
            optimize=2 if level is None else min(level, 2),
            line_info=bool(self._option("lineinfo")),
            lanes=config.cpu_lanes,
            backend=backend_name(config.cpu_backend),
        )
        return self._function or self._read()

    def _read(self):
        start = time.perf_counter()
        source, node = locate(self.func, self._lines)
        function = _core.Function(self.func.__name__, source, node, self.func, OverloadSet(self.key).core)
        self.source_milliseconds = (time.perf_counter() - start) * 1e3
        return function

    @property
    def is_generic(self):
        return any(type is None for _, type, _ in self._signature())

    @property
    def enable_backward(self):
        return bool(self._option("enable_backward"))

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"kernel '{self.key}' cannot be called: use wp.launch()")

    def __repr__(self):
        return f"<Kernel {self.key}>"


def kernel(
    f=None,
    *,
    name=None,
    enable_backward=None,
    launch_bounds=None,
    cuda_max_registers=None,
    enable_cuda_smem_spilling=None,
    cluster_dim=None,
    module=None,
    module_options=None,
    entry_point_abi=None,
    grid_stride=None,
):
    """Makes a Python function a kernel. `launch_bounds` and the `cuda_` options have no effect on the CPU."""

    def decorate(function):
        owner = module
        if owner == "unique":
            owner = Module(f"{function.__module__}.{function.__qualname__}")
        elif isinstance(owner, str):
            owner = get_module(owner)
        if module_options is not None:
            if module != "unique":
                raise ValueError('module_options= needs module="unique"')
            unknown = set(module_options) - set(owner.options)
            if unknown:
                raise ValueError(f"unknown module options: {', '.join(sorted(unknown))}")
            owner.options.update(module_options)
        return Kernel(function, name, owner, {"enable_backward": enable_backward})

    return decorate if f is None else decorate(f)


def overload(kernel, arg_types=None):
    """Asks for the instance of a generic kernel for these types (a list, or a dict by name)."""
    if arg_types is None:  # used as a decorator: the annotations give the types
        function = kernel
        target = sys._getframe(1).f_locals.get(function.__name__) or function.__globals__.get(function.__name__)
        if not isinstance(target, Kernel):
            raise RuntimeError(f"'{function.__name__}' is no kernel that could have an instance")
        overload(target, [p.annotation for p in inspect.signature(function).parameters.values()])
        return target
    signature = kernel._signature()
    if isinstance(arg_types, dict):
        arg_types = [arg_types.get(name, type) for name, type, _ in signature]
    types = [t if isinstance(t, _core.Type) else _concrete(t) for t in arg_types]
    if len(types) != len(signature):
        raise RuntimeError(f"kernel '{kernel.key}' takes {len(signature)} arguments, {len(types)} types given")
    kernel._load(types=types, wait=False)
    return kernel


def _concrete(annotation):
    from warp import types

    return _type_key(types.canonical(annotation))


def _modules_of(module):
    if module is None:
        return list(_modules.values())
    if isinstance(module, Module):
        return [module]
    name = module if isinstance(module, str) else module.__name__
    return [get_module(name)]


def load_module(module=None, device=None, block_dim=None, recursive=False):
    """Compiles the kernels of a module (default: the caller's) before they are launched."""
    if module is None:
        module = sys._getframe(1).f_globals["__name__"]
    name = module if isinstance(module, str) else getattr(module, "__name__", getattr(module, "name", None))
    for each in [m for n, m in _modules.items() if n == name or (recursive and n.startswith(f"{name}."))]:
        each.load(device)


def force_load(device=None, modules=None, block_dim=None, max_workers=None):
    """Compiles the kernels of all modules (or of those given)."""
    for module in list(_modules.values()) if modules is None else modules:
        for each in _modules_of(module):
            each.load(device)


def set_module_options(options, module=None):
    if module is None:
        module = sys._getframe(1).f_globals["__name__"]
    _modules_of(module)[0].options.update(options)


def get_module_options(module=None):
    if module is None:
        module = sys._getframe(1).f_globals["__name__"]
    return _modules_of(module)[0].options


def clear_kernel_cache():
    _core.cache_clear()
