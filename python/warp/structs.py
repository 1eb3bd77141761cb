"""`@wp.struct`: classes with typed members, laid out as kernels see them."""

import ctypes
import inspect

from warp import _core, dtypes, modules, types
from warp.annotations import CLASSES, check_annotations, is_annotation
from warp.array_data import numpy_dtype_of
from warp.arrays import array, gradient_of
from warp.devices import get_device
from warp.errors import WarpCodegenAttributeError
from warp.kernels import Argument
from warp.loggers import log_warning
from warp.values import scalar_class_of

_KINDS = {
    "array": "array",
    "indexedarray": "indexed array",
    "fabricarray": "Fabric array",
    "indexedfabricarray": "indexed Fabric array",
}


def _is_array(member):
    return getattr(member, "_weft_array_family_", None) is not None


def _type_of_member(member):
    return member._weft_type_ if _is_array(member) else types.type_of(member)


class struct_base(_core.Value):
    """An instance: members are checked when they are set, and kept in the layout of kernels."""

    _weft_struct_ = True

    @property
    def _weft_value_(self):
        # No numbers: an instance that a kernel captures is a value, and one that kernels cannot hold.
        return self._weft_type_, ()

    def __init__(self, *args, **kwargs):
        super().__init__(self._weft_type_)
        object.__setattr__(self, "_members", {})
        for name, (member, _) in self._fields.items():
            self._members[name] = self._default(name, member)
        if len(args) > len(self._fields):
            raise TypeError(f"{type(self).__name__} has {len(self._fields)} members, found {len(args)} values")
        for name, value in [*zip(self._fields, args, strict=False), *kwargs.items()]:
            setattr(self, name, value)

    @classmethod
    def _null(cls):
        """What a member of this type is before it is set."""
        return cls()

    def _default(self, name, member):
        if _is_array(member):
            return None
        if types.type_is_struct(member):
            value = member._null()
            self._store(name, value)
            return value
        if issubclass(member, types.value_base):
            # Zeros, as memory has them: a transform's rotation too.
            return member._of([0] * member._weft_type_.part_count)
        return types.builtins.bool(0) if member.__name__ == "bool" else member(0.0 if "float" in member.__name__ else 0)

    def _store(self, name, value):
        """Writes a member to memory."""
        member, index = self._fields[name]
        if not _is_array(member):
            try:
                self._set_part(index, value)
            except ValueError as error:
                raise TypeError(f"Struct field '{name}': {error}") from None
        elif member._weft_array_family_ == "array" or value is None:
            self._set_array(index, value)
        else:
            self._set_part(index, value._packed())

    def _check_array(self, name, member, value):
        if value is None:
            return
        family = member._weft_array_family_
        if getattr(value, "_weft_array_family_", None) != family or isinstance(value, type) or is_annotation(value):
            raise TypeError(f"Struct field '{name}' expects a Warp {_KINDS[family]}, got {type(value).__name__}")
        if value._element != types.type_of(member.dtype):
            raise TypeError(
                f"Struct field '{name}' expects dtype {types.type_repr(member.dtype)}, "
                f"got {types.type_repr(value.dtype)}"
            )
        if value.ndim != member.ndim:
            raise TypeError(
                f"Struct field '{name}' expects an array with {member.ndim} dimension(s), got {value.ndim} dimension(s)"
            )

    def _converted(self, name, member, value):
        """A value as the member keeps it."""
        if types.type_is_struct(member):
            if value is None:
                return member._null()
            if not types.is_struct(value) or value._weft_type_ != member._weft_type_:
                raise TypeError(f"Struct field '{name}' expects {member.__name__}, got {type(value).__name__}")
            return value
        if issubclass(member, types.value_base):
            if value is None:
                return member._of([0] * member._weft_type_.part_count)
            scalar = scalar_class_of(value)
            if scalar is not None:
                return self._filled(name, member, value, scalar)
            return value if isinstance(value, member) else member(value)
        if value is None:
            return self._default(name, member)
        number = types.scalars.number(value)
        is_float = "float" in member.__name__
        if member.__name__ == "bool":
            return types.builtins.bool(number)
        if isinstance(number, str) or not hasattr(number, "__float__" if is_float else "__index__"):
            if is_float:
                raise TypeError(f"Struct field '{name}': must be real number, not {type(value).__name__}")
            raise TypeError(
                f"Struct field '{name}': '{type(value).__name__}' object cannot be interpreted as an integer"
            )
        rounded = _core.round_number(member._weft_type_, number)
        # Numbers of Warp's keep their class, Python's theirs.
        return member(rounded) if isinstance(value, types.scalar_base) else rounded

    def _filled(self, name, member, value, scalar):
        """A vector or the like from one number: only what older programs give, with a warning."""
        if type(value).__module__ != "numpy" and not isinstance(value, bool) and scalar.__name__ != "bool":
            raise TypeError(
                f"Struct field '{name}' expects {member.__name__} but got a single value of type "
                f"{type(value).__name__}. Construct the value explicitly, e.g.: {member.__name__}(...)"
            )
        log_warning(
            f"Converting a value of type `{type(value).__name__}` to `{member.__name__}` for struct field '{name}' is "
            f"deprecated: construct it explicitly, as {member.__name__}(...)",
            category=DeprecationWarning,
        )
        return member._of([types.scalars.number(value)] * member._weft_type_.part_count)

    def __setattr__(self, name, value):
        if name not in self._fields:
            raise WarpCodegenAttributeError(f"Trying to set Warp struct attribute that does not exist {name}")
        member = self._fields[name][0]
        if _is_array(member):
            self._check_array(name, member, value)
        else:
            value = self._converted(name, member, value)
        self._store(name, value)
        self._members[name] = value

    def __getattr__(self, name):
        members = object.__getattribute__(self, "_members")
        if name not in members:
            raise AttributeError(f"{type(self).__name__} has no member '{name}'")
        return members[name]

    def _refresh(self):
        """Vectors and structs among the members may have been changed in place."""
        for name, value in self._members.items():
            if types.is_struct(value):
                value._refresh()
            if isinstance(value, _core.Value) or types.is_struct(value):
                self._store(name, value)

    def _weft_arrays(self):
        for value in self._members.values():
            if isinstance(value, _core.Array):
                yield value
            elif hasattr(value, "_weft_arrays") and not is_annotation(value):
                yield from value._weft_arrays()

    def _weft_textures(self):
        for value in self._members.values():
            if isinstance(value, struct_base):
                yield from value._weft_textures()

    def _gradient(self, of=gradient_of):
        """The same struct with the gradients of its arrays, which `of` gives; the rest is zero."""
        result = type(self)()
        for name, value in self._members.items():
            if isinstance(value, _core.Array):
                setattr(result, name, of(value))
            elif isinstance(value, struct_base):
                setattr(result, name, value._gradient(of))
            elif hasattr(value, "_gradient"):
                result._set_part(self._fields[name][1], value._gradient(of))
        return result

    def assign(self, value):
        """Takes over all members of another instance."""
        if not isinstance(value, struct_base) or value._weft_type_ != self._weft_type_:
            raise RuntimeError(f"cannot assign {type(value).__name__} to struct {type(self).__name__}")
        for name in self._fields:
            setattr(self, name, getattr(value, name))

    @staticmethod
    def _moved(name, value, device):
        """A member on a device."""
        family = getattr(value, "_weft_array_family_", "")
        if "fabric" in family and get_device(device) is not value.device:
            kind = "indexed Fabric" if family == "indexedfabricarray" else "Fabric"
            raise ValueError(f"Cannot move struct field '{name}' containing a Warp {kind} array to another device")
        moved = value.to(device)
        # On another device there is a copy of what the indices select, which needs none.
        return CLASSES[family](moved) if family == "indexedarray" and isinstance(moved, array) else moved

    def to(self, device):
        """The same struct with its arrays on a device."""
        result = type(self)()
        result._set_bytes(self._bytes())
        for name, value in self._members.items():
            if is_annotation(value):
                result._members[name] = value
            else:
                setattr(result, name, self._moved(name, value, device) if hasattr(value, "to") else value)
        return result

    def __copy__(self):
        result = type(self)()
        result.assign(self)
        return result

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other

    def __ctype__(self):
        """The bytes that kernels get, as a ctypes structure; it keeps the instance alive."""
        self._refresh()
        made = type(self).ctype.from_buffer_copy(self._bytes())
        made.owner = self
        return made

    @classmethod
    def numpy_dtype(cls):
        """The structured dtype of this layout as NumPy's dictionary; arrays are their descriptors' bytes."""
        names, formats = [], []
        for name, (member, _) in cls._fields.items():
            names.append(name)
            if _is_array(member):
                formats.append(f"{member._weft_type_.size}u1")
            elif types.type_is_struct(member):
                formats.append(member.numpy_dtype())
            else:
                formats.append((numpy_dtype_of(member).str, types.part_shape(member)))
        return {
            "names": names,
            "formats": formats,
            "offsets": cls._weft_type_.offsets,
            "itemsize": cls._weft_type_.size,
        }

    def numpy_value(self):
        """The members as NumPy takes them for an element of `numpy_dtype()`."""
        import numpy as np

        self._refresh()
        return np.frombuffer(self._bytes(), dtype=np.dtype(self.numpy_dtype()))[0].item()

    @classmethod
    def from_ptr(cls, ptr, device=None):
        """A copy of the value at an address of the host; arrays among the members share the memory that they had.

        `device`: where that memory lies, the CPU if it is None.
        """
        if not ptr:
            raise RuntimeError("NULL pointer exception: there is no value at address 0")
        value = cls()
        value._copy_from_address(ptr)
        for name, (member, index) in cls._fields.items():
            if _is_array(member):
                if member._weft_array_family_ == "array":
                    value._members[name] = _array_at(member, ptr + cls._weft_type_.offsets[index], device)
                else:  # what it is made of lies elsewhere: its type is known, and its descriptor kept
                    value._members[name] = CLASSES[member._weft_array_family_](dtype=member.dtype, ndim=member.ndim)
            else:
                inner = ptr + cls._weft_type_.offsets[index]
                if types.type_is_struct(member):
                    value._members[name] = member.from_ptr(inner, device)
                elif issubclass(member, _core.Value):
                    value._members[name] = member.from_ptr(inner)
                else:
                    scalar = _core.Value(member._weft_type_)
                    scalar._copy_from_address(inner)
                    value._members[name] = scalar._get(0)
        return value

    def __repr__(self):
        lines = []
        for name, value in self._members.items():
            text = str(value).replace("\n", "\n\t") if isinstance(value, struct_base) else str(value)
            lines.append(f"\t{name}={text},\n")
        return f"{type(self).__name__}(\n{''.join(lines)})"

    __str__ = __repr__


def snapshot(argument):
    """An argument of a launch as it is now: a struct may get other members later."""
    return argument.__copy__() if isinstance(argument, struct_base) else argument


def _make_ctype(name, fields, type_):
    """The ctypes structure of this layout."""
    made, end = [], 0
    for (member, (annotation, _)), offset in zip(fields.items(), type_.offsets, strict=True):
        if offset > end:
            made.append((f"_padding{end}", ctypes.c_uint8 * (offset - end)))
        size = _type_of_member(annotation).size
        made.append((member, ctypes.c_uint8 * size if _is_array(annotation) else types.type_ctype(annotation)))
        end = offset + size
    if type_.size > end:
        made.append((f"_padding{end}", ctypes.c_uint8 * (type_.size - end)))
    return type(name, (ctypes.Structure,), {"_pack_": 1, "_layout_": "ms", "_fields_": made})


def _array_at(member, address, device):
    """The array that a descriptor in memory speaks of; whoever made it keeps its memory."""
    ndim = member.ndim
    data, *numbers = (ctypes.c_int64 * (1 + 2 * ndim)).from_address(address)
    if not data:
        return None
    made = array.__new__(array)
    made._share(member.dtype, numbers[:ndim], numbers[ndim:], data, 0, get_device(device or "cpu"), None)
    return made


def _lay_out(cls, **demands):
    """Notes how a struct is to lie in memory, for struct() to see."""
    if issubclass(cls, struct_base):
        raise TypeError(f"{cls.__name__} is a struct already: wp.aligned and wp.packed stand beneath @wp.struct")
    cls._weft_layout_ = {**cls.__dict__.get("_weft_layout_", {}), **demands}
    return cls


def aligned(bytes):
    """Beneath `@wp.struct`: values lie at multiples of so many bytes, and the size is one too."""
    if bytes <= 0 or bytes & (bytes - 1):
        raise ValueError(f"an alignment is a power of two, found {bytes}")
    return lambda cls: _lay_out(cls, alignment=bytes)


def packed(cls):
    """Beneath `@wp.struct`: members follow each other without padding."""
    return _lay_out(cls, packed=True)


def struct(cls=None, *, name=None):
    """Makes a class with annotated members a struct of the kernel language."""
    if cls is None:
        return lambda c: struct(c, name=name)
    if issubclass(cls, struct_base):
        raise RuntimeError("Warp structs must be defined as base classes")
    check_annotations(cls)
    annotations = {}
    for base in reversed(cls.__mro__):
        annotations.update(inspect.get_annotations(base, eval_str=True))
    fields, parts = {}, []
    for index, (member, annotation) in enumerate(annotations.items()):
        annotation = dtypes.canonical(annotation)
        if getattr(annotation, "_weft_array_family_", None) == "fixedarray":
            raise TypeError(f"member '{member}': a fixed-size array cannot be a member of a struct")
        try:
            kind = _type_of_member(annotation)
        except (TypeError, AttributeError):
            raise TypeError(f"member '{member}' has no type that a struct can hold: {annotation!r}") from None
        fields[member] = (annotation, index)
        parts.append((member, kind))
    members = {n: v for n, v in vars(cls).items() if n not in ("__dict__", "__weakref__") and n not in fields}
    members["_fields"] = fields
    layout = members.pop("_weft_layout_", {})
    made = _core.Type.struct(name or cls.__name__, parts, layout.get("alignment", 0), layout.get("packed", False))
    members["_weft_type_"] = made
    bases = [b for b in cls.__bases__ if b is not object]
    result = type(cls.__name__, (struct_base, *bases), members)
    result.key = modules.full_name(cls)
    result.cls = result
    result.vars = {n: Argument(n, annotation) for n, (annotation, _) in fields.items()}
    result.ctype = _make_ctype(cls.__name__, fields, made)
    result.module = modules.get_module(cls.__module__)
    result.module.register_struct(result)
    dtypes.CLASSES[made] = result
    return result
