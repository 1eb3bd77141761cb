"""Paddle: tensors as arrays and back without copies, with gradients. Paddle is imported when a function is called."""

from warp import types
from warp.array_makers import zeros
from warp.arrays import array
from warp.devices import get_device
from warp.dlpack import capsule_of, over_memory
from warp.streams import Stream
from warp.torch_arrays import signed_scalar  # the same dtypes, unsigned ones as signed


def dtype_to_paddle(warp_dtype):
    """Paddle's dtype for the numbers of a Warp dtype."""
    import paddle

    return getattr(paddle, signed_scalar(types.scalar_of(types.canonical(warp_dtype))).__name__)


def dtype_from_paddle(paddle_dtype):
    """The Warp dtype of a Paddle dtype."""
    name = str(paddle_dtype).removeprefix("paddle.")
    found = types.SCALAR_CLASSES.get(name)
    if found is None:
        raise TypeError(f"Cannot convert {paddle_dtype} to a Warp type")
    return found


def device_to_paddle(warp_device):
    """Paddle's name of a device: "cpu", "gpu:0"."""
    device = get_device(warp_device)
    return "cpu" if device.is_cpu else f"gpu:{device.ordinal}"


def device_from_paddle(paddle_device):
    """The device that Paddle's place, or name of one, means."""
    if isinstance(paddle_device, str):
        return get_device(paddle_device.replace("gpu", "cuda"))
    if paddle_device.is_cpu_place():
        return get_device("cpu")
    if paddle_device.is_gpu_place():
        return get_device(f"cuda:{paddle_device.gpu_device_id()}")
    raise RuntimeError(f"Unsupported Paddle device type {paddle_device}: Warp has the CPU and CUDA")


def from_paddle(t, dtype=None, requires_grad=None, grad=None, return_ctype=False, retain_grad=False):
    """An array over the memory of a tensor; the arguments are those of `from_torch`."""
    scalar = dtype_from_paddle(t.dtype)
    dtype = scalar if dtype is None else types.canonical(dtype)
    device = device_from_paddle(t.place)
    result = over_memory(t.data_ptr(), tuple(t.shape), tuple(t.strides), scalar, device, t, dtype, "Paddle tensor")
    if requires_grad is None:
        requires_grad = not t.stop_gradient
    if grad is not None:
        result.grad = grad if isinstance(grad, array) else from_paddle(grad, dtype=dtype, requires_grad=False)
    elif requires_grad:
        known = t.grad
        result.grad = zeros(result.shape, dtype, device) if known is None else from_paddle(known, dtype, False)
    if retain_grad:
        result.retain_grad = True
    return result.__ctype__() if return_ctype else result


def to_paddle(a, requires_grad=None):
    """A tensor over the memory of an array."""
    import paddle

    capsule = capsule_of(a, stream=-1, scalar=signed_scalar(types.scalar_of(a.dtype)))
    t = paddle.utils.dlpack.from_dlpack(capsule)
    t.stop_gradient = not (a.requires_grad if requires_grad is None else requires_grad)
    return t


def stream_from_paddle(stream_or_device=None):
    """Paddle's current stream on a device (or a stream of Paddle) as one of Warp's."""
    import paddle

    stream = stream_or_device
    if not hasattr(stream, "cuda_stream") and not hasattr(stream, "stream_base"):
        stream = paddle.device.current_stream(stream_or_device)
    handle = getattr(stream, "cuda_stream", None) or stream.stream_base.cuda_stream
    device = device_from_paddle(getattr(stream, "device", "gpu:0"))
    return Stream(device, cuda_stream=handle)
