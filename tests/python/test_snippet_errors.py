"""Native snippets that are refused: what does not compile, at which line, while other kernels run; gradients."""

import numpy as np
import pytest

import warp as wp


@wp.func_native("return x * x;")
def square(x: float) -> float: ...


def first_launch_fails(kernel, *arguments):
    """The error of a launch, which is that of the next one too."""
    errors = []
    for _ in range(2):
        with pytest.raises(wp.WarpCodegenError) as error:
            wp.launch(kernel, 1, inputs=list(arguments))
        errors.append(error.value)
    assert str(errors[0]) == str(errors[1])
    return errors[0]


@wp.func_native(
    """
    float y = 2.0f;
    return x + undeclared;  // here
    """
)
def unknown_name(x: float) -> float: ...


@wp.func_native("return x +;")
def syntax(x: float) -> float: ...


@wp.func_native("#include <vector>\nreturn x;")
def includes(x: float) -> float: ...


@wp.func_native("if (x > 0) return x;")
def no_return(x: float) -> float: ...


@wp.func_native("{ return x;")
def open_brace(x: float) -> float: ...


@wp.func_native("extern float mystery(float); return mystery(x);")
def unbound(x: float) -> float: ...


COUNT = 12
FORMATTED = """
    float sum[%d];
    sum[0] = x;
    return summ[0];
"""


@wp.func_native(FORMATTED % COUNT)
def formatted(x: float) -> float: ...


@wp.kernel
def calls_unknown_name(o: wp.array(dtype=float)):
    o[0] = unknown_name(o[0])


@wp.kernel
def calls_syntax(o: wp.array(dtype=float)):
    o[0] = syntax(o[0])


@wp.kernel
def calls_includes(o: wp.array(dtype=float)):
    o[0] = includes(o[0])


@wp.kernel
def calls_no_return(o: wp.array(dtype=float)):
    o[0] = no_return(o[0])


@wp.kernel
def calls_open_brace(o: wp.array(dtype=float)):
    o[0] = open_brace(o[0])


@wp.kernel
def calls_unbound(o: wp.array(dtype=float)):
    o[0] = unbound(o[0])


@wp.kernel
def calls_formatted(o: wp.array(dtype=float)):
    o[0] = formatted(o[0])


@wp.kernel
def neighbour(o: wp.array(dtype=float)):
    o[0] = square(3.0)


@pytest.mark.parametrize(
    ("kernel", "message", "line", "under"),
    [
        (calls_unknown_name, "undeclared identifier 'undeclared'", "return x + undeclared;  // here", "undeclared"),
        (calls_syntax, "expected expression", '@wp.func_native("return x +;")', ";"),
        (calls_includes, "'vector' file not found", None, None),
        (calls_no_return, "non-void function does not return a value", None, None),
        (calls_open_brace, "expected '}'", '@wp.func_native("{ return x;")', None),
        pytest.param(
            *(calls_unbound, "calls `mystery(float)`, which is not there", None, None),
            marks=pytest.mark.host("for a GPU it is declared as a function of the host"),
        ),
        (calls_formatted, "undeclared identifier 'summ'", "return summ[0];", "summ"),
    ],
)
def test_errors_are_at_the_users_line(kernel, message, line, under):
    o = wp.zeros(1, dtype=float)
    error = first_launch_fails(kernel, o)
    assert message in str(error)
    assert error.filename == __file__
    if line is not None:
        assert error.text.strip() == line
    if under is not None:
        assert error.text[error.offset :].startswith(under)
    wp.launch(neighbour, 1, inputs=[o])
    assert o.numpy()[0] == 9.0


def test_includes_are_told_apart():
    error = first_launch_fails(calls_includes, wp.zeros(1, dtype=float))
    assert any("include no headers" in note for note in error.notes)


# ---- gradients that are refused ----


@wp.func_native("y[i] = x[i] * x[i];")
def without_adjoint(x: wp.array(dtype=float), y: wp.array(dtype=float), i: int): ...


@wp.func_native("y[i] = floor(x[i]);", "")
def flat(x: wp.array(dtype=float), y: wp.array(dtype=float), i: int): ...


@wp.kernel
def without_adjoint_kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    without_adjoint(x, y, wp.tid())


@wp.kernel
def flat_kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    flat(x, y, wp.tid())


@wp.func_native("x[i] = 2.0f * x[i];", "adj_x[i] *= 2.0f;")
def double_in_place(x: wp.array(dtype=float), i: int): ...


@wp.kernel
def reads_before(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    double_in_place(x, i)
    y[i] = v * v


@wp.kernel
def reads_after(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    double_in_place(x, i)
    v = x[i]
    y[i] = v * v


def gradient(kernel):
    x, y = wp.array([1.5, 2.5], dtype=float, requires_grad=True), wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, 2, inputs=[x, y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    return x.grad.numpy()


def test_a_snippet_without_adjoint_has_no_gradient():
    with pytest.raises(wp.WarpGradientError, match="has no adj_snippet") as error:
        gradient(without_adjoint_kernel)
    assert "def without_adjoint" in error.value.text
    np.testing.assert_array_equal(gradient(flat_kernel), [0, 0])


def test_a_value_that_a_snippet_overwrites():
    with pytest.raises(wp.WarpGradientError, match="may overwrite afterwards") as error:
        gradient(reads_before)
    assert error.value.text.strip() == "v = x[i]"
    np.testing.assert_array_equal(gradient(reads_after), [2 * 2 * 2 * 1.5, 2 * 2 * 2 * 2.5])
