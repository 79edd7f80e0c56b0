"""The scripts of a sharded namespace, composed from ``lua/shard.lua`` and ``lua/shard_layout.lua``."""

from __future__ import annotations

from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@cache
def scripts() -> Mapping[bytes, bytes]:
    """Return the scripts by their digests."""
    return {sha1(text, usedforsecurity=False).hexdigest().encode(): text for text in _texts().values()}


def script_names() -> dict[bytes, str]:
    """Return the names of the scripts by their digests."""
    return {digest: name for name, digest in DIGESTS.items()}


@cache
def _texts() -> dict[str, bytes]:
    parts = dict(_sections("shard_layout")) | dict(_sections("shard"))
    functions = {name: text for name, text in parts.items() if f"local function {name}(" in text}
    names = [name for name in parts if name not in functions]
    return {name: _with_functions(parts[name], functions).encode() for name in names}


def _sections(file: str) -> Iterator[tuple[str, str]]:
    text = (files("dedupcrawl.stores.redis") / "lua" / f"{file}.lua").read_text(encoding="utf-8")
    for section in text.split("\n--@ ")[1:]:
        name, _, code = section.partition("\n")
        yield name, "\n".join(line for line in code.split("\n") if line and not line.startswith("--"))


def _with_functions(code: str, functions: Mapping[str, str]) -> str:
    """Put the functions that a script calls in front of it, each after those that it calls itself."""
    needed: dict[str, str] = {}

    def collect(text: str) -> None:
        for name, function in functions.items():
            if f"{name}(" in text and function != text and name not in needed:
                collect(function)
                needed[name] = function

    collect(code)
    return "\n".join([*needed.values(), code])


#: Of the scripts, by their names.
DIGESTS = {name: sha1(text, usedforsecurity=False).hexdigest().encode() for name, text in _texts().items()}
