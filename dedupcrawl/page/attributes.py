"""Refuse tags with so many attributes that parsing them takes quadratic time.

libxml2 compares each attribute of a tag with those before it: 40,000 attributes take seconds, and a page of
10 MB with a single tag takes hours. A parser in C cannot be interrupted, so such tags are found before.

Which ``<`` begins a tag depends on the state of the tokenizer (in a script, a comment, a quoted value…). The
search does not follow that state. It tries every ``<`` before a letter, and so finds each tag of the page
whatever tokenizer the parser has. In scripts it also finds what is no tag (``i<n; i++``). If something was found, it
is repeated without any ``<`` before a letter in such scripts, and the page is parsed without them as well.

The search takes some percent of the time of reading a page. So a page is sampled first: within a long tag, each
``>`` is in a quoted value, and the tag has many attributes between two of them or lasts for many samples. The places
of the samples are random, so that no page can hide its attributes between them. Their distance is such that a page of
tags that are missed is parsed in a second or two.
"""

from __future__ import annotations

import re
from itertools import cycle
from random import SystemRandom

from dedupcrawl.page.model import TOO_MANY_ATTRIBUTES, PageError
from dedupcrawl.utils.time_limit import check_time

#: Attributes that a tag may have; tags of the labelled pages have at most 136. The parser then needs about as long for
#: a page of such tags as for a page of the same size with short ones.
MAX_ATTRIBUTES = 256

_SPACE = " \\t\\n\\r\\f"  # ASCII whitespace of the HTML Standard
_VALUE = rf"""(?:"[^"]*+"?+|'[^']*+'?+|[^{_SPACE}>]*+)"""
#: An attribute as the tokenizer of the HTML Standard reads it (sections 13.2.5.32 to 13.2.5.39). All quantifiers are
#: possessive: no text is scanned twice from the same place.
_ATTRIBUTE = rf"(?:[{_SPACE}/]*+[^{_SPACE}/>][^{_SPACE}/>=]*+(?:[{_SPACE}]*+=[{_SPACE}]*+{_VALUE})?+)"
_TOO_MANY = f"{_ATTRIBUTE}{{{MAX_ATTRIBUTES + 1}}}"
#: The name of a tag is passed over as a whole: in ``<a<a<a`` each ``<`` would scan the rest again. At most 4,096 parts
#: are passed over at a time, since each may look at ``MAX_ATTRIBUTES`` attributes: some hundredths of a second.
_some_without_flood = re.compile(
    rf"(?:[^<]++|<(?:(?![a-zA-Z])|[a-zA-Z][^{_SPACE}/>]*+(?!{_TOO_MANY}))){{0,4096}}+"
).match
#: ``<script <script`` would be scanned to its end from each of them, if a tag could go on after a ``<``. A script whose
#: tag has one in a value stays as it is, and the page may be refused.
_scripts = re.compile(r"(<script\b[^<>]*+>)((?:[^<]++|<(?!/script))*+)", re.IGNORECASE)
#: ``<script`` inside a script has a meaning after ``<!--``.
_tag_in_script = re.compile("<(?!script)(?=[a-z])", re.IGNORECASE)

MIN_STEP, MAX_STEP = 512, 16384  #: characters between two samples
#: The distance times the length of the page: a page of tags of 3 steps, with 5 characters for each attribute, is parsed
#: in about 1.5 seconds.
STEP_TIMES_LENGTH = 5 * 10**9
#: Where in its step each sample is, as a share; the same for all pages of a process.
_SHARES = tuple([SystemRandom().random() for _ in range(251)])
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

    A tag that is shorter than three steps between samples may be missed.
    """
    return _may_have_long_tag(html) and _search_long_tag(html)


def sample_step(length: int) -> int:
    """Return the distance of the samples in a page of ``length`` characters."""
    return min(MAX_STEP, max(MIN_STEP, STEP_TIMES_LENGTH // max(1, length)))


def _search_long_tag(html: str) -> bool:
    place = 0
    while place < len(html):
        check_time()
        passed = _some_without_flood(html, place)
        if passed is None or passed.end() == place:
            return True
        place = passed.end()
    return False


def _may_have_long_tag(html: str) -> bool:
    """Return whether a run of characters without ``>`` may be part of a long tag, for one run in each step."""
    find, rfind, size = html.find, html.rfind, len(html)
    step = sample_step(size)
    last = 0  # the end of the run before: no character is searched twice
    was_quoted = False
    for begin, share in zip(range(0, size, step), cycle(_SHARES), strict=False):
        place = begin + int(step * share)
        if place < last:
            continue
        end = find(">", place)
        if end < 0:
            end = size
        start = rfind(">", last, place) + 1 or last
        is_quoted = _ends_in_value(html, start, end)
        if is_quoted and was_quoted:
            return True
        if end - start >= step and _is_suspicious(html, last, start, end, step):
            return True
        was_quoted = is_quoted
        last = end + 1
    return False


def _is_suspicious(html: str, last: int, start: int, end: int, step: int) -> bool:
    """Return whether a run of characters without ``>`` goes on with the tag of the run before, or is a long tag."""
    if start > last and _ends_in_value(html, html.rfind(">", last, start - 1) + 1 or last, start - 1):
        return True
    first = html.find("<", start, end - step)  # many times faster than the regular expression
    tag = _find_tag(html, first, end - step) if first >= 0 else None
    return tag is not None and _search_long_tag(html[tag.start() : end])


def _ends_in_value(html: str, start: int, end: int) -> bool:
    """Return whether the last ``"`` or ``'`` of a part of a page follows ``=``: a quoted value is not closed in it."""
    double, single = html.rfind('"', start, end), html.rfind("'", start, end)
    return (double > start and html[double - 1] in _BEFORE_VALUE and _is_opening(html, double, start)) or (
        single > start and html[single - 1] in _BEFORE_VALUE and _is_opening(html, single, start)
    )


def _is_opening(html: str, quote: int, start: int) -> bool:
    return html[start:quote].rstrip(_WHITE_SPACE).endswith("=")


def _without_tags(script: re.Match[str]) -> str:
    if not _search_long_tag(script[2]):
        return script[0]
    return script[1] + _tag_in_script.sub(" ", script[2])
