"""The site of a URL: the domain that somebody can register.

The site is the domain that somebody can register, by the public suffix list (https://publicsuffix.org/list/). The list
is the file that comes with tldextract. Importing tldextract would import requests, which takes longer than the rest of
many commands, so only its file is read. The results are those of tldextract with the private part of the list.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

_LIST = ".tld_set_snapshot"
_rules = re.compile(r"^[.*!]*\w\S*", re.MULTILINE).findall
_DOTS = "\u3002\uff0e\uff61"  #: full stops that separate labels as "." does (UTS 46)
_TO_FULL_STOPS = str.maketrans(dict.fromkeys(_DOTS, "."))


def registrable_domain(host: str) -> str:
    """Return the public suffix of a host with one more label; "" if it has none, as an address or a suffix itself.

    Args:
        host: a host without a port, in any case.

    >>> registrable_domain("www.shop.example.co.uk"), registrable_domain("a.github.io"), registrable_domain("localhost")
    ('example.co.uk', 'a.github.io', '')
    """
    if host.startswith("[") and "]" in host:
        host = host[: host.index("]") + 1]
    labels = host.strip().rstrip(f".{_DOTS}").translate(_TO_FULL_STOPS).split(".")
    start = _suffix_start(labels)
    return ".".join(labels[start - 1 :]) if 0 < start < len(labels) and labels[start - 1] else ""


def _suffix_start(labels: list[str]) -> int:
    """Return at which label the public suffix starts; the number of labels if there is none."""
    suffixes = _load()
    start = at = len(labels)
    name = ""
    for label in map(_decoded, reversed(labels)):
        longer = f"{label}.{name}" if name else label
        if longer not in suffixes.ends:
            if f"*.{name}" in suffixes.rules:
                return at if f"!{longer}" in suffixes.rules else at - 1
            return start
        at -= 1
        name = longer
        if name in suffixes.rules:
            start = at
    return start


def _decoded(label: str) -> str:
    label = label.lower()
    if not label.startswith("xn--"):
        return label
    import idna  # noqa: PLC0415  # rarely needed

    try:
        return idna.decode(label)
    except (UnicodeError, IndexError):
        return label


class _SuffixRules(NamedTuple):
    """The list: a rule is a suffix, ``*.`` with one, or ``!`` with a domain that a wildcard does not stand for."""

    rules: frozenset[str]
    ends: frozenset[str]  #: the rules, and what follows any of their dots


@cache
def _load() -> _SuffixRules:
    """Read the list when it is first needed."""
    spec = find_spec("tldextract")
    assert spec is not None  # Scrapy needs it too
    assert spec.origin is not None
    text = Path(spec.origin).with_name(_LIST).read_text("utf-8")
    rules = frozenset(_rules(text))
    ends = set(rules)
    for rule in rules:
        while rule := rule.partition(".")[2]:
            ends.add(rule)
    return _SuffixRules(rules, frozenset(ends))


_URL_PATH = re.compile(r"[/?#]")  #: begins what follows the host


def site_of(url: str) -> str:
    """Return the site of a URL: the registrable domain of its host, or the host if it has none.

    By the private part of the public suffix list, two blogs of one provider are two sites.

    >>> site_of("https://www.shop.example.co.uk:8443/a"), site_of("http://127.0.0.1:8000/")
    ('example.co.uk', '127.0.0.1:8000')
    """
    host = host_of(url)
    return _site_of_host(host) if host else ""


def host_of(url: str) -> str:
    """Return host and port of a URL in lower case, without user and password; "" if it has none.

    Never raises an error, as ``urlsplit`` does at an unclosed bracket.
    """
    rest = url.partition("://")[2]
    return _URL_PATH.split(rest, maxsplit=1)[0].rpartition("@")[2].lower()


@lru_cache(maxsize=16_384)
def _site_of_host(host: str) -> str:
    name = host.partition(":")[0]
    known = registrable_domain(name)
    if known or "." not in name or name.replace(".", "").isdigit() or host.startswith("["):
        return known or host
    return ".".join(name.split(".")[-2:])  # the default rule of the public suffix list
