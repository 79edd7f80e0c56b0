"""Refuse tags with so many attributes that parsing them takes quadratic time.

libxml2 compares each attribute of a tag with those before it: 40,000 attributes take seconds, and a page of
10 MB with a single tag takes hours. A parser in C cannot be interrupted, so such tags are found before.

Which ``<`` begins a tag depends on the state of the tokenizer (in a script, a comment, a quoted value…). The
search does not follow that state. It tries every ``<`` before a letter, and so finds each tag of the page
whatever tokenizer the parser has. In scripts it also finds what is no tag (``i<n; i++``). If something was found, it
is repeated with these ``<`` removed from scripts, and the page is parsed without them as well.
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
_tags_in_script = re.compile(r"<(?!script)(?=[a-z])", re.IGNORECASE)


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
    """Return whether more than ``MAX_ATTRIBUTES`` attributes follow a ``<`` and a letter anywhere in the text."""
    passed = _start_without_flood(html)
    return passed is None or passed.end() < len(html)


def _without_tags(script: re.Match[str]) -> str:
    return script[1] + _tags_in_script.sub(" ", script[2])
