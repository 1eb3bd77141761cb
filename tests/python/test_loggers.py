"""What the package says, through which logger, at which level; `wp.ScopedTimer`."""

import subprocess
import sys
import warnings

import pytest

import warp as wp


class Recorder:
    def __init__(self):
        self.lines = []

    def debug(self, message):
        self.lines.append(("debug", message))

    def info(self, message):
        self.lines.append(("info", message))

    def warning(self, message, category=None, stacklevel=1):
        self.lines.append(("warning", message, category))

    def error(self, message):
        self.lines.append(("error", message))


@wp.kernel
def scale(x: wp.array[float], y: float):
    x[wp.tid()] = x[wp.tid()] * y


def launch():
    wp.launch(scale, dim=2, inputs=[wp.ones(2), 3.0])


@pytest.fixture
def recorder():
    made = Recorder()
    with wp.ScopedLogger(made):
        yield made


def test_launches_are_logged(recorder):
    wp.config.print_launches = True
    try:
        launch()
    finally:
        wp.config.print_launches = False
    launch()
    ((level, message),) = [line for line in recorder.lines if "kernel:" in line[1]]
    assert level == "info"
    for part in (
        "kernel: scale",
        f"module: <Module {__name__}>",
        "dim: (2,)",
        "size: 2",
        "adjoint: False",
        "3.0",
        str(wp.get_device()),
    ):
        assert part in message


@pytest.mark.parametrize("level, said", [(wp.LOG_DEBUG, True), (wp.LOG_INFO, True), (wp.LOG_WARNING, False)])
def test_levels(recorder, level, said):
    @wp.kernel(module="unique")
    def fresh(x: wp.array[float]):
        x[0] = wp.static(float(level))

    with wp.ScopedLogLevel(level):
        fresh.module.load("cpu")
    assert wp.config.log_level == wp.LOG_INFO
    assert any("load on device 'cpu'" in line[1] for line in recorder.lines) == said


def test_verbose_and_quiet_are_levels():
    before = wp.config.log_level
    try:
        for name, level in (("verbose", wp.LOG_DEBUG), ("quiet", wp.LOG_WARNING)):
            setattr(wp.config, name, True)
            assert wp.config.log_level == level
            setattr(wp.config, name, False)
            assert wp.config.log_level == wp.LOG_INFO
    finally:
        wp.config.log_level = before


def test_warnings_pass_the_filters_of_python():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="beware"):
            wp.utils.warn("beware")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wp.utils.warn("old", category=DeprecationWarning)
        wp.utils.warn("old", category=DeprecationWarning)
    assert [str(w.message) for w in caught] == ["old"]
    assert caught[0].filename == __file__


def test_where_warnings_come_from_is_said_when_asked(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import warp as wp\nwp.utils.warn('plain')\nwp.config.verbose_warnings = True\nwp.utils.warn('told')\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert done.stderr == f"Warp UserWarning: plain\nWarp UserWarning: told ({program}:4)\n"


def test_loggers_are_checked_and_replaced():
    own = wp.get_logger()
    with pytest.raises(TypeError, match=r"lacks debug.*error"):
        wp.set_logger(object())
    assert wp.get_logger() is own
    made = Recorder()
    wp.set_logger(made)
    assert wp.get_logger() is made
    wp.set_logger(None)
    assert wp.get_logger() is not made
    wp.set_logger(own)


def test_reads_before_writes_are_told(recorder):
    @wp.kernel
    def read(x: wp.array[float], out: wp.array[float]):
        out[0] = x[0]

    x, out = wp.ones(1, requires_grad=True), wp.zeros(1, requires_grad=True)
    wp.config.verify_autograd_array_access = True
    try:
        with wp.Tape():
            wp.launch(read, dim=1, inputs=[x], outputs=[out])
            wp.launch(read, dim=1, inputs=[out], outputs=[x])
    finally:
        wp.config.verify_autograd_array_access = False
    (warning,) = [line for line in recorder.lines if line[0] == "warning"]
    assert f"argument out in kernel {read.key} is being written to" in warning[1]


def test_timers(capsys):
    times, reports = {}, []
    with wp.ScopedTimer("outer", dict=times) as outer:
        with wp.ScopedTimer("inner", synchronize=True):
            launch()
        with wp.ScopedTimer("silent", print=False), wp.ScopedTimer("off", active=False) as off:
            pass
        with wp.ScopedTimer("told", report_func=lambda results, indent: reports.append((results, indent))):
            pass
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" took ")[0] for line in lines] == ["\tinner", "outer"]
    assert times == {"outer": [outer.elapsed]} and outer.elapsed > 0 and off.elapsed == 0
    assert reports == [([], "\t")]


def test_timers_name_the_scopes_of_tapes():
    with wp.Tape() as tape, wp.ScopedTimer("step", print=False):
        launch()
    assert [name for _, name, _ in tape.scopes] == ["step", None]


def test_timers_end_where_their_body_raises(monkeypatch):
    def broken():
        raise RuntimeError("the device is broken")

    monkeypatch.setattr("warp.timing.synchronize", broken)
    indent = wp.ScopedTimer.indent
    with pytest.raises(ValueError, match="in the body"), wp.ScopedTimer("a", synchronize=False, print=False) as timer:
        timer.synchronize = True
        raise ValueError("in the body")
    with pytest.raises(RuntimeError, match="is broken"), wp.ScopedTimer("a", synchronize=False, print=False) as timer:
        timer.synchronize = True
    assert wp.ScopedTimer.indent == indent
