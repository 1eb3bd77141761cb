"""Captures: launches, copies and fills are recorded instead of run, and replayed later without Python."""

import enum

from warp import _core
from warp.arrays import array
from warp.devices import get_device


class CaptureMode(enum.IntEnum):
    """What other threads may do during a capture on CUDA; on the CPU it makes no difference."""

    GLOBAL = 0
    THREAD_LOCAL = 1
    RELAXED = 2


class Graph:
    """What a capture recorded."""

    def __init__(self, device=None, capture_id=0):
        self.device = get_device(device)
        self.capture_id = capture_id
        self.recording = _core.Graph()
        # of CUDA: the stream that is recorded, then what was
        self.stream = None
        self.cuda_graph = None

    def __len__(self):
        return len(self.recording)


_captures = []


def capture_begin(
    device=None,
    stream=None,
    force_module_load=None,
    external=False,
    apic=False,
    capture_mode=CaptureMode.THREAD_LOCAL,
):
    """Begins a capture: from now on work is recorded, and nothing runs."""
    if _captures:
        raise RuntimeError("a capture is going on already: captures cannot be nested")
    if apic and external:
        raise ValueError("apic= and external= exclude each other")
    graph = Graph(device if stream is None else stream.device)
    if graph.device.is_cuda:
        graph.stream = stream or graph.device.stream
        graph.stream._core._begin_capture(capture_mode is CaptureMode.THREAD_LOCAL)
    else:
        _core.begin_recording(graph.recording)
    _captures.append(graph)


def capture_end(device=None, stream=None):
    """Ends the capture and returns its graph."""
    if not _captures:
        raise RuntimeError("Graph capture is not active")
    graph = _captures.pop()
    if graph.device.is_cuda:
        graph.cuda_graph = graph.stream._core._end_capture()
    else:
        _core.end_recording()
    return graph


def capture_launch(graph, stream=None):
    """Runs what was recorded; inside another capture it becomes part of that."""
    if not isinstance(graph, Graph):
        raise TypeError(f"expected a graph, found {type(graph).__name__}")
    if graph.cuda_graph is not None:
        graph.cuda_graph._launch((stream or graph.device.stream)._core)
    elif _core.is_recording():
        _core.current_recording()._add_graph(graph.recording)
    else:
        graph.recording._run()


class ScopedCapture:
    """Records the work of a `with` block; `graph` holds it afterwards."""

    def __init__(
        self,
        device=None,
        stream=None,
        force_module_load=None,
        external=False,
        apic=False,
        capture_mode=CaptureMode.THREAD_LOCAL,
    ):
        self.device, self.stream = device, stream
        self.force_module_load, self.external, self.apic, self.capture_mode = (
            force_module_load,
            external,
            apic,
            capture_mode,
        )
        self.active = False
        self.graph = None

    def __enter__(self):
        capture_begin(self.device, self.stream, self.force_module_load, self.external, self.apic, self.capture_mode)
        self.active = True
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        if self.active:
            self.active = False
            graph = capture_end(self.device, self.stream)
            if exc_type is None:
                self.graph = graph


def _condition(condition):
    if not isinstance(condition, array) or condition._element != _core.Type.scalar("i32") or condition.size != 1:
        raise TypeError("a condition is an array of int32 with one element")
    return condition


def _recorded(branch, kwargs):
    """A branch or body as a recording: a graph, or a function that is called once while its work is recorded."""
    if branch is None:
        return None
    if isinstance(branch, Graph):
        return branch.recording
    if not callable(branch):
        raise TypeError(f"a branch is a function or a graph, found {type(branch).__name__}")
    made = _core.Graph()
    _core.begin_recording(made)
    try:
        branch(**kwargs)
    finally:
        _core.end_recording()
    return made


def _run(branch, kwargs):
    if isinstance(branch, Graph):
        capture_launch(branch)
    elif branch is not None:
        branch(**kwargs)


def capture_if(condition, on_true=None, on_false=None, stream=None, **kwargs):
    """Runs a branch by a condition in memory: when the graph is replayed, or now where nothing is captured."""
    condition = _condition(condition)
    if _core.is_recording():
        yes, no = _recorded(on_true, kwargs), _recorded(on_false, kwargs)
        _core.current_recording()._add_branch(condition, yes, no)
    else:
        _run(on_true if _core.read_condition(condition) else on_false, kwargs)


def capture_while(condition, while_body, stream=None, **kwargs):
    """Repeats a body for as long as a condition in memory holds."""
    condition = _condition(condition)
    if _core.is_recording():
        _core.current_recording()._add_loop(condition, _recorded(while_body, kwargs))
    else:
        while _core.read_condition(condition):
            _run(while_body, kwargs)


def capture_debug_dot_print(graph, path, verbose=True):
    """Writes a description of the graph for Graphviz."""
    if graph.cuda_graph is not None:
        graph.cuda_graph._write_dot(path)
        return
    raise RuntimeError("graphs of the CPU have no dot file: they are sequences")


def capture_save(*args, **kwargs):
    raise NotImplementedError("graphs cannot be saved yet")


def capture_load(*args, **kwargs):
    raise NotImplementedError("graphs cannot be loaded yet")


capture_load_from_bytes = capture_load


def is_conditional_graph_supported():
    """Whether captures of a CUDA device may hold branches and loops; those of the CPU always may."""
    return False
