"""Rules of a site: changes of a URL that do not change its page.

A rule is a set of changes, such as "without the parameter ``ref``", and the path template of the URLs that it was
learnt from. Two URLs that it makes equal lead to the same page, if the rule is right. Nothing is changed without a
rule: a URL is split without loss, except for its fragment and the order of its parameters, which Scrapy ignores too.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.errors import DamageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_CHANGES = 4  #: of one rule
MAX_SEGMENTS = 8  #: of a template; what follows is not distinguished
MAX_RULE_CHARS = 500  #: of the text of a rule; a longer one is not learnt
ANY = "*"  #: in a text: any value of a parameter, any segment
NUMBERED = "#"  #: in a template: a segment with a digit


class ChangeKind(StrEnum):
    """The kinds of changes, in the order in which they are made."""

    SCHEME = "scheme"  #: https becomes http
    HOST = "host"  #: the host loses its first label, such as "www"
    CASE = "case"  #: the path becomes lower case
    DROP = "drop"  #: the path loses all segments with this name, such as "print" or "index.html"
    SLASH = "slash"  #: the path loses the slash at its end
    SEGMENT = "segment"  #: the segment at this index counts as any other one
    VALUE = "value"  #: the query loses a parameter that has this value
    PARAMETER = "parameter"  #: the query loses a parameter, whatever its value


_ORDER = {kind: place for place, kind in enumerate(ChangeKind)}


class UrlFields(NamedTuple):
    """A URL without its fragment."""

    scheme: str
    host: str  #: with its port, in lower case
    segments: tuple[str, ...]
    slash: bool  #: whether a slash follows the last segment
    query: tuple[tuple[str, str], ...]  #: names and values, sorted

    @property
    def url(self) -> str:
        """The URL as text."""
        path = "/" + "/".join(self.segments) + ("/" if self.slash else "")
        query = "&".join(f"{name}={value}" for name, value in self.query)
        return f"{self.scheme}://{self.host}{path}" + (f"?{query}" if query else "")


class UrlChange(NamedTuple):
    """A change of a URL."""

    kind: ChangeKind
    name: str = ""  #: of a label, segment or parameter; the index of a segment
    value: str = ""  #: of a parameter

    @property
    def is_open(self) -> bool:
        """Whether the change removes any of several values."""
        return self.kind in (ChangeKind.PARAMETER, ChangeKind.SEGMENT)

    @property
    def text(self) -> str:
        """The change in the text of a rule."""
        if self.kind is ChangeKind.PARAMETER:
            return f"?{self.name}={ANY}"
        if self.kind is ChangeKind.VALUE:
            return f"?{self.name}={_escaped(self.value)}"
        return f"{self.kind}:{self.name}" if self.name else str(self.kind)


def parse_url(url: str) -> UrlFields:
    """Split a URL; text that is no URL becomes a host.

    >>> parse_url("https://Shop.example/c/1/?b=2&a=1#top").url
    'https://shop.example/c/1/?a=1&b=2'
    """
    scheme, _, rest = url.partition("#")[0].partition("://")
    address, _, query = rest.partition("?")
    host, _, path = address.partition("/")
    segments = path.split("/") if path else []
    slash = bool(segments) and not segments[-1]
    if slash:
        segments.pop()
    pairs = sorted(_pairs(query)) if query else ()
    return UrlFields(scheme.lower(), host.lower(), tuple(segments), slash, tuple(pairs))


def _pairs(query: str) -> Iterator[tuple[str, str]]:
    for part in query.split("&"):
        name, _, value = part.partition("=")
        yield name, value


def template(fields: UrlFields) -> str:
    """Return the template of a URL: its host, its first segment, and which of the others have digits.

    >>> template(parse_url("http://shop.example/item/12/red-shoe?size=4"))
    'shop.example/item/#/*'
    """
    return _template(fields.host, fields.segments)


@lru_cache(maxsize=4096)
def _template(host: str, segments: tuple[str, ...]) -> str:
    parts = [host]
    for index, segment in enumerate(segments[:MAX_SEGMENTS]):
        if any(map(str.isdigit, segment)):
            parts.append(NUMBERED)
        else:
            parts.append(segment.lower() if not index and segment != NUMBERED else ANY)
    return "/".join(parts) + ("/…" if len(segments) > MAX_SEGMENTS else "")


# -- applying changes -----------------------------------------------------------------------------


class ChangeGroup(NamedTuple):
    """The changes of a rule, in their order."""

    changes: tuple[UrlChange, ...]

    @classmethod
    def of(cls, changes: Iterable[UrlChange]) -> ChangeGroup:
        """Return changes in the order in which they are made."""
        return cls(tuple(sorted(changes, key=lambda change: (_ORDER[change.kind], *change[1:]))))

    @property
    def text(self) -> str:
        """The changes as text, separated by blanks, which no URL has."""
        return " ".join(change.text for change in self.changes)

    def apply(self, fields: UrlFields) -> UrlFields:
        """Return the changed URL; the same object unless every change changes something. A second time changes nothing.

        A rule with several changes was learnt from URLs that need all of them: it says nothing about one alone.
        """
        changed = fields
        for change in self.changes:
            before, changed = changed, _APPLY[change.kind](change, changed)
            if changed is before:
                return fields
        return changed

    def removed(self, fields: UrlFields) -> tuple[str, ...]:
        """Return the values of a URL that open changes remove; () if none is open."""
        found = []
        for change in self.changes:
            if change.kind is ChangeKind.PARAMETER:
                found += [value for name, value in fields.query if name == change.name]
            elif change.kind is ChangeKind.SEGMENT and int(change.name) < len(fields.segments):
                found.append(fields.segments[int(change.name)])
        return tuple(found)


def _apply_scheme(_: UrlChange, fields: UrlFields) -> UrlFields:
    return fields._replace(scheme="http") if fields.scheme == "https" else fields


def _apply_host(change: UrlChange, fields: UrlFields) -> UrlFields:
    label, host = f"{change.name}.", fields.host
    while host.startswith(label) and len(host) > len(label):
        host = host[len(label) :]
    return fields._replace(host=host) if host != fields.host else fields


def _apply_case(_: UrlChange, fields: UrlFields) -> UrlFields:
    lower = tuple(map(str.lower, fields.segments))
    return fields._replace(segments=lower) if lower != fields.segments else fields


def _apply_drop(change: UrlChange, fields: UrlFields) -> UrlFields:
    left = tuple(each for each in fields.segments if each.lower() != change.name)
    return fields._replace(segments=left) if len(left) < len(fields.segments) else fields


def _apply_slash(_: UrlChange, fields: UrlFields) -> UrlFields:
    return fields._replace(slash=False) if fields.slash else fields


def _apply_segment(change: UrlChange, fields: UrlFields) -> UrlFields:
    index, segments = int(change.name), fields.segments
    if index >= len(segments) or segments[index] == ANY:
        return fields
    return fields._replace(segments=(*segments[:index], ANY, *segments[index + 1 :]))


def _apply_value(change: UrlChange, fields: UrlFields) -> UrlFields:
    if change[1:] not in fields.query:
        return fields
    return fields._replace(query=tuple(pair for pair in fields.query if pair != change[1:]))


def _apply_parameter(change: UrlChange, fields: UrlFields) -> UrlFields:
    left = tuple(pair for pair in fields.query if pair[0] != change.name)
    return fields._replace(query=left) if len(left) < len(fields.query) else fields


_APPLY = {
    ChangeKind.SCHEME: _apply_scheme,
    ChangeKind.HOST: _apply_host,
    ChangeKind.CASE: _apply_case,
    ChangeKind.DROP: _apply_drop,
    ChangeKind.SLASH: _apply_slash,
    ChangeKind.SEGMENT: _apply_segment,
    ChangeKind.VALUE: _apply_value,
    ChangeKind.PARAMETER: _apply_parameter,
}


# -- finding changes ------------------------------------------------------------------------------


def differences(one: UrlFields, two: UrlFields) -> list[ChangeGroup]:
    """Return the groups of changes that make two URLs equal: none, or one, or a general and a special one.

    They differ for a parameter that only one of the URLs has: the general one removes it with any value.
    """
    places = _place_changes(one, two)
    if places is None:
        return []
    general, special = _query_changes(one, two)
    groups = dict.fromkeys(ChangeGroup.of({*places, *each}) for each in (general, special))
    return [each for each in groups if 0 < len(each.changes) <= MAX_CHANGES and each.apply(one) == each.apply(two)]


def _place_changes(one: UrlFields, two: UrlFields) -> list[UrlChange] | None:
    """Return the changes of all but the query; None if there are no such changes."""
    found = []
    if one.scheme != two.scheme:
        found.append(UrlChange(ChangeKind.SCHEME))
    if one.slash != two.slash:
        found.append(UrlChange(ChangeKind.SLASH))
    labels, path = _host_labels(one.host, two.host), _path_changes(one.segments, two.segments)
    if labels is None or path is None:
        return None
    return found + [UrlChange(ChangeKind.HOST, label) for label in labels] + path


def _host_labels(one: str, two: str) -> list[str] | None:
    """Return the first labels by which two hosts differ; None if they differ by more."""
    if one == two:
        return []
    (first, _, rest), (second, _, other) = one.partition("."), two.partition(".")
    if rest == two and "." in two:
        return [first]
    if other == one and "." in one:
        return [second]
    return [first, second] if rest == other and "." in rest else None


def _path_changes(one: tuple[str, ...], two: tuple[str, ...]) -> list[UrlChange] | None:
    if one == two:
        return []
    found = _segment_changes(one, two)
    if found is not None and all(change.kind is ChangeKind.DROP for change in found):
        return found
    lower = _segment_changes(tuple(map(str.lower, one)), tuple(map(str.lower, two)))
    if lower is not None and (found is None or len(lower) < len(found)):
        return [UrlChange(ChangeKind.CASE), *lower]
    return found


def _segment_changes(one: tuple[str, ...], two: tuple[str, ...]) -> list[UrlChange] | None:
    """Return a segment that one path has in addition, or the two that differ at most."""
    if len(one) == len(two):
        differing = [index for index, pair in enumerate(zip(one, two, strict=True)) if pair[0] != pair[1]]
        return [UrlChange(ChangeKind.SEGMENT, str(index)) for index in differing] if len(differing) <= 2 else None
    long, short = (one, two) if len(one) > len(two) else (two, one)
    names = (name for index, name in enumerate(long) if long[:index] + long[index + 1 :] == short)
    name = next(names, "").lower()
    return [UrlChange(ChangeKind.DROP, name)] if name and not any(map(str.isdigit, name)) else None


def _query_changes(one: UrlFields, two: UrlFields) -> tuple[list[UrlChange], list[UrlChange]]:
    """Return the changes of the query: with any value, and with the values of parameters that one URL lacks."""
    only = sorted(set(one.query) ^ set(two.query))
    both = {name for name, _ in one.query} & {name for name, _ in two.query}
    general = [UrlChange(ChangeKind.PARAMETER, name) for name in dict.fromkeys(name for name, _ in only)]
    special = [change for change in general if change.name in both]
    special += [UrlChange(ChangeKind.VALUE, *pair) for pair in only if pair[0] not in both]
    return general, special


# -- rules as text --------------------------------------------------------------------------------


def rule_text(group: ChangeGroup, scope: str) -> str:
    """Return a rule as one line of text.

    >>> one, two = map(parse_url, ("http://shop.example/item/1?ref=a", "http://shop.example/item/1?ref=b"))
    >>> rule_text(differences(one, two)[0], template(one))
    '?ref=* on shop.example/item/#'
    """
    return f"{group.text} on {scope}"


def parse_rule(text: str) -> tuple[ChangeGroup, str]:
    """Return the changes and the template of a rule; raises ``DamageError`` for anything else."""
    changes, separator, scope = text.rpartition(" on ")
    try:
        group = ChangeGroup.of(map(_parse_change, changes.split(" ")))
    except ValueError:
        raise DamageError(f"{text!r} is no rule.") from None
    if not separator or not scope:
        raise DamageError(f"{text!r} is no rule.")
    return group, scope


def _parse_change(text: str) -> UrlChange:
    if text.startswith("?"):
        name, _, value = text[1:].partition("=")
        if value == ANY:
            return UrlChange(ChangeKind.PARAMETER, name)
        return UrlChange(ChangeKind.VALUE, name, _bare(value))
    kind, _, name = text.partition(":")
    if kind == ChangeKind.SEGMENT:
        name = str(int(name))
    return UrlChange(ChangeKind(kind), name)


def _escaped(value: str) -> str:
    return "\\" + value if value[:1] in (ANY, "\\") else value


def _bare(value: str) -> str:
    return value.removeprefix("\\")


def discarder_rule(text: str) -> dict[str, object] | None:
    """Return a rule for ``duplicate-url-discarder``, as an entry of its JSON files; None if it has no such rule.

    Its processors remove parameters whatever their value, or segments at an index.
    """
    group, scope = parse_rule(text)
    kinds = {change.kind for change in group.changes}
    if kinds == {ChangeKind.PARAMETER}:
        processor = "queryRemoval"
    elif kinds == {ChangeKind.SEGMENT}:
        processor = "subpathRemoval"
    else:
        return None
    args = [change.name for change in group.changes]
    return {
        "args": [*map(int, args)] if processor == "subpathRemoval" else args,
        "order": 100,
        "processor": processor,
        "urlPattern": {"include": [_url_pattern(scope)]},
    }


def _url_pattern(scope: str) -> str:
    """Return a template as a pattern of ``url-matcher``: the host and the literal beginning of the path."""
    host, *segments = scope.split("/")
    literal = segments[0] if segments and segments[0] not in (ANY, NUMBERED) else ""
    return f"{host}/{literal}/" if literal and len(segments) > 1 else f"{host}/{literal}"
