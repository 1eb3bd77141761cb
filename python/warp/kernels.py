"""`@wp.kernel` and `wp.overload`: functions that are launched.

Not here: modules and their options (modules.py), functions that kernels call (functions.py).
"""

import ast
import copy
import functools
import inspect
import operator
import sys
import textwrap
import time
import weakref

from warp import _core, config, dtypes, modules
from warp.annotations import ArrayAnnotation, check_annotations
from warp.errors import WarpCodegenTypeError, WarpUnsupportedError
from warp.fingerprint import captured, fingerprint
from warp.functions import OverloadSet, _type_key
from warp.source import locate, read_lines, text_hash, uses_static

# The way into a kernel that another program launches on a GPU: its only argument, a struct, is a constant there.
_EXTERNAL_ENTRY = "external_constant_params"
# The most byte code of a kernel that is compiled before it is launched.
_COMPILED_AHEAD = 4096


def backend_name(setting):
    """The backend that a setting means: its name or the beginning of it, as "cxx"; empty: the default one."""
    if not setting:
        return ""
    names = _core.backend_names()
    found = next((name for name in names if name.startswith(setting)), None)
    if found is None:
        raise ValueError(f"there is no backend '{setting}'; there are: {', '.join(names)}")
    return found


class Argument:
    """A parameter of a kernel, or a member of a struct: its name and its type as annotated."""

    def __init__(self, label, type, kernel=None):
        self.label, self.type = label, type
        # Not a reference that would keep the kernel: one that nobody holds goes at once.
        self._owner = kernel and weakref.ref(kernel)

    def _accesses(self):
        kernel = self._owner and self._owner()
        if kernel is None or kernel.is_generic:
            return False, False
        index = [a.label for a in kernel.adj.args].index(self.label)
        return kernel._access()[index]

    @property
    def is_read(self):
        """Whether the kernel reads the array."""
        return self._accesses()[0]

    @property
    def is_write(self):
        """Whether the kernel writes the array."""
        return self._accesses()[1]

    def __repr__(self):
        return f"{self.label}: {self.type!r}"


def _annotations(function):
    """The annotations of a function; those written as text are evaluated with its names."""
    found = dict(getattr(function, "__annotations__", {}))
    if any(isinstance(a, str) for a in found.values()):
        names = {**function.__globals__, **captured(function)}
        for name, annotation in found.items():
            if isinstance(annotation, str):
                try:
                    found[name] = eval(annotation, names)
                except Exception:  # lowering tells it, with its place
                    continue
    return found


class Definition:
    """What programs ask of a kernel's definition."""

    def __init__(self, kernel):
        annotations = _annotations(kernel.func)
        names = list(inspect.signature(kernel.func).parameters)
        self.args = [Argument(name, dtypes.canonical(annotations.get(name)), kernel) for name in names]
        self.arg_types = {a.label: a.type for a in self.args}
        self.fun_name, self.func = kernel.key, kernel.func

    @property
    def source(self):
        return inspect.getsource(self.func)

    @property
    def tree(self):
        """The syntax tree of the definition, as a module of its own."""
        return ast.parse(textwrap.dedent(self.source))

    def get_references(self):
        """What the kernel captures, directly or through functions: constants and types by name, functions."""
        functions = {}
        fingerprint(self.func, functions)
        values = {n: v for n, v in captured(self.func).items() if getattr(v, "_weft_type_", None) is not None}
        found = {n: v for n, v in values.items() if isinstance(v, type)}
        return {n: v for n, v in values.items() if n not in found}, found, list(functions.values())


# kinds of text -> the backend that prints them; the other kinds are of the CPU's.
_PRINTERS = {"cxx": "cxx-host", "cuda": "cxx-maca", "maca": "cxx-maca", "ptx": "llvm-nvptx"}


def printer(kind):
    """The backend that prints kernels as this kind of text (`python -m warp dump --help` names the kinds)."""
    return _PRINTERS.get(kind) or backend_name(config.cpu_backend) or _core.backends()[0][0]


# The settings of config that _definition() reads.
_GLOBAL = operator.attrgetter(
    "optimization_level",
    "enable_backward",
    "max_unroll",
    "mode",
    "verify_fp",
    "lineinfo",
    "cpu_lanes",
    "deterministic",
    "cpu_backend",
    "cuda_arch_suffix",
)


class Kernel(_core.Kernel):
    """A kernel: compiled when it is first launched."""

    _weft_kernel_ = True
    source_milliseconds = 0.0  # spent on reading it, once it has been read

    def __init__(self, func, key=None, module=None, options=None, code_transformers=None, source=None):
        check_annotations(func)
        key = key or modules.kernel_key(func)
        if not key.isidentifier():
            raise ValueError(f"a kernel's name must be a valid C++ identifier, found {key!r}")
        super().__init__(key, func.__defaults__)
        functools.update_wrapper(self, func)
        self.func = func
        self.key = key
        self._module = module or modules.get_module(modules.name_of_module(func))
        self.options = dict(options or {})
        self.instances = {}
        self.hash = None
        self._transformers = list(code_transformers or ())
        self._lines = read_lines(func)
        self._has_static = uses_static(func)
        # What wp.static(...) gives is what it gives now; other sources are read when they are first needed.
        self._function = self._read() if self._has_static else None
        self._module.register_kernel(self)

    def _option(self, name):
        """The kernel's own setting, else its module's, else the global one."""
        for options in (self.options, self._module.options):
            value = options.get(name)
            if value is not None:
                return value
        return getattr(config, name)

    @property
    def cluster_dim(self):
        """Thread blocks of a cluster: the kernel's own setting, else its module's; 1: no clusters."""
        wanted = self.options.get("cluster_dim", self._module.options.get("cluster_dim"))
        _check_cluster_dim(wanted)
        return wanted or 1

    @property
    def uses_warp_entry_point_abi(self):
        return "entry_point_abi" not in self.options

    def _refuse_external_entry(self):
        kinds = [getattr(a.type, "_weft_type_", None) for a in self.adj.args]
        if [getattr(kind, "kind", None) for kind in kinds] != ["struct"]:
            raise WarpCodegenTypeError(
                f"kernel '{self.key}' with entry_point_abi=\"{_EXTERNAL_ENTRY}\" must have exactly one Warp struct "
                f"argument, found {len(kinds)}: {', '.join(a.label for a in self.adj.args) or 'none'}"
            )
        raise WarpUnsupportedError(
            f"kernel '{self.key}' with entry_point_abi=\"{_EXTERNAL_ENTRY}\" cannot be launched with wp.launch(): "
            "programs on a GPU enter it, for which Weft makes no code yet"
        )

    def _definition(self):
        """Tells the core the settings."""
        if not self.uses_warp_entry_point_abi:
            self._refuse_external_entry()
        # Kernels of a module share them mostly, and a start from the cache does little else for a kernel.
        given = (self.options, self._module.options, _GLOBAL(config))
        if self._module.settled is not None and self._module.settled[0] == given:
            self._settings = self._module.settled[1]
            return
        level = self._option("optimization_level")
        bounds = self.options.get("launch_bounds") or ()
        bounds = (*(bounds if isinstance(bounds, tuple) else (bounds,)), 0, 0)
        self._configure(
            enable_backward=bool(self._option("enable_backward")),
            max_unroll=self._option("max_unroll"),
            assertions=self._option("mode") == "debug",
            checks=self._option("mode") in ("debug", "safe"),
            verify_fp=bool(config.verify_fp),
            fast_math=bool(self._module.options["fast_math"]),
            fuse_on_gpu=bool(self._module.options["fuse_fp"]),
            optimize=2 if level is None else min(level, 2),
            line_info=bool(self._option("lineinfo")),
            lanes=config.cpu_lanes,
            deterministic=bool(self._option("deterministic")),
            backend=backend_name(config.cpu_backend),
            max_threads=bounds[0],
            min_blocks=bounds[1],
            max_registers=self.options.get("cuda_max_registers") or 0,
            architecture_suffix=config.cuda_arch_suffix or "",
            cluster_dim=self.cluster_dim,
        )
        self._module.settled = (dict(self.options), dict(self._module.options), given[2]), self._settings

    def _source(self):
        """The core's function: the source is read when the core needs it."""
        return self._function or self._read()

    def text(self, kind="cxx", adjoint=False):
        """The kernel's code as text, see Module.dump()."""
        gpu = "sm_75" if kind == "ptx" else ""
        instances = self._instances() if self.is_generic else [[]]
        return "".join(self._dump(kind, types, adjoint, printer(kind), gpu=gpu) for types in instances)

    def _source_identity(self):
        """Which kernel of which file this is: the file, its text's hash, and the definition in it. None where code is
        found by its intermediate form only."""
        code = self.func.__code__
        text = text_hash(code, self._lines)
        if text is None or self._transformers:
            return None
        return code.co_filename, text, repr((self.key, code.co_firstlineno, code.co_name, self.func.__name__))

    def _following(self):
        """The kernels that may be launched next; not large ones, whose compiles could outlive the program."""
        found = self._module.following(self)
        return [k for k in found if k.func is not None and len(k.func.__code__.co_code) <= _COMPILED_AHEAD]

    def _read(self):
        start = time.perf_counter()
        source, node = locate(self.func, self._lines)
        for transformer in self._transformers:
            node = ast.fix_missing_locations(transformer.visit(copy.deepcopy(node)))
        function = _core.Function(self.func.__name__, source, node, self.func, OverloadSet(self.key).core)
        self.source_milliseconds = (time.perf_counter() - start) * 1e3
        return function

    # ---- what programs ask ----

    @property
    def module(self):
        """The module; who has that of a unique module has the kernel too."""
        if self._module.unique:
            self._module.kept = self
        return self._module

    @property
    def is_generic(self):
        return any(dtypes.is_generic(a.type) for a in self.adj.args)

    @functools.cached_property
    def adj(self):
        """The definition: parameters and source."""
        return Definition(self)

    @property
    def overloads(self):
        """The instances of a generic kernel so far, by their types."""
        return {", ".join(map(str, types)): types for types in self._instances()} if self.is_generic else {}

    def infer_argument_types(self, args, template_types=None, arg_names=None):
        """The types that these arguments give a generic kernel, as annotations."""
        return [_annotation_of(a) if t is None else t for (_, t, _), a in zip(self._signature(), args, strict=True)]

    def add_overload(self, arg_types):
        """As `wp.overload()`."""
        return overload(self, arg_types)

    @property
    def enable_backward(self):
        return bool(self._option("enable_backward"))

    @property
    def is_loaded(self):
        return self._is_compiled()

    def _identity(self):
        """What tells this kernel from others of its module."""
        options = {k: v for k, v in self.options.items() if v is not None}
        return modules.digest(self.key, fingerprint(self.func), sorted(options.items()), sorted(self.overloads))

    def get_mangled_name(self):
        """A name that differs for kernels of equal key: the key and the beginning of the hash."""
        if self._module.options["strip_hash"]:
            return self.key
        made = self.hash.hex() if self.hash is not None else self._identity()
        return f"{self.key}_{made[:8]}"

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"kernel '{self.key}' cannot be called: use wp.launch()")

    def __repr__(self):
        return f"<Kernel {self.key}>"


class MapKernel(Kernel):
    """A kernel that the core makes itself: `wp.map`, operators, calls at Python scope."""

    is_generic = False

    def __init__(self, name, defaults):
        _core.Kernel.__init__(self, name, defaults)
        self.key = self.__name__ = name
        self.func = None
        self._module = modules.get_module("warp.map")
        self.options = {}
        self.hash = None

    @property
    def _definition(self):
        raise AttributeError("_definition")

    def _identity(self):
        return modules.digest(self.key, id(self))


class TangentKernel(MapKernel):
    """A kernel together with its tangent."""

    def __init__(self, name, defaults):
        super().__init__(name, defaults)
        self._module = modules.get_module("warp.tangents")


# name of a unique module -> its kernel, for as long as somebody has it
_unique = weakref.WeakValueDictionary()


def _make_unique(function, key, options, module_options):
    """The kernel of a module of its own; equal definitions are one kernel."""
    made = dict(modules.Module("").options)
    made.update(module_options or {})
    settings = [f"{k}={made[k]!r}" for k in sorted(made)] + [f"{k}={options[k]!r}" for k in sorted(options)]
    key = key or modules.kernel_key(function)
    identity = modules.digest(key, fingerprint(function), *settings)
    name = f"{modules.name_of_module(function)}.{key}_{identity[:8]}"
    found = _unique.get(name)
    if found is None:
        module = modules.unique_module(name)
        module.options.update(module_options or {})
        found = _unique[name] = Kernel(function, key, module, options)
    return found


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
    options = {
        "enable_backward": enable_backward,
        "launch_bounds": launch_bounds,
        "cuda_max_registers": cuda_max_registers,
        "enable_cuda_smem_spilling": None if enable_cuda_smem_spilling is False else enable_cuda_smem_spilling,
        "grid_stride": grid_stride,
    }
    if cluster_dim is not None:
        options["cluster_dim"] = cluster_dim
    if entry_point_abi not in (None, "warp"):
        options["entry_point_abi"] = entry_point_abi
    _check_kernel_options(options)
    if module_options is not None:
        if module != "unique":
            raise ValueError('module_options= needs module="unique": other modules are set by set_module_options()')
        modules.check_options(module_options)

    def decorate(function):
        if module == "unique":
            return _make_unique(function, name, options, module_options)
        owner = modules.get_module(module) if isinstance(module, str) else module
        return Kernel(function, name, owner, options)

    return decorate if f is None else decorate(f)


def _check_kernel_options(options):
    abi = options.get("entry_point_abi", "warp")
    if abi not in ("warp", _EXTERNAL_ENTRY):
        raise ValueError(f"entry_point_abi must be 'warp' or '{_EXTERNAL_ENTRY}', found {abi!r}")
    if abi == _EXTERNAL_ENTRY and options["enable_backward"] is not False:
        raise ValueError(f'entry_point_abi="{_EXTERNAL_ENTRY}" requires enable_backward=False')
    bounds = options["launch_bounds"]
    if bounds is not None:
        numbers = bounds if isinstance(bounds, tuple) else (bounds,)
        if not 1 <= len(numbers) <= 2:
            raise ValueError(f"launch_bounds are one or two numbers, found {bounds!r}")
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, int):
                raise TypeError(f"launch_bounds are ints, found {number!r}")
            if number < 0 or (number == 0 and number is numbers[0]):
                raise ValueError(f"launch_bounds must be positive, found {number}")
    spills = options["enable_cuda_smem_spilling"]
    if spills is not None and not isinstance(spills, bool):
        raise TypeError(f"enable_cuda_smem_spilling is a bool, found {spills!r}")
    registers = options["cuda_max_registers"]
    if registers is not None:
        if isinstance(registers, bool) or not isinstance(registers, int):
            raise TypeError(f"cuda_max_registers is an int, found {registers!r}")
        if registers <= 0:
            raise ValueError(f"cuda_max_registers must be positive, found {registers}")
        if bounds is not None:
            raise ValueError("cuda_max_registers and launch_bounds exclude each other")
    _check_cluster_dim(options.get("cluster_dim"))


def _check_cluster_dim(wanted):
    if wanted is None:
        return
    if isinstance(wanted, bool) or not isinstance(wanted, int):
        raise TypeError(f"cluster_dim is an int, the number of blocks of a cluster, found {wanted!r}")
    if not 1 <= wanted <= 16:
        raise ValueError(f"cluster_dim is a number from 1 to 16, found {wanted}")


def overload(kernel, arg_types=None):
    """Asks for the instance of a generic kernel for these types (a list, or a dict by name)."""
    if arg_types is None:  # used as a decorator: the annotations give the types
        function = kernel
        target = _overloaded(function, sys._getframe(1).f_locals)
        if inspect.signature(function).return_annotation not in (inspect.Signature.empty, None, type(None)):
            raise TypeError("Return annotations are not allowed on @wp.overload stubs: kernels return nothing")
        overload(target, [p.annotation for p in inspect.signature(function).parameters.values()])
        return target
    if not isinstance(kernel, Kernel):
        raise RuntimeError(f"wp.overload() takes a kernel, found {type(kernel).__name__}")
    if not kernel.is_generic:
        raise RuntimeError(f"Only generic kernels can be overloaded: '{kernel.key}' has no generic argument")
    signature = kernel._signature()
    if isinstance(arg_types, dict):
        unknown = set(arg_types) - {name for name, _, _ in signature}
        if unknown:
            raise RuntimeError(f"kernel '{kernel.key}' has no argument '{min(unknown)}'")
        arg_types = [arg_types.get(name, type) for name, type, _ in signature]
    types = [_concrete(kernel, t) for t in arg_types]
    if len(types) != len(signature):
        raise RuntimeError(f"kernel '{kernel.key}' takes {len(signature)} arguments, {len(types)} types given")
    kernel._load(types=types, wait=False)
    return kernel


def _overloaded(function, scope):
    """The kernel that a stub beneath `@wp.overload` speaks of: that of its name."""
    for names in (scope, function.__globals__):
        if isinstance(names.get(function.__name__), Kernel):
            return names[function.__name__]
    module = modules.get_module(modules.name_of_module(function))
    found = [k for k in module.live_kernels() if modules.full_name(k.func) == modules.full_name(function)]
    if not found:
        raise RuntimeError(f"'{function.__name__}' is no kernel that could have an instance")
    if len(found) > 1:
        raise RuntimeError(
            f"Ambiguous kernel lookup: {', '.join(k.key for k in found)} are all made from '{function.__name__}'; "
            "use wp.overload(kernel, types)"
        )
    return found[0]


def _annotation_of(argument):
    """The annotation that stands for an argument's type."""
    family = getattr(argument, "_weft_array_family_", None)
    if family is not None:
        return ArrayAnnotation(family, argument.dtype, argument.ndim)
    return dtypes.class_of(_core.type_of_argument(argument))


def _concrete(kernel, annotation):
    """The core's type of an annotation, or of an argument."""
    if getattr(annotation, "_weft_array_family_", None) == "fixedarray":
        raise TypeError(f"kernel '{kernel.key}': a fixedarray lives in kernels only: no kernel takes one")
    if isinstance(annotation, _core.Type):
        return annotation
    kind = _type_key(dtypes.canonical(annotation))
    if not isinstance(kind, _core.Type):
        kind = _core.type_of_argument(annotation)
        if kind.kind == "void":
            raise TypeError(f"kernel '{kernel.key}': {annotation!r} is no type that an argument could have")
    return kind
