"""The Lua scripts: a library of functions for servers that have them, and a script for each operation.

A server builds a script's own functions at each call, those of a library once. Redis before version 7 has no
libraries, and a user may not be allowed to load one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from importlib.resources import files

#: The operations of each script. It is named after its file in ``lua/``.
OPERATIONS = {
    "lookups": ("find", "find_new", "get", "get_many", "lookup", "list_records", "edge_time", "count_claims"),
    "offer": ("offer", "offer_again", "offer_many", "offer_many_again"),
    "claims": ("scraped", "commit", "commit_again", "release", "withdraw_offers", "own_claims", "open_namespace"),
    "workers": ("renew", "lease", "leave", "remove_owners"),
    "housekeeping": ("forget", "forget_scan", "prune", "last_id", "retract"),
}
_SCRIPTS = {operation: name for name, operations in OPERATIONS.items() for operation in operations}
#: The operations of a crawl, and the scripts that have them. The others are rare.
_HOT = ("find", "find_new", *OPERATIONS["offer"], "scraped", "commit", "commit_again", "release")
_HOT_SCRIPTS = "lookups offer claims"

_ALL_PARTS = "tables search buckets writes helpers removal"
#: The parts of a script beside ``base``: those that are built at each call, and those that are built on first
#: use.
_PARTS = {
    "lookups": ("tables search buckets", "helpers"),
    "offer": ("buckets", f"{_ALL_PARTS} existing"),
    "claims": ("tables writes", "buckets helpers removal"),
    "workers": ("tables writes", "helpers"),
    "housekeeping": (_ALL_PARTS, ""),
}


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script, and how a server knows it."""

    text: str
    digest: str  #: SHA-1, for ``EVALSHA``
    function: str  #: name of the library's function, for ``FCALL``; "" if the library lacks the operation


@cache
def script_of(operation: str) -> Script:
    """Return the script that implements an operation."""
    name = _SCRIPTS[operation]
    always, on_use = _PARTS[name]
    parts = (
        "local keys, arguments = KEYS, ARGV",
        *_read("base"),
        "M.begin(keys, arguments)",
        "if M.compact then",
        *_read("partitions"),
        "end",
        *_read(always),
        "setmetatable(M, {__index = function(_, name)",
        *_read(on_use),
        "return rawget(M, name)",
        "end})",
        *_read(name),
        "return M[ARGV[1]]()",
    )
    text = "\n".join(parts)
    return Script(text, _sha1(text), _library()[0] if operation in _HOT else "")


def library_text() -> str:
    """Return the argument of ``FUNCTION LOAD``."""
    name, text = _library()
    return f"#!lua name={name}\n{text}redis.register_function('{name}', run)\n"


@cache
def _library() -> tuple[str, str]:
    """Return the name of the library, which is that of its only function, and its text.

    The name contains a digest of the text: workers of different versions do not replace each other's library.
    """
    run = "local function run(keys, arguments)\nM.begin(keys, arguments)\nreturn M[arguments[1]]()\nend\n"
    text = "\n".join([*_read(f"base partitions {_ALL_PARTS} existing {_HOT_SCRIPTS}"), run])
    return f"dedupcrawl_{_sha1(text)[:16]}", text


def _sha1(text: str) -> str:
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


@cache
def _read(names: str) -> list[str]:
    folder = files(__package__) / "lua"
    return [(folder / f"{name}.lua").read_text(encoding="utf-8") for name in names.split()]
