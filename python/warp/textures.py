"""`wp.Texture1D`, `wp.Texture2D`, `wp.Texture3D`: images that kernels sample with filtering, by `wp.texture_sample()`.

To kernels a texture is a struct of numbers (device/textures.h), so that structs and arrays hold textures as they hold
structs. Not here: the levels of a texture (mipmaps.py), the driver's objects (src/runtime/cuda/texture.h).
"""

import enum

from warp import _core, dtypes, types
from warp.array_makers import empty
from warp.arrays import array
from warp.devices import get_device
from warp.kernels import Argument
from warp.mipmaps import level_shapes, levels_of
from warp.structs import _make_ctype, struct_base


class TextureFilterMode(enum.IntEnum):
    CLOSEST = 0
    LINEAR = 1


class TextureAddressMode(enum.IntEnum):
    WRAP = 0
    CLAMP = 1
    MIRROR = 2
    BORDER = 3


# As device/textures.h numbers them.
_TEXELS = ("uint8", "uint16", "uint32", "int8", "int16", "int32", "float16", "float32")
_WIDE_INTEGERS = ("uint32", "int32")
_CHANNELS = (1, 2, 4)


def _texel_type(dtype):
    found = dtypes.canonical(dtype)
    if getattr(found, "__name__", None) not in _TEXELS or types.type_is_composite(found):
        raise ValueError(f"Unsupported texture dtype: {dtype}. Supported: {', '.join(_TEXELS)}")
    return found


def _filter_mode(value, what):
    try:
        return TextureFilterMode(value)
    except ValueError:
        raise ValueError(f"Invalid texture {what}: {value!r}") from None


def _address_modes(ndim, shared, own):
    modes = list(shared) if isinstance(shared, (tuple, list)) else [shared] * 3
    if len(modes) < ndim:
        raise ValueError(f"address_mode has {len(modes)} modes for {ndim} axes")
    for axis, mode in enumerate(own):
        modes[axis : axis + 1] = [modes[axis] if mode is None else mode] if axis < len(modes) else []
    made = []
    for axis, mode in enumerate(modes[:ndim]):
        try:
            made.append(TextureAddressMode(mode))
        except ValueError:
            raise ValueError(f"Invalid texture address mode for axis {axis}: {mode!r}") from None
    return tuple(made) + (TextureAddressMode.CLAMP,) * (3 - ndim)


class _Texels:
    """Data for a texture, or from one: its shape without channels, their number, the class of their numbers."""

    def __init__(self, data, ndim):
        dtype = data.dtype
        self.is_array = isinstance(data, array)
        if self.is_array:
            self.dtype, channels, shape = types.scalar_of(dtype), types.part_shape(dtype), tuple(data.shape)
        else:
            self.dtype, channels, shape = types.dtype_from_numpy(dtype), (), data.shape
        if len(shape) == ndim + 1 and not channels:
            shape, channels = shape[:-1], shape[-1:]
        if len(shape) != ndim or len(channels) > 1:
            raise ValueError(f"{ndim}D texture data must be {ndim}D or {ndim + 1}D, found shape {tuple(data.shape)}")
        self.shape, self.channels = tuple(shape), channels[0] if channels else 1

    @staticmethod
    def is_contiguous(data):
        import numpy as np

        if isinstance(data, array):
            return data.is_contiguous
        return isinstance(data, np.ndarray) and data.flags.c_contiguous


def _numbers(data, dtype):
    """An array of ours as a line of its numbers."""
    size = dtype._weft_type_.size
    made = array.__new__(array)
    _core.Array.__init__(made, data, dtype._weft_type_, 0, (data.size * (data._element.size // size),), (size,))
    made.dtype = dtype
    return made


class Texture(struct_base):
    """A texture of `ndim` dimensions, made of data (rows first, channels last, if there are several) or of sizes."""

    def __init__(
        self,
        ndim,
        data=None,
        width=0,
        height=0,
        depth=0,
        num_channels=0,
        dtype=None,
        filter_mode=None,
        address_mode=TextureAddressMode.CLAMP,
        address_mode_u=None,
        address_mode_v=None,
        address_mode_w=None,
        normalized_coords=True,
        num_mip_levels=1,
        mip_filter_mode=None,
        device=None,
        surface_access=False,
        cuda_array=0,
    ):
        _core.Value.__init__(self, _core.Type.texture(ndim))
        self.__dict__["_members"] = {}
        self._ndim, self.device = ndim, get_device(device)
        self._cuda, self._texels = None, None
        self._modes = _address_modes(ndim, address_mode, (address_mode_u, address_mode_v, address_mode_w)[:ndim])
        self._normalized = bool(normalized_coords)
        sizes = (width, height, depth)[:ndim]
        wrapped = self._wrap(cuda_array) if cuda_array else None
        if wrapped is not None:
            if data is not None:
                raise ValueError("a texture is made of data or of a cuda_array, not of both")
            sizes, self._channels, self._dtype = wrapped.size[:ndim], wrapped.channels, types_of(wrapped.type)
        elif data is None:
            self._channels = num_channels
        else:
            data, sizes = self._take(data, sizes, num_channels, dtype)
        if wrapped is None and data is None:
            self._dtype = None
        self._size = tuple(sizes)
        self._check_sizes()
        if self._dtype is None:
            self._dtype = _texel_type(dtype)
        self._choose_filters(filter_mode, mip_filter_mode, num_mip_levels)
        self._make(data, wrapped, bool(surface_access))
        self._describe()

    # ---- construction ----

    def _take(self, data, sizes, num_channels, dtype):
        import numpy as np

        if not isinstance(data, array):
            if getattr(data, "_weft_array_family_", None) is not None:
                raise ValueError(f"texture data must be an array or a NumPy array, found {type(data).__name__}")
            data = np.ascontiguousarray(data)
        elif not data.is_contiguous:
            data = data.contiguous()
        try:
            texels = _Texels(data, self._ndim)
        except TypeError as error:
            raise ValueError(f"Unsupported texture dtype: {data.dtype}") from error
        self._channels, self._dtype = texels.channels, _texel_type(texels.dtype)
        found = texels.shape[::-1]
        for name, given, real in zip(("width", "height", "depth"), sizes, found, strict=False):
            if given not in (0, real):
                raise ValueError(f"Specified texture {name} does not match data {name}: {given} and {real}")
        if num_channels not in (0, texels.channels):
            raise ValueError(f"num_channels is {num_channels}, but the data has {texels.channels} channels")
        if dtype is not None and _texel_type(dtype) is not self._dtype:
            raise ValueError(f"dtype is {_texel_type(dtype).__name__}, but the data has {self._dtype.__name__}")
        return data, found

    def _wrap(self, cuda_array):
        if not self.device.is_cuda:
            raise ValueError(f"Texture cuda_array was given, but {self.device} is not a CUDA device")
        made = _core.CudaImage(self.device, cuda_array)
        if made.ndim != self._ndim:
            raise ValueError(f"cuda_array has {made.ndim} dimensions, a {type(self).__name__} has {self._ndim}")
        return made

    def _check_sizes(self):
        for name, size in zip(("width", "height", "depth"), self._size, strict=False):
            if isinstance(size, bool) or not isinstance(size, int) or not 0 < size < 2**31:
                raise ValueError(f"Texture {name} must be a positive integer, found {size!r}")
        if self._channels not in _CHANNELS:
            raise ValueError(f"Texture num_channels must be 1, 2, or 4, found {self._channels}")

    def _choose_filters(self, filter_mode, mip_filter_mode, levels):
        is_wide = self._dtype.__name__ in _WIDE_INTEGERS
        default = TextureFilterMode.CLOSEST if is_wide else TextureFilterMode.LINEAR
        self._filter = default if filter_mode is None else _filter_mode(filter_mode, "filter mode")
        self._mip_filter = default if mip_filter_mode is None else _filter_mode(mip_filter_mode, "mip filter mode")
        most = max(self._size).bit_length()
        if levels < 0:
            raise ValueError(f"num_mip_levels must be >= 0, found {levels}")
        if levels > most:
            raise ValueError(f"num_mip_levels ({levels}) exceeds the {most} levels that sizes {self._size} have")
        self._levels = levels or most
        if is_wide and self._filter != TextureFilterMode.CLOSEST:
            raise ValueError("32-bit integer textures need filter_mode=TextureFilterMode.CLOSEST")
        if is_wide and self._levels > 1 and self._mip_filter != TextureFilterMode.CLOSEST:
            raise ValueError("32-bit integer textures with levels need mip_filter_mode=TextureFilterMode.CLOSEST")
        if self._levels > 1 and not self._normalized and self.device.is_cuda:
            raise ValueError("on CUDA devices a texture with levels needs normalized_coords=True")

    def _make(self, data, wrapped, surface_access):
        """The memory, and what is in it: on the CPU all levels one after the other."""
        if self.device.is_cuda:
            image = wrapped
            if image is None:
                size = self._size + (1,) * (3 - self._ndim)
                kind = _TEXELS.index(self._dtype.__name__)
                image = _core.CudaImage(
                    self.device, self._ndim, size, self._channels, kind, self._levels, surface_access
                )
            self._cuda = _core.CudaTexture(
                image, bool(self._filter), bool(self._mip_filter), [int(m) for m in self._modes], self._normalized
            )
        else:
            shapes = level_shapes(self._shape, self._levels)
            self._texels = empty(
                sum(_product(shape) for shape in shapes) * self._channels, dtype=self._dtype, device=self.device
            )
            self._texels.zero_()
        if wrapped is not None or (data is None and self.device.is_cpu):
            return
        if data is None:  # the driver's memory is not cleared
            import numpy as np

            tail = (self._channels,) if self._channels > 1 else ()
            data = np.zeros(self._shape + tail, dtype=self._numpy_dtype)
        if self._levels == 1:
            self._write([data])
        else:
            self._write(self._generate_mipmap_chain(data.numpy() if isinstance(data, array) else data))

    def _generate_mipmap_chain(self, data):
        """The levels, from the data itself on."""
        return levels_of(data, self._ndim, self._levels)

    def _write(self, levels):
        begin = 0
        for level, data in enumerate(levels):
            source = data if isinstance(data, array) else _array_of(data, self._dtype)
            numbers = _numbers(source, self._dtype)
            if self._cuda is not None:
                self._cuda._copy(numbers.to(self.device), level, True)
            else:
                self._texels[begin : begin + numbers.size].assign(numbers)
            begin += numbers.size

    def _describe(self):
        """Writes what kernels get."""
        handle = self._texels.ptr if self._cuda is None else self._cuda.handle
        texels = handle if self._cuda is None else self._cuda.texels
        flags = self._channels | _TEXELS.index(self._dtype.__name__) << 3 | self._filter << 7 | self._mip_filter << 8
        flags |= self._levels << 9 | self._normalized << 15
        for axis, mode in enumerate(self._modes):
            flags |= mode << (16 + 2 * axis)
        for index, number in enumerate((handle, texels, *self._size, *(1,) * (3 - self._ndim), flags)):
            self._set_part(index, number)
        self._handle = handle

    @classmethod
    def _null(cls):
        """No texture: what a struct's member is before it is set."""
        made = cls.__new__(cls)
        _core.Value.__init__(made, cls._weft_type_)
        made.__dict__.update(_members={}, _handle=0, device=None)
        return made

    @classmethod
    def from_ptr(cls, ptr, device=None):
        raise RuntimeError(f"a {cls.__name__} cannot be made of its bytes: keep the object that it was made as")

    def __del__(self):
        self.__dict__.pop("_cuda", None)

    __setattr__ = object.__setattr__

    # ---- as part of structs, launches and tapes: the object is what keeps the memory, and never changes ----

    def _refresh(self):
        pass

    def _weft_arrays(self):
        return ()

    def _weft_textures(self):
        yield self

    def _gradient(self, of=None):
        return self

    def assign(self, value):
        raise RuntimeError("a texture cannot become another one: use copy_from()")

    def to(self, device):
        if get_device(device) == self.device or self.device is None:
            return self
        raise RuntimeError(f"a texture stays on its device, which is {self.device}: make another one on {device}")

    def __copy__(self):
        return self

    def __repr__(self):
        return f"<{type(self).__name__} of {self._shape if self._handle else 'nothing'}>"

    __str__ = __repr__

    # ---- what it is ----

    ndim = property(lambda self: self._ndim)
    width = property(lambda self: self._size[0])
    height = property(lambda self: self._size[1] if self._ndim > 1 else 1)
    depth = property(lambda self: self._size[2] if self._ndim > 2 else 1)
    num_channels = property(lambda self: self._channels)
    dtype = property(lambda self: self._dtype)
    filter_mode = property(lambda self: self._filter)
    mip_filter_mode = property(lambda self: self._mip_filter)
    num_mip_levels = property(lambda self: self._levels)
    is_mipmapped = property(lambda self: self._levels > 1)
    address_mode_u = property(lambda self: self._modes[0])
    address_mode_v = property(lambda self: self._modes[1])
    address_mode_w = property(lambda self: self._modes[2])
    normalized_coords = property(lambda self: self._normalized)
    id = property(lambda self: self._handle, doc="What tells it from other textures of its device.")
    _shape = property(lambda self: self._size[::-1])
    _numpy_dtype = property(lambda self: types.numpy_name(self._dtype))

    def _of_cuda(self, what):
        if self._cuda is None:
            raise RuntimeError(f"{what} is only supported for CUDA textures; `id` is there on every device")
        return self._cuda

    @property
    def cuda_texture(self):
        """The driver's texture object."""
        return self._of_cuda("cuda_texture").handle

    @property
    def cuda_array(self):
        """The driver's array, which holds the texels."""
        cuda = self._of_cuda("cuda_array")
        if self.is_mipmapped:
            raise RuntimeError("cuda_array is currently limited to non-mipmapped CUDA textures")
        return cuda.array

    @property
    def cuda_surface(self):
        """The driver's surface object, through which kernels of other compilers write; made when first asked for."""
        cuda = self._of_cuda("cuda_surface")
        if not cuda.has_surface:
            raise RuntimeError("cuda_surface needs a texture made with surface_access=True")
        return cuda.surface

    def __ctype__(self):
        """What kernels get, as a ctypes structure; it keeps the texture alive."""
        made = type(self).ctype.from_buffer_copy(self._bytes())
        made.owner = self
        return made

    # ---- copies ----

    def copy_from(self, src):
        """Copies texels from an array, a NumPy array or another texture of the same shape, channels and numbers."""
        source = self._counterpart(src, "source", "copy_from")
        if isinstance(src, Texture):
            source = empty(self._count, dtype=self._dtype, device=src.device)
            src._read(source)
        elif not isinstance(source, array):
            source = _array_of(source, self._dtype)
        self._write([source])

    def copy_to(self, dst):
        """Copies the texels to an array, a NumPy array or another texture of the same shape, channels and numbers."""
        target = self._counterpart(dst, "destination", "copy_to")
        if isinstance(dst, Texture):
            dst.copy_from(self)
        elif isinstance(target, array):
            self._read(_numbers(target, self._dtype))
        else:
            host = empty(self._count, dtype=self._dtype, device=self.device)
            self._read(host)
            target[...] = host.numpy().reshape(target.shape)

    @property
    def _count(self):
        return _product(self._shape) * self._channels

    def _read(self, numbers):
        """Copies the texels to an array of as many numbers."""
        if self._cuda is None:
            numbers.assign(self._texels)
        elif numbers.device == self.device:
            self._cuda._copy(numbers, 0, False)
        else:
            here = empty(self._count, dtype=self._dtype, device=self.device)
            self._cuda._copy(here, 0, False)
            numbers.assign(here)

    def _counterpart(self, other, role, what):
        if self.is_mipmapped or (isinstance(other, Texture) and other.is_mipmapped):
            raise RuntimeError(f"{what}() is for textures of one level: levels are made when the texture is")
        if isinstance(other, Texture):
            shape, channels, dtype = other._shape, other._channels, other._dtype
        elif not _Texels.is_contiguous(other):
            raise ValueError(f"Expected contiguous array or Texture, found {type(other).__name__}")
        else:
            try:
                texels = _Texels(other, self._ndim)
            except ValueError:  # another number of dimensions: told below as another shape
                shape, channels, dtype = tuple(other.shape), self._channels, self._dtype
            else:
                shape, channels, dtype = texels.shape, texels.channels, texels.dtype
        if shape != self._shape and isinstance(other, Texture):
            to, source = (self._shape, shape) if role == "source" else (shape, self._shape)
            raise ValueError(f"Incompatible texture shapes for copy: destination shape={to}, source shape={source}")
        if shape != self._shape:
            raise ValueError(f"Incompatible array shape for copy: texture shape={self._shape}, {role} shape={shape}")
        if dtype is not self._dtype or channels != self._channels:
            kind = "texture" if isinstance(other, Texture) else "array"
            text = f"texture dtype={self._dtype.__name__}, {role} dtype={dtype.__name__}"
            if channels != self._channels:
                text += f", texture channels={self._channels}, {role} channels={channels}"
            raise ValueError(f"Incompatible {kind} data type for copy: {text}")
        return other


def types_of(kind):
    """The class of numbers that a CUDA array says it holds."""
    return getattr(types, _TEXELS[kind])


def _product(sizes):
    out = 1
    for size in sizes:
        out *= size
    return out


def _array_of(data, dtype):
    return array(data.reshape(-1), dtype=dtype, device="cpu", copy=False)


class _Descriptor:
    """What a texture's ctypes structure tells by name."""

    _flags = property(lambda self: getattr(self, "$flags"))
    tex = property(lambda self: getattr(self, "$handle"))
    num_channels = property(lambda self: self._flags & 7)
    dtype = property(lambda self: self._flags >> 3 & 15)
    filter_mode = property(lambda self: self._flags >> 7 & 1)
    mip_filter_mode = property(lambda self: self._flags >> 8 & 1)
    num_mip_levels = property(lambda self: self._flags >> 9 & 63)
    use_normalized_coords = property(lambda self: self._flags >> 15 & 1)
    address_mode_u = property(lambda self: self._flags >> 16 & 3)
    address_mode_v = property(lambda self: self._flags >> 18 & 3)
    address_mode_w = property(lambda self: self._flags >> 20 & 3)


def _class_of(ndim, init):
    kind = _core.Type.texture(ndim)
    sizes = ("width", "height", "depth")
    names = ["$handle", "$texels", *(n if i < ndim else f"${n}" for i, n in enumerate(sizes)), "$flags"]
    numbers = (types.uint64, types.uint64, types.int32, types.int32, types.int32, types.uint32)
    fields = {name: (number, i) for i, (name, number) in enumerate(zip(names, numbers, strict=True))}
    name = f"Texture{ndim}D"
    made = type(name, (Texture,), {"__init__": init, "_weft_type_": kind, "_fields": fields, "__module__": __name__})
    made.__doc__ = f"A texture of {ndim} dimension{'s' if ndim > 1 else ''}."
    made.key, made.cls = name, made
    made.vars = {n: Argument(n, types.int32) for n in sizes[:ndim]}
    plain = _make_ctype(name, fields, kind)
    made.ctype = type(plain.__name__, (_Descriptor, plain), {})
    dtypes.CLASSES[kind] = made
    return made


def _init_1d(self, data=None, width=0, num_channels=0, dtype=None, **options):
    Texture.__init__(self, 1, data, width, 0, 0, num_channels, dtype, **options)


def _init_2d(self, data=None, width=0, height=0, num_channels=0, dtype=None, **options):
    Texture.__init__(self, 2, data, width, height, 0, num_channels, dtype, **options)


def _init_3d(self, data=None, width=0, height=0, depth=0, num_channels=0, dtype=None, **options):
    Texture.__init__(self, 3, data, width, height, depth, num_channels, dtype, **options)


Texture1D, Texture2D, Texture3D = (_class_of(n + 1, init) for n, init in enumerate((_init_1d, _init_2d, _init_3d)))
