"""The languages of the HTML pages: a catalogue of messages, and of the sentences that other code makes.

A catalogue is a JSON file ``web/<language>.json`` with two tables, English to the other language. ``messages`` are the
texts of templates and scripts, with placeholders as ``{name}``. ``sentences`` are texts that come in English from the
package (why a page is a duplicate, what a note says): they are recognised, and their variable parts are taken over. A
sentence without a translation stays English. ``web/base.js`` does the same in the browser.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_PACKAGE = "dedupcrawl.tools.report"
_placeholder = re.compile(r"\{(\w+)\}")
_NESTED = frozenset({"what", "why", "parts"})  #: placeholders whose values are sentences, or a list of them
#: Placeholders of numbers, such as "1,234" or "119 of 128"; any other may be any text.
_NUMBERS = frozenset({"n", "m", "all", "some", "kept", "dropped", "unchecked", "similarity"})
_NUMBER = r"[\d.,]+(?: of [\d.,]+)?"
_UNITS = ("bytes", "d", "h", "min", "s")


class PageLanguage(StrEnum):
    """The language of an HTML page."""

    AUTO = "auto"  #: that of the browser: Chinese if it asks for Chinese first, else English
    EN = "en"
    ZH = "zh"


@dataclass(frozen=True)
class Messages:
    """The texts of a page in one language."""

    language: str = "en"  #: the attribute ``lang`` of the page
    messages: Mapping[str, str] = field(default_factory=dict)
    sentences: Mapping[str, str] = field(default_factory=dict)

    def text(self, message: str, **values: object) -> str:
        """Return a message with its values; in English if it has no translation.

        >>> Messages("zh-CN", {"{n} pages": "{n} 个页面"}).text("{n} pages", n=3)
        '3 个页面'
        """
        return _filled(self.messages.get(message, message), values)

    def sentence(self, text: str) -> str:
        """Return a sentence of the package in the language of the page, or as it is.

        >>> of = {"near-duplicate of {of}: {parts}": "与 {of} 近似重复：{parts}", "{x} alike": "相似度 {x}"}
        >>> Messages("zh-CN", {}, of).sentence("near-duplicate of https://a.example: 0.9 alike, odd")
        '与 https://a.example 近似重复：相似度 0.9，odd'
        """
        if text in self.sentences:
            return self.sentences[text]
        for pattern, translation in self._patterns:
            if found := pattern.fullmatch(text):
                return _filled(translation, {name: self._part(name, part) for name, part in found.groupdict().items()})
        return text

    def amount(self, text: str) -> str:
        """Return a size or a duration with its units in the language of the page ("2 h 1 min")."""
        return " ".join(self.messages.get(word, word) if word in _UNITS else word for word in text.split(" "))

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """The sentences with placeholders, those with most words of their own first."""
        variable = [each for each in self.sentences.items() if _placeholder.search(each[0])]
        variable.sort(key=lambda each: -len(_placeholder.sub("", each[0])))
        return [(_pattern_of(english), translation) for english, translation in variable]

    def _part(self, name: str, text: str) -> str:
        if name == "parts":
            return "，".join(map(self.sentence, text.split(", ")))
        if name in _NUMBERS:
            return text.replace(" of ", "/")
        return self.sentence(text) if name in _NESTED else text


ENGLISH = Messages()


@cache
def chinese(package: str = _PACKAGE) -> Messages:
    """Return the Chinese messages of a package, and those that all pages share."""
    messages: dict[str, str] = {}
    sentences: dict[str, str] = {}
    for each in dict.fromkeys((_PACKAGE, package)):
        found = json.loads((files(each) / "web" / "zh.json").read_text("utf-8"))
        messages |= found["messages"]
        sentences |= found["sentences"]
    return Messages("zh-CN", messages, sentences)


def page_languages(language: PageLanguage, package: str = _PACKAGE) -> tuple[Messages, ...]:
    """Return the languages in which a page is made; the browser shows the first, or the one that it asks for."""
    made = {PageLanguage.EN: (ENGLISH,), PageLanguage.ZH: (chinese(package),)}
    return made.get(language, (ENGLISH, chinese(package)))


def _pattern_of(sentence: str) -> re.Pattern[str]:
    pieces = _placeholder.split(sentence)
    parts = (_group(piece) if at % 2 else re.escape(piece) for at, piece in enumerate(pieces))
    return re.compile("".join(parts), re.DOTALL)


def _group(name: str) -> str:
    return f"(?P<{name}>{_NUMBER if name in _NUMBERS else '.+?'})"


def _filled(text: str, values: Mapping[str, object]) -> str:
    return _placeholder.sub(lambda found: str(values.get(found[1], found[0])), text)
