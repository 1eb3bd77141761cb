"""Arrays handed to other libraries and taken from them without a copy, by DLPack (https://dmlc.github.io/dlpack)."""

from warp import _core, types
from warp.array_data import Export, contiguous_strides
from warp.array_views import HOOKS
from warp.arrays import array
from warp.devices import get_device

_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}
_NAMES = {number: name for name, number in _CODES.items()}
# Streams that a number stands for; others are handles.
_LEGACY_STREAM = 1


def _code_of(scalar):
    """(code, bits) of the numbers of a dtype."""
    name = scalar.__name__
    kind = name.rstrip("0123456789")
    return _CODES[kind], 8 * scalar._weft_type_.size


def _scalar_of(code, bits):
    name = _NAMES.get(code)
    found = types.SCALAR_CLASSES.get("bool" if name == "bool" and bits == 8 else f"{name}{bits}")
    if found is None:
        raise RuntimeError(f"no Warp data type is like DLPack's {name or f'type {code}'}{bits}")
    return found


def device_of(a):
    """(type, number) of an array's device."""
    return (_CPU, 0) if a.device.is_cpu else (_CUDA, a.device.ordinal)


def _order(a, stream):
    """Makes the consumer's stream wait for what has been given to the array's device."""
    if a.device.is_cpu:
        if stream not in (None, -1):
            raise TypeError(f"DLPack stream must be None or -1 for CPU device, found {stream!r}")
        return
    if stream is not None and (not isinstance(stream, int) or stream < -1):
        raise TypeError(f"DLPack stream must None or an integer >= -1, found {stream!r}")
    if stream == -1:
        return
    from warp.streams import Stream

    ours = a.device.stream
    theirs = Stream(a.device, cuda_stream=stream or _LEGACY_STREAM)
    if theirs.cuda_stream != ours.cuda_stream:
        theirs.wait_stream(ours)


def capsule_of(a, stream=None, versioned=False, scalar=None):
    """A capsule over the array's memory; `scalar`: the dtype to call its numbers by, if another."""
    _order(a, stream)
    own = types.scalar_of(a.dtype)
    if getattr(own, "_weft_struct_", False):
        raise BufferError(f"arrays of structs ({types.type_repr(a.dtype)}) are not exported through DLPack")
    code, bits = _code_of(scalar or own)
    part = types.part_shape(a.dtype)
    size = bits // 8
    strides = a.strides + contiguous_strides(part, size)
    holder = Export(a)
    holder.owner = a
    return _core.dlpack_export(
        holder, a.ptr or 0, a.shape + part, [s // size for s in strides], code, bits, *device_of(a), versioned
    )


def export(a, stream=None, max_version=None, dl_device=None, copy=None):
    """What `array.__dlpack__` is. The newer form (`max_version` of 1.0 or more) says that its memory may be written."""
    if dl_device is not None and tuple(dl_device) != device_of(a):
        if tuple(dl_device) != (_CPU, 0) or copy is False:
            raise BufferError(f"the array is on DLPack device {device_of(a)}, not on {tuple(dl_device)}")
        a, stream = a.to("cpu"), None
    elif copy:
        a = array(a, copy=True)
    return capsule_of(a, stream, versioned=max_version is not None and max_version[0] >= 1)


def to_dlpack(wp_array):
    """A DLPack capsule over the memory of an array. The consumer must be in step with the array's device."""
    return capsule_of(wp_array, stream=-1)


def _taken(source):
    """What another library exports, or a capsule: its memory, on the current stream of its device."""
    if not hasattr(source, "__dlpack__"):
        return _core.dlpack_import(source)
    kind, number = map(int, source.__dlpack_device__())
    if kind in (_CPU, _CUDA_HOST):
        return _core.dlpack_import(source.__dlpack__())
    if kind in (_CUDA, _CUDA_MANAGED):
        stream = get_device(f"cuda:{number}").stream.cuda_stream
        return _core.dlpack_import(source.__dlpack__(stream=stream or _LEGACY_STREAM))
    raise TypeError(f"Unsupported source device for DLPack: device_type={kind}, device_id={number}")


def from_dlpack(source, dtype=None, hint=None):
    """An array over the memory of another library's object with `__dlpack__`, or of a DLPack capsule.

    `dtype`: numbers of the same size, or vectors and matrices that the inner dimensions hold.
    """
    pointer, shape, strides, code, bits, kind, number, holder = _taken(source)
    device = get_device("cpu" if kind in (_CPU, _CUDA_HOST) else f"cuda:{number}")
    return over_memory(pointer, tuple(shape), strides, _scalar_of(code, bits), device, holder, dtype, "DLPack tensor")


def fits(found, wanted):
    """Whether numbers may be read as others: the same, or integers (truth values too) of one size."""
    integers = ("int", "uint", "bool")
    kinds = [s.__name__.rstrip("0123456789") for s in (found, wanted)]
    return found is wanted or (found._weft_type_.size == wanted._weft_type_.size and all(k in integers for k in kinds))


def over_memory(pointer, shape, strides, scalar, device, owner, dtype, what, memory=None):
    """An array over memory of `owner`: numbers of `scalar` at `strides` in numbers (None: dense), seen as `dtype`.

    `memory`: an array of the bytes that it lies in, where there is one.
    """
    size = scalar._weft_type_.size
    strides = contiguous_strides(shape, size) if strides is None else tuple(s * size for s in strides)
    dtype = scalar if dtype is None else types.canonical(dtype)
    part = types.part_shape(dtype)
    if not fits(scalar, types.scalar_of(dtype)):
        code, bits = _code_of(scalar)
        raise RuntimeError(f"Incompatible data types: DLPack {_NAMES[code]}{bits} and Warp {types.type_repr(dtype)}")
    outer = len(shape) - len(part)
    if outer < 0 or shape[outer:] != part:
        raise RuntimeError(
            f"Could not convert {what} with shape {shape} to a Warp array of {types.type_repr(dtype)}: the inner "
            f"dimensions must be {part}"
        )
    if strides[outer:] != contiguous_strides(part, size) and 0 not in shape:
        raise RuntimeError(
            f"Could not convert {what} to a Warp array of {types.type_repr(dtype)}: the inner dimensions must be "
            "contiguous"
        )
    if outer == 0:
        shape, strides, outer = (1, *shape), (types.type_of(dtype).size, *strides), 1
    result = array.__new__(array)
    if memory is None:
        result._share(dtype, shape[:outer], strides[:outer], pointer, 0, device, owner)
    else:
        offset = pointer - memory._pointer
        _core.Array.__init__(result, memory, types.type_of(dtype), offset, shape[:outer], strides[:outer])
        result.dtype, result._ref = dtype, owner
    return result


HOOKS["dlpack"], HOOKS["dlpack_device"] = export, device_of
