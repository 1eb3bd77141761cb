"""Tensors of PyTorch (or of a stand-in, where it is not installed) as arrays: memory, gradients, writes."""

import os
import subprocess
import sys

import numpy as np
import pytest
from support import tensors

import warp as wp
from warp import _core

pytestmark = pytest.mark.host("tensors of the CPU")


@pytest.fixture
def torch(monkeypatch):
    try:
        import torch

        return torch
    except ImportError:
        made = tensors.module()
        monkeypatch.setitem(sys.modules, "torch", made)
        return made


@wp.kernel
def square(a: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = a[i] * a[i]


@wp.kernel
def scale(a: wp.array(dtype=float), by: float):
    i = wp.tid()
    a[i] = by * a[i]


def squares(a, n=3):
    """A tape with the squares of an array, and where they are."""
    o = wp.zeros(n, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(square, n, [a, o])
    return tape, o


def backward(tape, o):
    tape.backward(grads={o: np.ones(o.shape, dtype=np.float32)})


def test_a_tensor_shares_memory_and_gradient(torch):
    t = torch.tensor([1.0, 2.0, 3.0]).requires_grad_()
    a = wp.from_torch(t)
    tape, o = squares(a)
    assert o.numpy().tolist() == [1.0, 4.0, 9.0]
    backward(tape, o)
    assert t.grad.tolist() == [2.0, 4.0, 6.0]
    assert a.capacity == 12 and wp.from_torch(t[1:].data).capacity == 8


def test_a_tensor_is_an_argument(torch):
    t, o = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.0, 0.0, 0.0])
    wp.launch(square, 3, [t, o])
    assert o.tolist() == [1.0, 4.0, 9.0]
    with pytest.raises(wp.WarpLaunchError, match="argument 'a' expects an array"):
        wp.launch(square, 3, [torch.tensor([[1.0, 2.0]]), o])


def test_a_tensor_given_directly_gets_its_gradient(torch):
    t = torch.tensor([1.0, 2.0, 3.0]).requires_grad_()
    tape, o = squares(t)
    backward(tape, o)
    assert t.grad.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("part", [False, True])
def test_a_write_by_the_library_is_refused(torch, part):
    """The version is that of the tensor and of all its views."""
    t = torch.tensor([1.0, 2.0, 3.0])
    a = wp.from_torch(t, requires_grad=False)
    a.requires_grad = True
    tape, o = squares(a)
    backward(tape, o)  # nothing has been written yet
    assert a.grad.numpy().tolist() == [2.0, 4.0, 6.0]
    (t[1:2] if part else t).fill_(9.0)
    with pytest.raises(wp.WarpGradientError, match=r"by the library that it comes from.*version") as caught:
        tape.backward()
    message = str(caught.value)
    assert "'square', launched at" in message and "test_tensors.py:" in message and "'a'" in message
    assert "o[i] = a[i] * a[i]" in caught.value.text


@pytest.mark.parametrize("write", [lambda t: t.numpy().fill(9.0), lambda t: t.data.fill_(9.0)])
def test_a_write_that_the_version_does_not_tell_is_refused(torch, write):
    t = torch.tensor([1.0, 2.0, 3.0])
    a = wp.from_torch(t)
    a.requires_grad = True
    tape, o = squares(a)
    before = t._version
    write(t)
    assert t._version == before
    with pytest.raises(wp.WarpGradientError, match=r"'a' had when .*overwritten since, through memory"):
        backward(tape, o)


def test_a_write_elsewhere_in_the_memory_is_no_mistake(torch):
    t = torch.tensor([1.0, 2.0, 3.0, 4.0])
    a = wp.from_torch(t[:3])
    a.requires_grad = True
    tape, o = squares(a)
    t[3:].fill_(9.0)  # raises the version of both
    backward(tape, o)
    assert a.grad.numpy().tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("directly", [False, True])
def test_what_a_kernel_overwrites_is_saved(torch, directly):
    """Kernels do not move the version; arrays made of one tensor twice are known to share memory."""
    t = torch.tensor([1.0, 2.0, 3.0])
    a = wp.from_torch(t)
    a.requires_grad = True
    tape, o = squares(a)
    before = t._version
    wp.launch(scale, 2, [t[1:] if directly else wp.from_torch(t[1:]), 10.0])
    assert t._version == before and t.tolist() == [1.0, 20.0, 30.0]
    t.fill_(0.0)  # saved already
    backward(tape, o)
    assert a.grad.numpy().tolist() == [2.0, 4.0, 6.0]


def test_what_was_written_before_it_was_saved_is_refused(torch):
    t = torch.tensor([1.0, 2.0, 3.0])
    a = wp.from_torch(t)
    a.requires_grad = True
    tape, o = squares(a)
    t.fill_(5.0)
    wp.launch(scale, 3, [a, 10.0])
    with pytest.raises(wp.WarpGradientError, match="by the library that it comes from"):
        backward(tape, o)


def test_memory_that_the_library_has_replaced_is_another(torch):
    """After the arrays of a tensor are gone, another tensor may have its address."""
    for value in range(20):
        t = torch.tensor([float(value)] * 3)
        a = wp.from_torch(t)
        assert a.numpy().tolist() == [float(value)] * 3
        del a, t


def test_where_no_content_is_compared_the_version_decides():
    """As on GPUs, whose tensors are not marked as written unseen."""
    t = tensors.tensor([1.0, 2.0, 3.0])
    memory = _core.Array()
    storage = t.untyped_storage()
    byte = _core.Type.scalar("u8")
    memory._borrow_again(byte, storage._cdata, storage.data_ptr(), 12, wp.get_device("cpu"), (t, storage), t)
    a = wp.array.__new__(wp.array)
    _core.Array.__init__(a, memory, wp.float32._weft_type_, 0, (3,), (4,))
    a.dtype = wp.float32
    a.requires_grad = True
    assert not a._exported
    tape, o = squares(a)
    part, o_of_part = squares(a[1:], 2)
    backward(tape, o)
    assert a.grad.numpy().tolist() == [2.0, 4.0, 6.0]
    t[0:1].fill_(1.0)  # the content is the same, which nobody compares
    for recorded, out in ((tape, o), (part, o_of_part)):
        with pytest.raises(wp.WarpGradientError, match=r"'square', launched at .*by the library that it comes from"):
            backward(recorded, out)


@pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device")
def test_on_a_gpu_the_version_counts():
    values = wp.array([1.0, 2.0, 3.0], dtype=float, device="cuda:0")
    place = tensors.device("cuda")
    place.index = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "torch", tensors.module())
        t = tensors.Tensor.over(values, place)
        a = wp.from_torch(t)
        a.requires_grad = True
        assert not a._exported  # no hash of content, which would be copied to the host
        o = wp.zeros(3, dtype=float, requires_grad=True, device="cuda:0")
        tape = wp.Tape()
        with tape:
            wp.launch(square, 3, [a, o], device="cuda:0")
        o.grad.fill_(1.0)
        tape.backward()
        assert a.grad.numpy().tolist() == [2.0, 4.0, 6.0]
        t._versions[0] += 1
        with pytest.raises(wp.WarpGradientError, match=r"'square', launched at .*by the library that it comes from"):
            tape.backward()


def test_a_tensor_is_an_argument_in_a_program_that_has_asked_for_nothing_else(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import warp as wp\n"
        "from support import tensors\n"
        "@wp.kernel\n"
        "def double(a: wp.array(dtype=float)):\n"
        "    a[wp.tid()] *= 2.0\n"
        "t = tensors.tensor([1.0, 2.0])\n"
        "wp.launch(double, 2, [t], device='cpu')\n"
        "assert t.tolist() == [2.0, 4.0]\n"
    )
    stand_in = "import sys; from support import tensors; sys.modules['torch'] = tensors.module()\n"
    program.write_text(stand_in + program.read_text())
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    subprocess.run([sys.executable, program], env=environment, check=True)
