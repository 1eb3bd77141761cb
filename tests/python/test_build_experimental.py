"""`wp.build_experimental`: ctypes structures as types of kernels; the reference is ctypes' own layout and NumPy."""

import ctypes

import numpy as np
import pytest

import warp as wp


class Color(ctypes.Structure):
    _fields_ = [("r", ctypes.c_float), ("g", ctypes.c_float), ("b", ctypes.c_float)]


class Pixel(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_uint8), ("color", Color), ("index", ctypes.c_int64)]


class Handle(ctypes.Structure):
    _fields_ = [("value", ctypes.c_uint64), ("rest", ctypes.c_uint8)]


RGB = {"r": wp.float32, "g": float, "b": wp.float32}
add = wp.build_experimental.add_native_type
add(Color, native_name="demo::Color", fields=RGB, initializer="aggregate")
add(Pixel, native_name="demo::Pixel", fields={"color": Color, "index": wp.int64})
add(Handle, native_name="demo::Handle")
wp.build_experimental.add_builtin("demo_scale", {"c": Color, "by": float}, Color, native_name="demo::scale")


@wp.struct
class Box:
    color: Color
    count: int


@wp.kernel
def paint(pixels: wp.array[Pixel], box: Box, shade: Color, handle: Handle, handles: wp.array[Handle]):
    i = wp.tid()
    pixels[i].color = Color(shade.r * float(i), box.color.g, float(box.count))
    pixels[i].index = wp.int64(7 - i)
    handles[i] = handle


def test_kernels_see_the_fields():
    pixels = wp.array([Pixel(5, Color(), 0), Pixel(6, Color(), 0), Pixel(7, Color(), 0)], dtype=Pixel)
    handles = wp.zeros(3, dtype=Handle)
    box = Box(color=Color(1.0, 0.5, 0.25), count=3)
    wp.launch(paint, dim=3, inputs=[pixels, box, Color(2.0, 0, 0), Handle(2**63 + 1, 9)], outputs=[handles])
    found = pixels.list()
    assert [(p.tag, p.color.r, p.color.g, p.color.b, p.index) for p in found] == [
        (5, 0, 0.5, 3, 7),
        (6, 2, 0.5, 3, 6),
        (7, 4, 0.5, 3, 5),
    ]
    assert [(h.value, h.rest) for h in handles.list()] == [(2**63 + 1, 9)] * 3
    box.color.g = 8.0  # a member that is changed in place
    wp.launch(paint, dim=1, inputs=[pixels, box, Color(), Handle()], outputs=[handles])
    assert pixels.list()[0].color.g == 8


def test_numpy_has_the_layout_of_ctypes():
    a = wp.array([Pixel(5, Color(1, 2, 3), -4)], dtype=Pixel)
    seen = a.numpy()
    assert seen.dtype.names == ("color", "index")
    assert [seen.dtype.fields[n][1] for n in seen.dtype.names] == [Pixel.color.offset, Pixel.index.offset]
    assert seen.dtype.itemsize == ctypes.sizeof(Pixel)
    assert seen["color"]["b"] == 3 and seen["index"] == -4
    assert wp.array(seen, dtype=Pixel).list()[0].color.g == 2
    opaque = wp.array([Handle(3, 4)], dtype=Handle).numpy()
    assert opaque.dtype == np.dtype(f"V{ctypes.sizeof(Handle)}")
    assert wp.array(opaque, dtype=Handle).list()[0].rest == 4


def test_gradients_pass_beside_native_values():
    @wp.kernel
    def square(handle: Handle, x: wp.array[float], y: wp.array[float]):
        y[0] = x[0] * x[0]

    x, y = wp.array([3.0], dtype=float, requires_grad=True), wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, dim=1, inputs=[Handle(1, 2), x], outputs=[y])
    tape.backward(y)
    assert x.grad.list() == [6]


def test_external_functions_are_declared_and_refused_where_they_are_called():
    @wp.kernel
    def call(out: wp.array[Color]):
        out[0] = wp.demo_scale(out[0], 2.0)

    with pytest.raises(wp.WarpError, match=r"external function demo::scale.*C\+\+ compiler") as raised:
        wp.launch(call, dim=1, inputs=[wp.zeros(1, dtype=Color)])
    assert raised.value.text.strip() == "out[0] = wp.demo_scale(out[0], 2.0)"
    with pytest.raises(NotImplementedError, match="Python scope"):
        wp.demo_scale(Color(), 2.0)
    assert wp.demo_scale in call.adj.get_references()[2]


CAPTURED = Color(1, 2, 3)


def test_captured_values_are_refused_with_advice():
    @wp.kernel
    def read(out: wp.array[Color]):
        out[0] = CAPTURED

    with pytest.raises(wp.WarpError, match="native type demo::Color: pass it to the kernel"):
        wp.launch(read, dim=1, inputs=[wp.zeros(1, dtype=Color)])


class Short(ctypes.Structure):
    _fields_ = [("value", ctypes.c_int16)]


class Packed(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("tag", ctypes.c_uint8), ("value", ctypes.c_float)]


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: add(int, native_name="demo::X"), TypeError, "ctypes.Structure"),
        (lambda: add(Short, native_name="demo::9"), ValueError, "qualified C\\+\\+ identifier"),
        (lambda: add(Short, native_name="demo::S", fields=["value"]), TypeError, "mapping"),
        (lambda: add(Short, native_name="demo::S", fields={"value": wp.int32}), ValueError, "ctypes storage"),
        (lambda: add(Short, native_name="demo::S", fields={"other": wp.int16}), ValueError, "no field 'other'"),
        (lambda: add(Short, native_name="demo::S", initializer="aggregate"), ValueError, "requires exposed fields"),
        (lambda: add(Short, native_name="demo::S", initializer="magic"), ValueError, "'magic'"),
        (
            lambda: add(Packed, native_name="demo::P", fields={"value": float}, initializer="aggregate"),
            ValueError,
            "declaration order",
        ),
        (lambda: add(Packed, native_name="demo::P", fields={"tag": wp.uint8, "value": float}), ValueError, r"\[0, 1\]"),
        (lambda: add(Short, native_name="demo::Color", fields={"value": wp.int16}), RuntimeError, "different"),
        (lambda: wp.build_experimental.add_builtin("a-b"), ValueError, "valid Python identifier"),
        (lambda: wp.build_experimental.add_builtin("sin", {"x": float}, float), RuntimeError, "wp.sin exists"),
        (
            lambda: wp.build_experimental.add_builtin("demo_scale", {"c": Color, "by": float}, int),
            RuntimeError,
            "conflicting",
        ),
    ],
)
def test_what_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_options_are_merged_and_count_for_the_hash(tmp_path):
    @wp.kernel(module="unique")
    def nothing():
        return

    header = tmp_path / "a.h"
    header.write_text("1")
    first = wp.ModuleBuildOptions(extra_cpu_preamble="#define A", extra_build_dependencies=[header])
    both = first.merged(wp.ModuleBuildOptions(extra_cpu_preamble="#define B", extra_build_dependencies=[header]))
    assert both.extra_cpu_preamble == "#define A\n#define B"
    assert both.extra_build_dependencies == [header]
    with pytest.raises(TypeError, match="expected ModuleBuildOptions, found dict"):
        first.merged({})
    before = nothing.module.hash_module()
    wp.set_module_options({"extra_build_options": both}, module=nothing.module)
    named = nothing.module.hash_module()
    header.write_text("2")
    assert len({before, named, nothing.module.hash_module()}) == 3
