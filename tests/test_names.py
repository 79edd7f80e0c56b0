"""Names of classes: each is one class, and they end with few different words."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import dedupcrawl

ROOT = Path(dedupcrawl.__file__).parent
MOST_LAST_WORDS = 150  #: a reader has to learn what each of them means

_classes = re.compile(r"^[ \t]*(?:cdef )?class (\w+)", re.MULTILINE).findall
_words = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+").findall


def modules_by_class() -> dict[str, set[Path]]:
    """Return the modules that define each class; a compiled module is its source and its stub."""
    found: dict[str, set[Path]] = defaultdict(set)
    for path in ROOT.rglob("*.py*"):
        if path.suffix in {".py", ".pyi", ".pyx"}:
            for name in _classes(path.read_text("utf-8")):
                found[name].add(path.with_suffix(""))
    return found


def test_no_two_classes_have_one_name() -> None:
    assert {name: modules for name, modules in modules_by_class().items() if len(modules) > 1} == {}


def test_classes_end_with_few_different_words() -> None:
    by_word: dict[str, list[str]] = defaultdict(list)
    for name in modules_by_class():
        by_word[_words(name)[-1]].append(name)
    alone = sorted(names[0] for names in by_word.values() if len(names) == 1)
    assert len(by_word) <= MOST_LAST_WORDS, f"{len(by_word)} last words; only one class each: {', '.join(alone)}"
