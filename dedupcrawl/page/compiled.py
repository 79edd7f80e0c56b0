"""The compiled code of this folder: the walk over a tree, the blocks of its stream, their choice.

Each of the modules may be missing: then Python does its work with the same results.

The walk reads the nodes of libxml2 in the tree of lxml. libxml2 does not guarantee their layout, so only versions
with which the tests passed are accepted. With any other, :mod:`dedupcrawl.page.blocks` walks the tree with its
stylesheet, which gives the same stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lxml import etree

from dedupcrawl.utils.optional import load_extension

if TYPE_CHECKING:
    from types import ModuleType

#: Versions of lxml and libxml2 (major, minor) with which the compiled walk was tested.
TESTED_LXML: Final = frozenset({(5, 4), (6, 0), (6, 1)})
TESTED_LIBXML2: Final = frozenset({(2, 12), (2, 13), (2, 14)})


def untested_version() -> str:
    """Return in a few words which version was not tested with the compiled walk, "" if all were."""
    for name, version, tested in (
        ("lxml", etree.LXML_VERSION, TESTED_LXML),
        ("libxml2", etree.LIBXML_VERSION, TESTED_LIBXML2),
        ("libxml2", etree.LIBXML_COMPILED_VERSION, TESTED_LIBXML2),
    ):
        if version[:2] not in tested:
            return f"{name} {'.'.join(map(str, version))} was not tested"
    return ""


def load_walk() -> tuple[ModuleType | None, str]:
    """Return the module with the walk, or None with the reason why it is not in use."""
    untested = untested_version()
    return (None, untested) if untested else load_extension("dedupcrawl.page._walk")


walk, _why_no_walk = load_walk()
blocks, _why_no_blocks = load_extension("dedupcrawl.page._blocks")
features, _why_no_features = load_extension("dedupcrawl.page._features")
choice, _why_no_choice = load_extension("dedupcrawl.page._choice")
trees, _why_no_trees = load_extension("dedupcrawl.page._trees")


def description() -> str:
    """Return in a few words which code reads pages, and why."""
    parts = (
        ("walk", walk, "libxslt", _why_no_walk),
        ("blocks", blocks, "Python", _why_no_blocks),
        ("features", features, "numpy", _why_no_features),
        ("choice", choice, "Python", _why_no_choice),
        ("model", trees, "numpy", _why_no_trees),
    )
    if all(module for _, module, _, _ in parts):
        return "compiled"
    return ", ".join(
        f"{name} {'compiled' if module else f'by {instead} ({why})'}" for name, module, instead, why in parts
    )
