"""`@wp.struct`: classes with typed members, laid out as kernels see them."""

import inspect

from warp import _core, types
from warp.arrays import array
from warp.errors import WarpCodegenAttributeError


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

    def _default(self, name, member):
        if isinstance(member, array):
            return None
        if issubclass(member, struct_base):
            value = member()
            self._store(name, value)
            return value
        if issubclass(member, types.value_base):
            # Zeros, as memory has them: a transform's rotation too.
            return member._of([0] * member._weft_type_.part_count)
        return types.builtins.bool(0) if member.__name__ == "bool" else (0.0 if "float" in member.__name__ else 0)

    def _store(self, name, value):
        member, index = self._fields[name]
        if isinstance(member, array):
            if value is not None:
                if not isinstance(value, array):
                    raise TypeError(f"member '{name}' takes an array, found {type(value).__name__}")
                if value._element != types.type_of(member.dtype) or value.ndim != member._annotated_ndim:
                    raise TypeError(f"member '{name}' takes {member!r}, found {value!r}")
            self._set_array(index, value)
        else:
            try:
                self._set_part(index, value)
            except ValueError as error:
                raise TypeError(f"member '{name}': {error}") from None

    def __setattr__(self, name, value):
        if name not in self._fields:
            raise WarpCodegenAttributeError(f"{type(self).__name__} has no member '{name}'")
        self._store(name, value)
        member = self._fields[name][0]
        if not isinstance(member, array) and not isinstance(value, member):
            if issubclass(member, types.value_base):
                value = member(*types._flatten([value]))
            elif not issubclass(member, struct_base):
                value = _core.round_number(member._weft_type_, value)
        self._members[name] = value

    def __getattr__(self, name):
        members = object.__getattribute__(self, "_members")
        if name not in members:
            raise AttributeError(f"{type(self).__name__} has no member '{name}'")
        return members[name]

    def _refresh(self):
        """Vectors and structs among the members may have been changed in place."""
        for name, value in self._members.items():
            if isinstance(value, struct_base):
                value._refresh()
            if isinstance(value, _core.Value):
                self._store(name, value)

    def _weft_arrays(self):
        for value in self._members.values():
            if isinstance(value, array):
                yield value
            elif isinstance(value, struct_base):
                yield from value._weft_arrays()

    def _gradient(self):
        """The same struct with the gradients of its arrays; the rest is zero."""
        result = type(self)()
        for name, value in self._members.items():
            if isinstance(value, array):
                setattr(result, name, value.grad)
            elif isinstance(value, struct_base):
                setattr(result, name, value._gradient())
        return result

    def assign(self, value):
        for name in self._fields:
            setattr(self, name, getattr(value, name))

    def to(self, device):
        result = type(self)()
        for name, value in self._members.items():
            setattr(result, name, value.to(device) if hasattr(value, "to") else value)
        return result

    @classmethod
    def numpy_dtype(cls):
        """The structured dtype of this layout; arrays are their descriptors' bytes."""
        import numpy as np

        names, formats = [], []
        for name, (member, _) in cls._fields.items():
            names.append(name)
            if isinstance(member, array):
                formats.append((np.uint8, _core.Type.array(types.type_of(member.dtype), member._annotated_ndim).size))
            elif issubclass(member, struct_base):
                formats.append(member.numpy_dtype())
            else:
                formats.append((types.numpy_name(types.scalar_of(member)), types.part_shape(member)))
        return np.dtype(
            {
                "names": names,
                "formats": formats,
                "offsets": cls._weft_type_.offsets,
                "itemsize": cls._weft_type_.size,
            }
        )

    def numpy_value(self):
        import numpy as np

        self._refresh()
        return np.frombuffer(self._bytes(), dtype=self.numpy_dtype())[0].item()

    @classmethod
    def from_ptr(cls, ptr):
        """A copy of the value at an address; members that are arrays are left out."""
        value = cls()
        value._copy_from_address(ptr)
        for name, (member, index) in cls._fields.items():
            if isinstance(member, array):
                value._set_array(index, None)
            else:
                inner = ptr + cls._weft_type_.offsets[index]
                if issubclass(member, _core.Value):
                    value._members[name] = member.from_ptr(inner)
                else:
                    scalar = _core.Value(member._weft_type_)
                    scalar._copy_from_address(inner)
                    value._members[name] = scalar._get(0)
        return value

    def __repr__(self):
        members = "".join(f"\t{name}={value},\n" for name, value in self._members.items())
        return f"{type(self).__name__}(\n{members})"

    __str__ = __repr__


def struct(cls=None, *, name=None):
    """Makes a class with annotated members a struct of the kernel language."""
    if cls is None:
        return lambda c: struct(c, name=name)
    fields, parts = {}, []
    for index, (member, annotation) in enumerate(inspect.get_annotations(cls, eval_str=True).items()):
        if isinstance(annotation, array):
            type_ = annotation._weft_type_
        else:
            annotation = types.canonical(annotation)
            type_ = types.type_of(annotation)
        fields[member] = (annotation, index)
        parts.append((member, type_))
    members = {n: v for n, v in vars(cls).items() if n not in ("__dict__", "__weakref__") and n not in fields}
    members["_fields"] = fields
    members["_weft_type_"] = _core.Type.struct(name or cls.__name__, parts, 0, False)
    result = type(cls.__name__, (struct_base,), members)
    result.key = cls.__name__
    types._classes[members["_weft_type_"]] = result
    return result
