"""Mistakes in kernels: the class of the exception, and the line and columns that it points to."""

from pathlib import Path

import pytest

import warp as wp


@wp.func
def halve(x: float):
    return x * 0.5


@wp.kernel
def unknown_name(o: wp.array(dtype=float)):
    o[0] = missing  # noqa: F821


@wp.kernel
def unknown_attribute(o: wp.array(dtype=float)):
    o[0] = wp.no_such_builtin(1.0)


@wp.kernel
def wrong_operand(o: wp.array(dtype=float)):
    o[0] = 1 + 2.0


@wp.kernel
def wrong_store(o: wp.array(dtype=float)):
    o[0] = 3


@wp.kernel
def wrong_count(o: wp.array(dtype=float)):
    o[0] = halve(1.0, 2.0)


@wp.kernel
def wrong_argument(o: wp.array(dtype=float)):
    o[0] = halve(1)


@wp.kernel
def wrong_builtin_argument(o: wp.array(dtype=float)):
    o[0] = wp.sin(1)


@wp.kernel
def unsupported_statement(o: wp.array(dtype=float)):
    try:
        o[0] = 1.0
    finally:
        pass


@wp.kernel
def unsupported_expression(o: wp.array(dtype=float)):
    o[0] = [1.0, 2.0][0]


@wp.kernel
def changed_type(o: wp.array(dtype=float)):
    x = float(1.0)
    x = wp.vec3(1.0)
    o[0] = x[0]


@wp.kernel
def vector_index(o: wp.array(dtype=float)):
    v = wp.vec3(1.0)
    o[0] = v[3]


@wp.kernel
def too_many_indices(o: wp.array(dtype=float)):
    o[0, 1] = 1.0


@wp.kernel
def returned_value(o: wp.array(dtype=float)):
    return o[0]


@wp.kernel
def missing_annotation(o):
    o[0] = 1.0


CASES = [
    (unknown_name, wp.WarpCodegenKeyError, "missing"),
    (unknown_attribute, wp.WarpCodegenAttributeError, "wp.no_such_builtin"),
    (wrong_operand, wp.WarpCodegenTypeError, "1 + 2.0"),
    (wrong_store, wp.WarpCodegenTypeError, "o[0]"),
    (wrong_count, wp.WarpCodegenTypeError, "halve(1.0, 2.0)"),
    (wrong_argument, wp.WarpCodegenTypeError, "halve(1)"),
    (wrong_builtin_argument, wp.WarpCodegenTypeError, "wp.sin(1)"),
    (unsupported_statement, wp.WarpSyntaxError, "try:"),
    (unsupported_expression, wp.WarpSyntaxError, "[1.0, 2.0]"),
    (changed_type, wp.WarpCodegenTypeError, "wp.vec3(1.0)"),
    (vector_index, wp.WarpCodegenValueError, "3"),
    (too_many_indices, wp.WarpCodegenTypeError, "o[0, 1]"),
    (returned_value, wp.WarpCodegenTypeError, "return o[0]"),
    (missing_annotation, wp.WarpCodegenTypeError, "o"),
]


@pytest.mark.parametrize("kernel, error, marked", CASES, ids=[c[0].key for c in CASES])
def test_a_mistake_is_refused_where_it_stands(kernel, error, marked):
    o = wp.full(4, 7.0, dtype=float)
    for _ in range(2):
        with pytest.raises(error) as caught:
            wp.launch(kernel, dim=1, inputs=[o])
        e = caught.value
        assert isinstance(e, wp.WarpError) and isinstance(e, RuntimeError)
        assert e.filename == __file__
        line = Path(__file__).read_text().splitlines()[e.lineno - 1]
        assert e.text == line
        end = e.end_offset if e.end_lineno == e.lineno else len(line)
        assert line.encode()[e.offset : end].decode().startswith(marked)
        # The message shows the line with the caret under the place.
        lines = str(e).splitlines()
        shown = lines.index("    " + line.strip())
        caret = lines[shown + 1]
        assert caret.index("^") - 4 == e.offset - (len(line) - len(line.lstrip()))
    # Nothing of a kernel that did not compile ever runs.
    assert o.numpy().tolist() == [7.0] * 4


def test_the_line_is_inside_the_kernel():
    with pytest.raises(wp.WarpError) as caught:
        wp.launch(wrong_store, dim=1, inputs=[wp.zeros(1, dtype=float)])
    first = wrong_store.func.__code__.co_firstlineno
    assert caught.value.lineno == first + 2
    assert caught.value.kind == "type"


def test_a_mistake_in_a_function_names_both_places():
    @wp.func
    def bad(x: float):
        return x + 1

    @wp.kernel
    def calls_bad(o: wp.array(dtype=float)):
        o[0] = bad(1.0)

    with pytest.raises(wp.WarpCodegenTypeError) as caught:
        wp.launch(calls_bad, dim=1, inputs=[wp.zeros(1, dtype=float)])
    assert "x + 1" in caught.value.text
    line = calls_bad.func.__code__.co_firstlineno + 2
    assert any("called from" in note and f"line {line}" in note for note in caught.value.notes)
    assert any("got ['float32', 'int32']: nothing is converted, write" in note for note in caught.value.notes)


def test_lambdas_and_sources_that_cannot_be_read_are_refused():
    with pytest.raises(wp.WarpSyntaxError, match="lambda"):
        wp.func(lambda x: x)
    space = {"wp": wp}
    with pytest.raises(wp.WarpSyntaxError, match="source"):
        text = "@wp.kernel\ndef k(o: wp.array(dtype=float)):\n    o[0] = 1.0\n"
        exec(compile(text, "<kept nowhere>", "exec"), space)


def test_a_kernel_cannot_be_called():
    with pytest.raises(RuntimeError, match="launch"):
        wrong_store(1)


def test_an_internal_error_has_its_own_class():
    assert issubclass(wp.WarpInternalError, RuntimeError) and not issubclass(wp.WarpInternalError, wp.WarpError)


def test_values_of_two_types_where_one_is_needed():
    @wp.kernel
    def mixed(o: wp.array(dtype=float)):
        o[0] = wp.dot(wp.vec2(1.0, 2.0), wp.vec2d(wp.float64(1.0), wp.float64(2.0)))

    with pytest.raises(wp.WarpCodegenTypeError) as caught:
        wp.launch(mixed, dim=1, inputs=[wp.zeros(1, dtype=float)])
    assert any(n.startswith("Input types must be exactly the same, got [") for n in caught.value.notes)
    assert "its forms:" in caught.value.notes[-1]
