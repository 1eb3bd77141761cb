"""Each mistake is refused with a message that names it, at its line and column, and never by a crash."""

import linecache

import pytest
from support.wrong_programs import HEAD, PARAMETERS, ROWS

import warp as wp


def build(text):
    """The program, and where the mark stands: line and column of the source."""
    body, _, functions = text.partition("\n---\n")
    kernel = "".join(f"    {line}\n" for line in body.splitlines())
    source = f"{HEAD}\n{functions}\n\n@wp.kernel(module='unique')\ndef k({PARAMETERS}):\n{kernel}"
    before = source[: source.index("«")]
    return source.replace("«", "").replace("»", ""), before.count("\n") + 1, len(before) - before.rfind("\n") - 1


@pytest.mark.parametrize("name, text, message", ROWS, ids=[row[0].replace(" ", "-") for row in ROWS])
def test_is_refused_where_it_is_wrong(name, text, message):
    source, line, column = build(text)
    path = f"<wrong {name}>"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    names = {"__name__": "wrong_program"}
    exec(compile(source, path, "exec"), names)
    x, y = wp.zeros(4, dtype=float), wp.zeros((2, 2), dtype=float)
    arguments = [x, y, 1, wp.vec3(), wp.mat22(), names["S"](), 1]
    with pytest.raises(wp.WarpError) as raised:
        wp.launch(names["k"], dim=1, inputs=arguments)
    # It is not half built: the next launch says the same.
    with pytest.raises(type(raised.value)) as again:
        wp.launch(names["k"], dim=1, inputs=arguments)
    assert str(again.value) == str(raised.value)
    assert not isinstance(raised.value, wp.WarpInternalError)
    lines = str(raised.value).splitlines()
    assert message in lines[0]
    assert lines[1].strip() == f'File "{path}", line {line}'
    written = source.splitlines()[line - 1]
    indent = len(written) - len(written.lstrip())
    assert lines[3].index("^") - 4 + indent == column


def test_there_are_enough_of_them():
    assert len(ROWS) >= 250 and len({row[0] for row in ROWS}) == len(ROWS)
