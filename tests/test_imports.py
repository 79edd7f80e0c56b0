"""No module imports itself by way of others; imports for types and those inside functions count."""

from __future__ import annotations

import ast
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
    graph = {name: imported(path, known) for name, path in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert cycle(ROOT) == []


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
