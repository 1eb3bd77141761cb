"""Classes of errors: each derives from the one that Warp raises, or is what docs/language.md says."""

import linecache
import re
from pathlib import Path

import numpy as np
import pytest
from support.decided_probes import CLASSES, RESULTS, ids

import warp as wp

HEAD = """
import warp as wp
import numpy as np
some_list = [1.0]
some_number = np.float32(2.0)
some_array = wp.zeros(2, dtype=float, device="cpu")

@wp.func
def nothing(x: float):
    x = x + 1.0

@wp.func
def itself(x: float) -> float:
    return itself(x)
"""


def launch(body, name):
    body = "".join(f"    {line}\n" for line in body.splitlines())
    source = f"{HEAD}\n@wp.kernel(module='unique')\ndef k(o: wp.array(dtype=float), n: int, v: wp.vec3):\n{body}"
    path = f"<class of error {name}>"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    names = {"__name__": "classes"}
    exec(compile(source, path, "exec"), names)
    wp.launch(names["k"], dim=1, inputs=[wp.zeros(4, dtype=float), 1, wp.vec3()])


# what is written, Warp's class, ours
COMPILED = [
    ("o[0] = float(n) + n", wp.WarpCodegenError, wp.WarpCodegenTypeError),
    ("o[0] = float(wp.int8(1) + n)", RuntimeError, wp.WarpCodegenTypeError),
    ("o[0] = 1j", wp.WarpCodegenError, wp.WarpSyntaxError),
    ("o[0] = float(len(enumerate(v)))", wp.WarpCodegenError, wp.WarpCodegenTypeError),
    ("o[0] = some_list[0]", TypeError, wp.WarpCodegenTypeError),
    ("o[0] = some_number", TypeError, wp.WarpCodegenTypeError),
    ("o[0] = some_array[0]", TypeError, wp.WarpCodegenTypeError),
    ("o[0] = v.xq", wp.WarpCodegenAttributeError, wp.WarpNameError),
    ("o[0] = nowhere", wp.WarpCodegenKeyError, wp.WarpNameError),
    ("o[0] = wp.static(n)", wp.WarpCodegenError, wp.WarpCodegenValueError),
    ("if v < v:\n    o[0] = 1.0", Exception, wp.WarpCodegenTypeError),
    # not derived: the table in docs/language.md
    ("if n is n:\n    o[0] = 1.0", wp.WarpSyntaxError, wp.WarpSyntaxError),
    ("if n in (1, 2):\n    o[0] = 1.0", wp.WarpSyntaxError, wp.WarpSyntaxError),
    ("o[0] = b'1'", wp.WarpSyntaxError, wp.WarpSyntaxError),
    ("def f():\n    return 1\no[0] = 1.0", wp.WarpSyntaxError, wp.WarpSyntaxError),
    ("o[0] = itself(1.0)", wp.WarpSyntaxError, wp.WarpSyntaxError),
    ("o[0] = nothing(1.0)", wp.WarpCodegenTypeError, wp.WarpCodegenTypeError),
    ("v[0:2] = 1.0", wp.WarpCodegenTypeError, wp.WarpCodegenTypeError),
    ("o[0] = float(int(o.dtype))", wp.WarpCodegenTypeError, wp.WarpCodegenTypeError),
]


@pytest.mark.parametrize("body, theirs, ours", COMPILED, ids=[row[0].split("\n")[0] for row in COMPILED])
def test_kernels_that_do_not_compile(body, theirs, ours):
    with pytest.raises(theirs) as raised:
        launch(body, body)
    assert type(raised.value) is ours
    assert raised.value.lineno is not None


@wp.struct
class Pair:
    a: int


@wp.kernel
def of_a_number(n: int):
    pass


@wp.kernel
def of_a_struct(s: Pair):
    pass


@pytest.mark.parametrize(
    "kernel, dim, value, theirs",
    [
        (of_a_number, 1, 2.5, RuntimeError),
        (of_a_number, 1, "1", RuntimeError),
        (of_a_number, -1, 1, ValueError),
        (of_a_number, 1, 2**40, RuntimeError),
        (of_a_struct, 1, {"a": 1}, wp.WarpLaunchError),
    ],
)
def test_launches_that_do_not_fit(kernel, dim, value, theirs):
    with pytest.raises(theirs) as raised:
        wp.launch(kernel, dim=dim, inputs=[value])
    assert type(raised.value) is wp.WarpLaunchError


def test_python_scope():
    with pytest.raises(IndexError):
        wp.zeros(4, dtype=float)[4]
    with pytest.raises(wp.WarpCodegenTypeError):
        wp.array().numpy()
    with pytest.raises(TypeError):
        np.asarray(wp.array(dtype=float))


def test_the_decided_probes_are_decided():
    """Each case that the table of probes names stands in docs/language.md, and the counts there are the table's."""
    text = (Path(__file__).parents[2] / "docs" / "language.md").read_text()
    for case in RESULTS:
        assert re.search(rf"^\| {re.escape(case)}", text, re.MULTILINE), case
    assert f"Of 1,052 observations of what Warp does, {len(ids(RESULTS))} differ in their result" in text
    assert f"In the other {len(ids(CLASSES))} Warp's exception" in text
