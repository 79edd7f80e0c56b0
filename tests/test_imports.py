"""No module imports itself by way of others; imports for types and those inside functions count."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dedupcrawl

ROOT = Path(dedupcrawl.__file__).parent


def modules(root: Path) -> dict[str, Path]:
    """Return the files of a package by the names of their modules."""
    names = {path: ".".join(path.relative_to(root.parent).with_suffix("").parts) for path in root.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for path, name in names.items()}


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules that a file imports, of those that are known."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} has a relative import"
            source = str(node.module)
            within = (f"{source}.{alias.name}" for alias in node.names)
            found.update(name if name in known else source for name in within)
    return found & known.keys()


def cycle(root: Path) -> list[str]:
    """Return a cycle of modules, the last being the first; [] if there is none."""
    known = modules(root)
    return cycle_in({name: imported(path, known) for name, path in known.items()})


def includes(folder: Path) -> dict[str, set[str]]:
    """Return what the files of a folder in C include; a source and its header are one."""
    found: dict[str, set[str]] = {}
    for path in (*folder.glob("*.c"), *folder.glob("*.h")):
        names = re.findall(r'^#include "(\w+)\.h"', path.read_text("utf-8"), re.MULTILINE)
        found.setdefault(path.stem, set()).update({*names} - {path.stem})
    return found


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """Return a cycle of a graph, the last being the first; [] if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert cycle(ROOT) == []


def test_no_file_in_c_includes_itself_by_way_of_others() -> None:
    graph = includes(ROOT / "text" / "kernel_src")
    assert graph["names"] == {"identity"}
    assert cycle_in(graph) == []


def test_a_cycle_of_includes_is_found(tmp_path: Path) -> None:
    (tmp_path / "one.h").write_text("")
    (tmp_path / "one.c").write_text('#include "one.h"\n#include "two.h"\n')
    (tmp_path / "two.h").write_text('#include "one.h"\n')
    assert set(cycle_in(includes(tmp_path))) == {"one", "two"}


@pytest.mark.parametrize(
    "text",
    [
        "from pair.one import x",
        "from pair import one",
        "import pair.one",
        "if TYPE_CHECKING:\n    from pair.one import x",
        "def lazy():\n    from pair.one import x",
    ],
)
def test_a_cycle_is_found(tmp_path: Path, text: str) -> None:
    package = tmp_path / "pair"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("from pair.two import y")
    (package / "two.py").write_text(text)
    assert set(cycle(package)) == {"pair.one", "pair.two"}
