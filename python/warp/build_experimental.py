"""`wp.build_experimental`: types and functions of C++ that kernels know by name.

A type is a ctypes structure: kernels see a struct of the same layout, arrays hold it, launches take it. Functions are
declared here, so that programs load; a kernel that calls one is refused, since no C++ compiler is part of Weft.
"""

import ctypes
import re
from collections.abc import Mapping

import warp
from warp import _core, dtypes, types
from warp.errors import WarpUnsupportedError
from warp.functions import Function

_QUALIFIED = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*")

# native name -> what the type is: the core's type, the exposed fields, how it is initialised
_types = {}


def _check_native_name(name):
    if not isinstance(name, str) or not _QUALIFIED.fullmatch(name):
        raise ValueError(f"native_name is a qualified C++ identifier, found {name!r}")


def _scalar_of_ctype(ctype):
    """The core's type of a ctypes scalar, or None."""
    for scalar in types.SCALAR_CLASSES.values():
        if scalar._type_ is ctype and scalar.__name__ not in ("float16", "bfloat16"):
            return scalar._weft_type_
    return None


def _member_type(cls, name, ctype, dtype):
    """The core's type of an exposed field, which its ctypes storage must have."""
    kind = types.type_of(dtype)
    stored = getattr(ctype, "_weft_type_", None) or _scalar_of_ctype(ctype)
    if stored != kind and types.type_ctype(dtype) is not ctype:
        raise ValueError(
            f"field '{name}' of {cls.__name__} is declared as {types.type_repr(dtype)}, but its ctypes storage is "
            f"{ctype.__name__}"
        )
    return kind


def _opaque(name, cls):
    """A struct of as many bytes, aligned as the structure is."""
    size, alignment = ctypes.sizeof(cls), ctypes.alignment(cls)
    word = _core.Type.scalar({1: "u8", 2: "u16", 4: "u32"}.get(alignment, "u64"))
    return _core.Type.struct(name, [(f"word{i}", word) for i in range(size // word.size)], 0, False)


def _struct_type(name, cls, fields):
    members = []
    for field, ctype, *_ in cls._fields_:
        if field in fields:
            members.append((field, _member_type(cls, field, ctype, fields[field])))
            continue
        hidden = getattr(ctype, "_weft_type_", None) or _scalar_of_ctype(ctype)
        if hidden is None:
            raise ValueError(f"field '{field}' of {cls.__name__} must be exposed: {ctype.__name__} has no dtype")
        members.append((field, hidden))
    made = _core.Type.struct(name, members, 0, False)
    offsets = [getattr(cls, field).offset for field, *_ in cls._fields_]
    if made.size != ctypes.sizeof(cls) or list(made.offsets) != offsets:
        raise ValueError(f"{cls.__name__} has no natural layout: its fields lie at {offsets}")
    return made


def _numpy_dtype(cls):
    """As NumPy has elements of the type: its exposed fields, or bytes."""
    exposed = cls._weft_native_[1]
    if not exposed:
        return f"V{ctypes.sizeof(cls)}"
    formats = []
    for dtype in exposed.values():
        if types.type_is_struct(dtype):
            formats.append(dtype.numpy_dtype())
        else:
            formats.append((types.type_typestr(dtype), types.part_shape(dtype)))
    offsets = [getattr(cls, field).offset for field in exposed]
    return {"names": list(exposed), "formats": formats, "offsets": offsets, "itemsize": ctypes.sizeof(cls)}


class _Captured:
    """What a kernel is told that captures an instance; the class itself is usable."""

    def __get__(self, instance, owner):
        if instance is None:
            raise AttributeError("_weft_unusable_")
        return f"a value of the native type {owner._weft_native_[0]}: pass it to the kernel, or make it there"


def _from_ptr(cls, ptr, device=None):
    """A copy of the value at an address."""
    return cls.from_buffer_copy((ctypes.c_char * ctypes.sizeof(cls)).from_address(ptr))


def add_native_type(cls, *, native_name, fields=None, initializer=None):
    """Makes a ctypes structure a type of the kernel language.

    `fields` are the members that kernels see, with their dtypes: none, and the type is opaque. `initializer`:
    "aggregate" where kernels may make values of it from all fields.
    """
    if not (isinstance(cls, type) and issubclass(cls, ctypes.Structure)):
        raise TypeError(f"a native type is a ctypes.Structure, found {cls!r}")
    _check_native_name(native_name)
    if fields is not None and not isinstance(fields, Mapping):
        raise TypeError(f"fields is a mapping of names to dtypes, found {type(fields).__name__}")
    fields = {name: dtypes.canonical(dtype) for name, dtype in (fields or {}).items()}
    if initializer not in (None, "aggregate"):
        raise ValueError(f"initializer is None or 'aggregate', found {initializer!r}")
    declared = [field for field, *_ in cls._fields_]
    unknown = [field for field in fields if field not in declared]
    if unknown:
        raise ValueError(f"{cls.__name__} has no field '{unknown[0]}'")
    if initializer == "aggregate":
        if not fields:
            raise ValueError(f"initializer='aggregate' requires exposed fields: {cls.__name__} has none")
        if list(fields) != declared:
            raise ValueError("initializer='aggregate' needs every ctypes field in declaration order")
    name = native_name.replace("::", "_")
    kind = _struct_type(name, cls, fields) if fields else _opaque(name, cls)
    definition = kind, {n: types.type_of(dtype) for n, dtype in fields.items()}, initializer
    if _types.setdefault(native_name, definition) != definition:
        raise RuntimeError(f"native type '{native_name}' has been added with a different definition")
    cls._weft_type_, cls._weft_struct_, cls._weft_native_ = kind, True, (native_name, fields)
    cls.ctype = cls
    cls.numpy_dtype, cls.from_ptr = classmethod(_numpy_dtype), classmethod(_from_ptr)
    cls._weft_unusable_ = _Captured()
    cls._refresh, cls._weft_arrays, cls._weft_textures = lambda self: None, lambda self: (), lambda self: ()
    cls._null = classmethod(lambda cls: cls())
    dtypes.CLASSES[kind] = cls
    return cls


class ExternalOverload:
    """One declaration of an external function."""

    is_differentiable = False
    hidden = True  # from the reference
    export = False

    def __init__(self, key, input_types, value_type, native_name, doc):
        self.key, self.input_types, self.value_type, self.doc = key, input_types, value_type, doc
        namespace, _, self.native_func = native_name.rpartition("::")
        self.namespace = f"{namespace}::" if namespace else ""
        result = None if value_type is None else types.type_of(value_type)
        self._external_builtin_contract = (result, self.namespace, self.native_func)

    def signature(self):
        return tuple(types.type_of(t) for t in self.input_types.values())


class ExternalFunction(Function):
    """A function of C++ by its declarations."""

    native = None
    module = None

    def __init__(self, key):
        self.key = self.__name__ = key
        self.overloads = []

    def __call__(self, *args, **kwargs):
        raise WarpUnsupportedError(f"'{self.key}' is a function of C++: it cannot be called at Python scope")

    @property
    def _weft_unusable_(self):
        names = ", ".join(f"{o.namespace}{o.native_func}" for o in self.overloads)
        return f"the external function {names}, for which a C++ compiler is needed that is no part of Weft"

    def identity(self):
        """What makes a kernel that calls it what it is."""
        return "; ".join(f"{[str(t) for t in o.signature()]} {o._external_builtin_contract}" for o in self.overloads)


def add_builtin(key, input_types=None, value_type=None, *, native_name=None, doc=""):
    """Declares a function that a module's preamble or a header defines: `wp.<key>`."""
    if not isinstance(key, str) or not key.isidentifier():
        raise ValueError(f"the name of a function is a valid Python identifier, found {key!r}")
    if input_types is None:
        input_types = {}
    if not isinstance(input_types, Mapping):
        raise TypeError(f"input_types is a mapping of names to dtypes, found {type(input_types).__name__}")
    native_name = key if native_name is None else native_name
    _check_native_name(native_name)
    function = getattr(warp, key, None)
    if function is None:
        function = ExternalFunction(key)
        setattr(warp, key, function)
    elif not isinstance(function, ExternalFunction):
        raise RuntimeError(f"wp.{key} exists: an external function cannot have its name")
    made = ExternalOverload(key, dict(input_types), value_type, native_name, doc)
    for other in function.overloads:
        if other.signature() == made.signature():
            if other._external_builtin_contract != made._external_builtin_contract:
                raise RuntimeError(f"conflicting external builtin '{key}': declared before for the same arguments")
            return function
    function.overloads.append(made)
    return function
