"""Captures: launches, copies and fills are recorded instead of run, and replayed later without Python."""

import enum
import os

from warp import _core
from warp.arrays import array
from warp.devices import get_device
from warp.errors import WarpError
from warp.streams import Stream


class CaptureMode(enum.IntEnum):
    """What other threads may do during a capture on CUDA; on the CPU it makes no difference."""

    GLOBAL = 0
    THREAD_LOCAL = 1
    RELAXED = 2


class Graph:
    """What a capture recorded, here or in another process.

    A graph that was loaded has `params`: the arrays that were saved by name, with their sizes in bytes. They live in
    memory of the graph: `set_param()` and `get_param()` copy to and from them.
    """

    def __init__(self, device=None, capture_id=0, apic=False, recording=None, arrays=None):
        self.device = get_device(device)
        self.capture_id = capture_id
        self.apic = apic
        self.recording = recording or _core.Graph()
        self.is_loaded = recording is not None
        self._arrays = arrays or {}
        # of CUDA: the stream that is recorded, then what was
        self.stream = None
        self.cuda_graph = None

    def __len__(self):
        return len(self.recording)

    @property
    def params(self):
        return {name: {"size": a.size * a._element.size, "shape": a._shape} for name, a in self._arrays.items()}

    def set_param(self, name, value):
        """Copies an array to the one of this name."""
        to, value = self._same_kind(name, value)
        to._copy_from(value)

    def get_param(self, name, out):
        """Copies the array of this name to another."""
        at, out = self._same_kind(name, out)
        out._copy_from(at)

    def get_param_ptr(self, name):
        """The address of the array of this name; None where there is none."""
        if not self.is_loaded:
            raise RuntimeError("get_param_ptr() is for graphs that were loaded by wp.capture_load()")
        return self._arrays[name].ptr if name in self._arrays else None

    def _same_kind(self, name, value):
        """The array of this name and the given one, of one shape."""
        if name not in self._arrays:
            known = ", ".join(sorted(self._arrays)) or "none"
            raise RuntimeError(f"the graph has no parameter '{name}'; its parameters: {known}")
        mine = self._arrays[name]
        if not isinstance(value, array):
            raise TypeError(f"Expected a Warp array for parameter '{name}', got {type(value).__name__}")
        if value._element != mine._element or value.size != mine.size:
            raise RuntimeError(
                f"parameter '{name}' has the shape {mine._shape} and elements {mine._element}, "
                f"found {value._shape} and {value._element}"
            )
        if value._shape == mine._shape:
            return mine, value
        if not (value.is_contiguous and mine.is_contiguous):
            raise RuntimeError(f"parameter '{name}' has the shape {mine._shape}, found {value._shape}")
        size = mine._element.size
        return tuple(_core.Array(a, a._element, 0, (a.size,), (size,)) for a in (mine, value))


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
    graph = Graph(device if stream is None else stream.device, apic=apic)
    if graph.device.is_cuda:
        graph.stream = stream or graph.device.stream
        graph.cuda_graph = graph.stream._core._begin_capture(int(capture_mode), external)
    else:
        _core.begin_recording(graph.recording)
    _captures.append(graph)


def capture_end(device=None, stream=None):
    """Ends the capture and returns its graph."""
    if not _captures:
        raise RuntimeError("Graph capture is not active")
    graph = _captures.pop()
    if graph.device.is_cuda:
        graph.cuda_graph._end(graph.stream._core)
    else:
        _core.end_recording()
    return graph


def capture_launch(graph, stream=None):
    """Runs what was recorded; inside another capture it becomes part of that."""
    if not isinstance(graph, Graph):
        raise TypeError(f"expected a graph, found {type(graph).__name__}")
    if graph.cuda_graph is not None:
        stream = (stream or graph.device.stream)._core
        if stream.is_capturing:
            graph.cuda_graph._add_to(stream)
        else:
            graph.cuda_graph._launch(stream)
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


def _captured_stream(condition, stream):
    """The stream of a GPU whose work is captured, or None."""
    if not condition.device.is_cuda:
        return None
    stream = stream or condition.device.stream
    return stream if stream.is_capturing else None


def _record_conditional(condition, branch, kwargs, stream, loop=False, flip=False):
    """A node of the captured graph that runs a branch by a condition, inverted where `flip`."""
    if branch is None:
        return
    if not isinstance(branch, Graph) and not callable(branch):
        raise TypeError(f"a branch is a function or a graph, found {type(branch).__name__}")
    node = _core.CudaConditional(stream._core, condition.ptr, loop, flip)
    body = Stream(stream.device)
    outer = stream.device.stream
    node._begin(body._core)
    stream.device.set_stream(body, False)
    try:
        _run(branch, kwargs)
    finally:
        stream.device.set_stream(outer, False)
        node._end(body._core)


def capture_if(condition, on_true=None, on_false=None, stream=None, **kwargs):
    """Runs a branch by a condition in memory: when the graph is replayed, or now where nothing is captured."""
    condition = _condition(condition)
    if captured := _captured_stream(condition, stream):
        _record_conditional(condition, on_true, kwargs, captured)
        _record_conditional(condition, on_false, kwargs, captured, flip=True)
    elif _core.is_recording():
        yes, no = _recorded(on_true, kwargs), _recorded(on_false, kwargs)
        _core.current_recording()._add_branch(condition, yes, no)
    else:
        _run(on_true if _core.read_condition(condition) else on_false, kwargs)


def capture_while(condition, while_body, stream=None, **kwargs):
    """Repeats a body for as long as a condition in memory holds."""
    condition = _condition(condition)
    if captured := _captured_stream(condition, stream):
        _record_conditional(condition, while_body, kwargs, captured, loop=True)
    elif _core.is_recording():
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


_SUFFIX = ".wrp"


def _capture_file(path):
    import pathlib  # which few programs need

    return pathlib.Path(path if str(path).endswith(_SUFFIX) else f"{path}{_SUFFIX}")


def capture_save(graph, path, inputs=None, outputs=None, source_fallback=False):
    """Writes a graph to `path` (.wrp): its steps, the content of its memory now, and its kernels, compiled and as IR.

    `inputs` and `outputs` name arrays, which `Graph.set_param()` and `Graph.get_param()` reach in the loaded graph.
    The kernels' IR is always there, so that `source_fallback` changes nothing.
    """
    if not isinstance(graph, Graph):
        raise TypeError(f"expected a graph, found {type(graph).__name__}")
    if graph.cuda_graph is not None:
        raise NotImplementedError("captures of CUDA devices cannot be saved yet")
    if not (graph.apic or graph.is_loaded):
        raise RuntimeError("the graph was not captured with apic=True: pass it to capture_begin() or ScopedCapture()")
    named = dict(graph._arrays)
    for given in (inputs, outputs):
        named.update(given or {})
    for name, value in named.items():
        if not isinstance(value, _core.Array) or not value._has_memory:
            raise TypeError(f"'{name}' is to name an array, found {type(value).__name__}")
    saved = graph.recording._save(list(named.items()))
    target = _capture_file(path)
    # Written aside, then renamed: what fails leaves an older file as it was.
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        aside.write_bytes(saved)
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)


def capture_load(path, device=None):
    """The graph that `capture_save()` wrote, in memory of its own."""
    target = _capture_file(path)
    try:
        saved = target.read_bytes()
    except OSError as error:
        raise RuntimeError(f"Failed to load APIC graph from {target}: {error.strerror}") from error
    return _loaded(saved, device, str(target))


def capture_load_from_bytes(data, modules=None, device=None):
    """The same for the content of the file. Kernels are part of it, so that `modules` may be left out."""
    return _loaded(bytes(memoryview(data)), device, "bytes")


def _loaded(saved, device, where):
    device = get_device(device)
    if device.is_cuda:
        raise NotImplementedError("captures are loaded on the CPU only: pass device='cpu'")
    try:
        recording, arrays = _core.load_graph(saved)
    except (ValueError, WarpError) as error:
        raise RuntimeError(f"Failed to load APIC graph from {where}: {error}") from error
    return Graph(device, recording=recording, arrays=arrays)


def is_conditional_graph_supported():
    """Whether captures of a CUDA device may hold branches and loops; those of the CPU always may."""
    return _core.CudaConditional._is_supported()
