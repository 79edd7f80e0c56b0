"""Refuse tags with so many attributes that parsing them takes quadratic time.

libxml2 compares each attribute of a tag with those before it: 40,000 attributes take seconds, and a page of
10 MB with a single tag takes hours. A parser in C cannot be interrupted, so such tags are found before.

Which ``<`` begins a tag depends on the state of the tokenizer (in a script, a comment, a quoted value…). The
search does not follow that state. It tries every ``<`` before a letter, and so finds each tag of the page
whatever tokenizer the parser has. In scripts it also finds what is no tag (``i<n; i++``). If something was found, it
is repeated with these ``<`` removed from scripts, and the page is parsed without them as well.

The search takes some percent of the time of reading a page. So a page is sampled first: within a long tag, each
``>`` is in a quoted value, and the tag has many attributes between two of them or lasts for many samples.
"""

from __future__ import annotations

import re

from dedupcrawl.page.model import TOO_MANY_ATTRIBUTES, PageError

#: Attributes that a tag may have; tags of the labelled pages have at most 136. The parser then needs about as long for
#: a page of such tags as for a page of the same size with short ones.
MAX_ATTRIBUTES = 256

_SPACE = " \\t\\n\\r\\f"  # ASCII whitespace of the HTML Standard
_VALUE = rf"""(?:"[^"]*+"?+|'[^']*+'?+|[^{_SPACE}>]*+)"""
#: An attribute as the tokenizer of the HTML Standard reads it (sections 13.2.5.32 to 13.2.5.39). All quantifiers are
#: possessive: no text is scanned twice from the same place.
_ATTRIBUTE = rf"(?:[{_SPACE}/]*+[^{_SPACE}/>][^{_SPACE}/>=]*+(?:[{_SPACE}]*+=[{_SPACE}]*+{_VALUE})?+)"
_TOO_MANY = f"{_ATTRIBUTE}{{{MAX_ATTRIBUTES + 1}}}"
#: The name of a tag is passed over as a whole: in ``<a<a<a`` each ``<`` would scan the rest again.
_start_without_flood = re.compile(rf"(?:[^<]++|<(?:(?![a-zA-Z])|[a-zA-Z][^{_SPACE}/>]*+(?!{_TOO_MANY})))*+").match
_scripts = re.compile(r"(<script\b[^>]*+>)((?:[^<]++|<(?!/script))*+)", re.IGNORECASE)
#: ``<script`` inside a script has a meaning after ``<!--``.
_tags_in_script = re.compile(rf"<(?!script)(?=[a-z][^{_SPACE}/>]*+{_TOO_MANY})", re.IGNORECASE)

SAMPLE_STEP = 4096  #: characters between two samples
MEDIUM_PAGE, MEDIUM_STEP = 300_000, 2048  #: characters from which a page has more samples, since it may have more tags
LONG_RUN = 2048  #: characters of a tag without ``>`` whose attributes are counted
LARGE_PAGE = 1_000_000  #: characters from which a page is searched as a whole, since more tags could be missed
_WHITE_SPACE = " \t\n\r\f"
_BEFORE_VALUE = frozenset(f"={_WHITE_SPACE}")
_find_tag = re.compile("<[a-zA-Z]").search


def bounded_markup(html: str) -> str:
    """Return the page itself, or if its scripts look like long tags, the page without ``<`` in these places.

    Raises:
        PageError: a tag has more than ``MAX_ATTRIBUTES`` attributes.
    """
    if not has_long_tag(html):
        return html
    html = _scripts.sub(_without_tags, html)
    if has_long_tag(html):
        raise PageError(TOO_MANY_ATTRIBUTES, f"a tag has more than {MAX_ATTRIBUTES} attributes")
    return html


def has_long_tag(html: str) -> bool:
    """Return whether more than ``MAX_ATTRIBUTES`` attributes follow a ``<`` and a letter anywhere in the text.

    A tag that is shorter than ``LONG_RUN`` or than three steps between samples may be missed. It has few enough
    attributes that a page of such tags is parsed in about two seconds at most.
    """
    return (len(html) > LARGE_PAGE or _may_have_long_tag(html)) and _search_long_tag(html)


def _search_long_tag(html: str) -> bool:
    passed = _start_without_flood(html)
    return passed is None or passed.end() < len(html)


def _may_have_long_tag(html: str) -> bool:
    """Return whether a run of characters without ``>`` may be part of a long tag, for runs at regular distances."""
    find, rfind, size = html.find, html.rfind, len(html)
    step = SAMPLE_STEP if size < MEDIUM_PAGE else MEDIUM_STEP
    place = last = 0  # ``last`` is the end of the run before: no character is searched twice
    was_quoted = False
    while place < size:
        end = find(">", place)
        if end < 0:
            end = size
        start = rfind(">", last, place) + 1 or last
        double, single = rfind('"', start, end), rfind("'", start, end)
        is_quoted = (double > start and html[double - 1] in _BEFORE_VALUE and _is_opening(html, double, start)) or (
            single > start and html[single - 1] in _BEFORE_VALUE and _is_opening(html, single, start)
        )
        if is_quoted and was_quoted:
            return True
        if end - start >= LONG_RUN and _is_suspicious(html, last, start, end):
            return True
        was_quoted = is_quoted
        last = end + 1
        place = max(place + step, last)
    return False


def _is_suspicious(html: str, last: int, start: int, end: int) -> bool:
    """Return whether a run of characters without ``>`` goes on with the tag of the run before, or is a long tag."""
    if start > last and _ends_in_value(html, html.rfind(">", last, start - 1) + 1 or last, start - 1):
        return True
    tag = _find_tag(html, start, end - LONG_RUN)
    return tag is not None and _search_long_tag(html[tag.start() : end])


def _ends_in_value(html: str, start: int, end: int) -> bool:
    """Return whether the last ``"`` or ``'`` of a part of a page follows ``=``: a quoted value is not closed in it."""
    return _is_opening(html, html.rfind('"', start, end), start) or _is_opening(
        html, html.rfind("'", start, end), start
    )


def _is_opening(html: str, quote: int, start: int) -> bool:
    return quote > start and html[start:quote].rstrip(_WHITE_SPACE).endswith("=")


def _without_tags(script: re.Match[str]) -> str:
    return script[1] + _tags_in_script.sub(" ", script[2])
