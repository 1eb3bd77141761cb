"""Tapes as pictures: text in the language of GraphViz, for `Tape.visualize`."""

from warp import _core
from warp.arrays import array
from warp.types import type_repr


class _Graph:
    def __init__(self, labels, hide_readonly, direction):
        self.lines = [f'digraph tape {{\n  graph [rankdir="{direction}"];\n  node [shape=box];']
        self.labels, self.hide_readonly = labels, hide_readonly
        self.arrays = {}
        self.depth = 1

    def line(self, text):
        self.lines.append("  " * self.depth + text)

    def array(self, a, name):
        key = a._storage, a._offset, a.shape
        if key not in self.arrays:
            node = self.arrays[key] = f"array{len(self.arrays)}"
            label = self.labels.get(a, name)
            tip = f"array: dtype={type_repr(a.dtype)}, shape={a.shape}, requires_grad={a.requires_grad}"
            style = ', style=filled, fillcolor="lightblue"' if a.requires_grad else ""
            self.line(f'{node} [label="{_quoted(label)}", shape=ellipse, tooltip="{_quoted(tip)}"{style}];')
        return self.arrays[key]


def _quoted(text):
    return str(text).replace("\\", "\\\\").replace('"', '\\"')


def _described(record):
    """The name of a record, and the arrays that it reads and writes, as (array, name of the parameter)."""
    kernel = getattr(record, "kernel", None)
    if kernel is None:
        arrays = [a for a in getattr(record, "arrays", tuple)() if isinstance(a, array)]
        written = list(getattr(record, "written", tuple)())
        reads = [(a, "array") for a in arrays if not any(a is w for w in written)]
        return type(record).__name__.strip("_").replace("Record", "").lower(), reads, [(a, "array") for a in written]
    types = [_core.type_of_argument(a) for a in record.arguments] if kernel.is_generic else []
    names = [name for name, _, _ in kernel._signature()]
    reads, writes = [], []
    for name, argument, (read, written) in zip(names, record.arguments, kernel._access(types), strict=True):
        members = [argument] if isinstance(argument, array) else getattr(argument, "_weft_arrays", list)()
        for a in members:
            if not isinstance(a, array):
                continue
            if read or not written:
                reads.append((a, name))
            if written:
                writes.append((a, name))
    return kernel.key, reads, writes


def _events(tape):
    """What happens in order: ("begin", name), ("end", None), ("record", record)."""
    scopes = list(tape.scopes)
    for i, record in enumerate(tape.launches):
        while scopes and scopes[0][0] <= i:
            _, name, _ = scopes.pop(0)
            yield ("end", None) if name is None else ("begin", name)
        yield "record", record
    for _, name, _ in scopes:
        yield ("end", None) if name is None else ("begin", name)


def graph_of(tape, simplify, hide_readonly, labels, ignore_graph_scopes=False, graph_direction="LR", **_):
    graph = _Graph(labels, hide_readonly, graph_direction)
    described = {id(r): _described(r) for r in tape.launches}
    written = {(a._storage, a._offset) for _, _, writes in described.values() for a, _ in writes}
    seen = {}
    repeats = {}
    clusters = 0
    pending = []
    for event, value in _events(tape):
        if event == "record":
            name, reads, writes = described[id(value)]
            key = name, tuple((a._storage, a._offset) for a, _ in reads + writes) if simplify else id(value)
            if key in seen:
                repeats[seen[key]] += 1
                continue
            node = seen[key] = len(seen)
            repeats[node] = 1
            pending.append((len(graph.lines), graph.depth, node, name))
            graph.lines.append("")
            for a, label in reads:
                if not (hide_readonly and (a._storage, a._offset) not in written):
                    graph.line(f"{graph.array(a, label)} -> launch{node};")
            for a, label in writes:
                graph.line(f"launch{node} -> {graph.array(a, label)};")
        elif ignore_graph_scopes:
            continue
        elif event == "begin":
            graph.line(f'subgraph cluster{clusters} {{ label="{_quoted(value)}";')
            clusters += 1
            graph.depth += 1
        else:
            graph.depth -= 1
            graph.line("}")
    for line, depth, node, name in pending:
        times = f" (repeated {repeats[node]}x)" if repeats[node] > 1 else ""
        graph.lines[line] = "  " * depth + f'launch{node} [label="{_quoted(name)}{times}"];'
    while graph.depth > 1:  # scopes that were not ended
        graph.depth -= 1
        graph.line("}")
    return "\n".join([*graph.lines, "}"]) + "\n"
