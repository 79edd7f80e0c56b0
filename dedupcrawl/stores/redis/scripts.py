"""The scripts: which operation is in which, and what each is put together from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from importlib.resources import files

_OPERATIONS = {
    "look": ("find", "get", "lookup", "walk", "edge", "stand"),
    "offer": ("offer",),
    "settle": ("scraped", "commit", "release", "disown", "mine", "admit"),
    "workers": ("renew", "leave", "bury"),
    "keep": ("forget", "comb", "prune", "retract"),
}
_FILES = {operation: name for name, operations in _OPERATIONS.items() for operation in operations}

_ALL = "claims search fetch change rest remove"
#: What a script has beside ``base``: what is built at each call, and what when it is first asked for.
_PARTS = {
    "look": ("claims search fetch", "rest"),
    "offer": ("fetch", f"{_ALL} known"),
    "settle": ("claims change", "fetch rest remove"),
    "workers": ("claims change", "rest"),
    "keep": (_ALL, ""),
}


@dataclass(frozen=True, slots=True)
class Script:
    """A text in Lua, and the digest by which a server knows it."""

    text: str
    digest: str


@cache
def script_of(operation: str) -> Script:
    """Return the script that knows an operation."""
    name = _FILES[operation]
    always, rarely = _PARTS[name]
    parts = (
        *_read("base"),
        "if M.compact then",
        *_read("shelves"),
        "end",
        *_read(always),
        "function M.build_rest()",
        *_read(rarely),
        "end",
        *_read(name),
        "return M[ARGV[1]]()",
    )
    text = "\n".join(parts)
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


def _read(names: str) -> list[str]:
    folder = files(__package__) / "lua"
    return [(folder / f"{name}.lua").read_text(encoding="utf-8") for name in names.split()]
