"""The texts for the user in another language: catalogues, and the language that a command speaks.

A catalogue is a JSON file with two tables, English to the other language. ``messages`` are texts that the code asks
for, with placeholders as ``{name}``. ``sentences`` are English texts that other parts of the package make (the reasons
of verdicts, notes, errors): they are recognised, and their variable parts are taken over. So the library is written
in one language, and an error has the same text in a log, in Python and in JSON. A text without a translation stays
English.
"""

from __future__ import annotations

import json
import re
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_placeholder = re.compile(r"\{(\w+)\}")
_NESTED = frozenset({"what", "why", "parts"})  #: placeholders whose values are sentences, or a list of them
#: Placeholders of numbers, such as "1,234" or "119 of 128"; any other may be any text.
_NUMBERS = frozenset({"n", "m", "all", "some", "kept", "dropped", "unchecked", "similarity"})
_NUMBER = r"[\d.,]+(?: of [\d.,]+)?"
_UNITS = ("bytes", "d", "h", "min", "s")


@dataclass(frozen=True)
class MessageTable:
    """The texts of a page in one language."""

    language: str = "en"  #: the attribute ``lang`` of the page
    messages: Mapping[str, str] = field(default_factory=dict)
    sentences: Mapping[str, str] = field(default_factory=dict)

    def text(self, message: str, **values: object) -> str:
        """Return a message with its values; in English if it has no translation.

        >>> MessageTable("zh-CN", {"{n} pages": "{n} 个页面"}).text("{n} pages", n=3)
        '3 个页面'
        """
        return _filled(self.messages.get(message, message), values)

    def sentence(self, text: str) -> str:
        """Return a sentence of the package in the language of the page, or as it is.

        >>> of = {"near-duplicate of {of}: {parts}": "与 {of} 近似重复：{parts}", "{x} alike": "相似度 {x}"}
        >>> MessageTable("zh-CN", {}, of).sentence("near-duplicate of https://a.example: 0.9 alike, odd")
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


ENGLISH = MessageTable()


@cache
def read_chinese(*catalogues: str) -> MessageTable:
    """Return the Chinese texts of catalogues, given by their paths in the package; a later one has precedence.

    >>> read_chinese("tools/report/web/zh.json").text("{n} pages", n=3)
    '3 个网页'
    """
    messages: dict[str, str] = {}
    sentences: dict[str, str] = {}
    for each in catalogues:
        found = json.loads(files("dedupcrawl").joinpath(each).read_text("utf-8"))
        messages |= found["messages"]
        sentences |= found["sentences"]
    return MessageTable("zh-CN", messages, sentences)


def _pattern_of(sentence: str) -> re.Pattern[str]:
    pieces = _placeholder.split(sentence)
    parts = (_group(piece) if at % 2 else re.escape(piece) for at, piece in enumerate(pieces))
    return re.compile("".join(parts), re.DOTALL)


def _group(name: str) -> str:
    return f"(?P<{name}>{_NUMBER if name in _NUMBERS else '.+?'})"


def _filled(text: str, values: Mapping[str, object]) -> str:
    return _placeholder.sub(lambda found: str(values.get(found[1], found[0])), text)


# -- the language of a command --------------------------------------------------------------------

_spoken: ContextVar[MessageTable] = ContextVar("spoken", default=ENGLISH)


def speak(table: MessageTable) -> None:
    """Choose the language of :func:`tr`, :func:`tr_sentence` and :func:`tr_amount` from now on."""
    _spoken.set(table)


def is_spoken_english() -> bool:
    """Whether texts are left as they are."""
    return _spoken.get() is ENGLISH


def tr(message: str, **values: object) -> str:
    """Return a message with its values in the language that was chosen (see :meth:`MessageTable.text`)."""
    return _spoken.get().text(message, **values)


def tr_sentence(text: str) -> str:
    """Return an English text of the package in the language that was chosen."""
    return _spoken.get().sentence(text)


def tr_amount(text: str) -> str:
    """Return a size or a duration with its units in the language that was chosen."""
    return _spoken.get().amount(text)


def mark(message: str) -> str:
    """Return a message as it is. It marks one in a table for the catalogue; :func:`tr` gets it later.

    >>> mark("pages")
    'pages'
    """
    return message
