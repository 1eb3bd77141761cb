"""Holds the arrows between the layers of src/, as tools/layers.txt states them, by reading every #include."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "tools" / "layers.txt"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


@dataclass
class Layers:
    """The table: which layers each layer may include, and which headers from outside belong to one layer."""

    allowed: dict[str, set[str]] = field(default_factory=dict)
    foreign: list[tuple[re.Pattern[str], str]] = field(default_factory=list)

    def of(self, path: str) -> str | None:
        """The layer of a path below src/ (the longest folder that the table names), or None."""
        return max((layer for layer in self.allowed if path.startswith(layer + "/")), key=len, default=None)


def read_table(path: Path = TABLE) -> Layers:
    layers = Layers()
    for line in path.read_text().splitlines():
        words = line.split()
        if words[:1] == ["layer"]:
            layers.allowed[words[1]] = set(words[3:]) - {"-"}
        elif words[:1] == ["foreign"]:
            layers.foreign.append((re.compile(words[1]), words[2]))
    return layers


def breaches(src: Path, layers: Layers) -> list[str]:
    """One line for each #include below `src` that goes against the table."""
    found = []
    for file in sorted(p for p in src.rglob("*") if p.suffix in {".h", ".cpp", ".def", ".inc"}):
        path = file.relative_to(src).as_posix()
        layer = layers.of(path)
        if layer is None:
            found.append(f"{path}: its folder is not in tools/layers.txt")
            continue
        for included in INCLUDE.findall(file.read_text()):
            # Relative to src/, which is how layers are named, or to the file's own folder.
            beside = file.parent / included
            if not (src / included).exists() and beside.exists():
                included = beside.resolve().relative_to(src.resolve()).as_posix()
            target = layers.of(included)
            if target is not None and target != layer and target not in layers.allowed[layer]:
                found.append(f"{path}: {layer} may not include {target} ({included})")
            for pattern, owner in layers.foreign:
                if pattern.match(included) and layer != owner:
                    found.append(f"{path}: only {owner} may include {included}")
    return found


def test_every_include_follows_the_arrows():
    assert breaches(ROOT / "src", read_table()) == []


def test_the_table_has_no_cycle_between_binaries_or_layers():
    allowed = read_table().allowed
    seen: list[str] = []
    for layer, below in allowed.items():
        # codegen and codegen/cxx are one layer in two folders, so they may name each other.
        assert all(b in seen or {b, layer} == {"codegen", "codegen/cxx"} for b in below), layer
        seen.append(layer)
    assert not any("bind" in below for below in allowed.values())


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("base/a.h", '#include "ir/type.h"\n', "base may not include ir (ir/type.h)"),
        ("opt/a.cpp", "  #  include <ad/reverse.h>\n", "opt may not include ad (ad/reverse.h)"),
        ("ir/a.cpp", '#include "../frontend/scope.h"\n', "ir may not include frontend (frontend/scope.h)"),
        ("codegen/a.cpp", '#include "codegen/llvm/emit.h"\n', "codegen may not include codegen/llvm"),
        ("runtime/a.cpp", '#include "bind/array.h"\n', "runtime may not include bind"),
        ("codegen/a.cpp", "#include <llvm/IR/Module.h>\n", "only codegen/llvm may include llvm/IR/Module.h"),
        ("runtime/a.cpp", "#include <Python.h>\n", "only bind may include Python.h"),
        ("codegen/cxx/a.cpp", "#include <cuda.h>\n", "only runtime may include cuda.h"),
        ("oddments/a.cpp", "", "its folder is not in tools/layers.txt"),
    ],
)
def test_a_breach_is_found(tmp_path, path, text, message):
    for name, content in {"frontend/scope.h": "", path: text}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    found = breaches(tmp_path, read_table())
    assert len(found) == 1
    assert message in found[0]


def test_what_follows_the_arrows_passes(tmp_path):
    for path, text in {
        "codegen/llvm/emit.cpp": '#include "emit.h"\n#include "codegen/backend.h"\n#include <llvm/IR/Module.h>\n',
        "codegen/llvm/emit.h": "#include <vector>\n",
        "bind/core.cpp": '#include "runtime/device.h"\n#include <nanobind/nanobind.h>\n',
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert breaches(tmp_path, read_table()) == []
