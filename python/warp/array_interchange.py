"""What an array is for other libraries: NumPy, DLPack, ctypes; and its content as a list."""

import ctypes

from warp import types
from warp.array_data import numpy_dtype_of, numpy_layout, numpy_values, numpy_view
from warp.array_views import HOOKS


def _as_bfloat16(values, dtype):
    """Bits of bfloat16 as numbers, where the package that has this dtype for NumPy is installed (as beside JAX)."""
    if types.scalar_of(dtype) is not types.SCALAR_CLASSES["bfloat16"]:
        return values
    try:
        import ml_dtypes
    except ImportError:
        return values
    return values.view(ml_dtypes.bfloat16)


class array_interchange:
    """The part of `wp.array` that hands out its memory."""

    def numpy(self):
        """The content as a NumPy array that shares memory where the device allows it."""
        self._require_memory()
        if not self.device.is_cpu:
            return _as_bfloat16(numpy_view(self._on_host()), self.dtype)
        return _as_bfloat16(numpy_view(self, leaves=True), self.dtype)

    def list(self):
        """The content as a flat list of Python numbers, or of vectors and the like."""
        self._require_memory()
        here = self if self.device.is_cpu else self._on_host()
        part = self._element
        if part.kind == "scalar":
            flat = numpy_view(here).flatten()
            if self.dtype.__name__ == "bfloat16":  # NumPy has their bits only
                import numpy as np

                flat = (flat.astype(np.uint32) << 16).view(np.float32)
            return flat.tolist()
        source = here.contiguous()
        cls, base = self.dtype, source._pointer
        more = (self.device,) if part.kind == "struct" else ()  # where the memory of its arrays lies
        return [cls.from_ptr(base + i * part.size, *more) for i in range(self.size)]

    def _on_host(self):
        """A copy in the host's memory, dense."""
        if self.device.is_capturing:
            raise RuntimeError("the content of an array cannot be read while work is captured: it does not exist yet")
        made = HOOKS["host"](self.shape, self.dtype)
        made._copy_from(self)
        return made

    @property
    def __cuda_array_interface__(self):
        if not self._has_memory or not self.device.is_cuda:
            raise AttributeError("an array of the CPU has no __cuda_array_interface__")
        part, inner, interface = numpy_layout(self.dtype, self._element.size)[1:]
        place = {"data": (self.ptr or 0, False), "shape": self.shape + part, "strides": self.strides + inner}
        return {**interface, **place, "stream": self.device.stream.cuda_stream or 1}

    @property
    def __array_interface__(self):
        if not self._has_memory or not self.device.is_cpu:
            raise AttributeError(f"an array of {self.device} has no __array_interface__: use numpy()")
        self._export_view()  # for good: who takes the address says nothing when it is done
        interface = numpy_view(self).__array_interface__
        if interface["strides"] is None:  # said outright: of empty arrays NumPy would find others
            interface["strides"] = self.strides + numpy_layout(self.dtype, self._element.size)[2]
        return interface

    def __array__(self, dtype=None, copy=None):
        import numpy as np

        self._require_memory()
        if copy or (dtype is not None and np.dtype(dtype) != numpy_dtype_of(types.scalar_of(self.dtype))):
            return np.array(numpy_values(self), dtype=dtype)
        return self.numpy()

    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        self._require_memory()
        return HOOKS["dlpack"](self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        self._require_memory()
        return HOOKS["dlpack_device"](self)

    def __ctype__(self):
        """The descriptor of the array as a ctypes structure; it keeps the array alive."""
        made = types.array_t()
        made.owner = self
        if self._has_memory:
            made.data = self.ptr or 0
            made.grad = self._grad.ptr or 0 if self._grad is not None else 0
        made.ndim = self.ndim
        for i, (extent, stride) in enumerate(zip(self.shape, self.strides, strict=False)):
            made.shape[i], made.strides[i] = extent, stride
        return made

    def cptr(self):
        """A ctypes pointer to the elements, which keeps the array alive."""
        if not self.is_contiguous:
            raise RuntimeError("a pointer to elements needs a contiguous array")
        pointer = ctypes.cast(self.ptr or 0, ctypes.POINTER(types.type_ctype(self.dtype)))
        pointer._array = self
        return pointer

    def ipc_handle(self):
        """64 bytes by which another process opens the memory (`wp.from_ipc_handle`). It must not be of a pool."""
        if self.device.is_cuda:
            if self.memory_kind.name == "CUDA_MEMPOOL":
                raise RuntimeError(
                    "Currently, IPC is only supported for arrays using the default memory allocator: see "
                    "wp.set_mempool_enabled()"
                )
            return self.device._ipc_handle(self.ptr)
        raise RuntimeError(f"memory of device {self.device} cannot be shared between processes through a handle")
