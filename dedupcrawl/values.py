"""The values of a page, which are the numbers in its main text and beside it, and its short facts in words.

Sizes, dates and prices tell pages with nearly the same text apart. A date, a price and a measure with its unit are each
one *strong* value; other numbers are weak. Numbers that count readers, such as "12 comments" or "阅读 3051", or tell a
time that passes ("3 hours ago") say nothing about a page: they are no values.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dedupcrawl.page.flatten import word_set
from dedupcrawl.text.kernel import number_places

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupcrawl.page.model import Page

MAX_NUMBERS = 128  #: numbers of a text that can be values
MAX_FACTS = 4096  #: numbers of a text whose surroundings are cut out for its facts
NEIGHBOURS = 8  #: bytes before and after a number that belong to the facts: the unit, the currency, the month
MAX_SHORT = 40  #: characters of a short fact
MAX_SHORTS = 254  #: short facts of a page that are counted

_ZERO = np.uint8(48)
_GAP = np.zeros(256, np.int64)  #: how many of a byte join two digits to one number: 3.5, 1,200, 2024-05-03, 10x20
_GAP[[*b".,:/x'-"]] = 1
_JOINS = _GAP.astype(np.uint8).tobytes()
_WORD_END = r"(?![a-z0-9\x80-\xff])"


def _alternatives(words: Iterable[str]) -> str:
    """Return a pattern for bytes; longer words first, so that a word is preferred to its beginning."""
    return "|".join(re.escape(each) for each in sorted({*words}, key=lambda each: (-len(each), each)))


def _pattern(text: str) -> bytes:
    """Return a pattern for texts in UTF-8."""
    return text.encode().replace(rb"\x80-\xff", b"\x80-\xff")


# -- counters -----------------------------------------------------------------------------------

#: Words after a number that counts readers, with the beginnings of their other forms.
_COUNTED = (
    # English
    *word_set("comment comments reply replies view views reader readers read reads like likes share shares vote votes"),
    *word_set("visit visits visitor visitors download downloads follower followers hit hits"),
    # German, Dutch, Swedish
    *word_set("kommentar kommentare kommentaren antworten aufrufe leser lesern mal+gelesen besucher abonnenten"),
    *word_set("mal+geteilt mal+aufgerufen stimmen reacties reactie weergaven lezers keer+bekeken keer+gelezen"),
    *word_set("kommentarer visningar läsare delningar gilla-markeringar personer+gillar"),
    # French, Spanish, Italian, Portuguese
    *word_set("commentaire commentaires réponses vue vues lectures lecteurs partages visites visiteurs abonnés"),
    *word_set("téléchargements j'aime comentario comentarios respuestas visita visitas vistas lecturas lectores"),
    *word_set("me+gusta compartidos veces descargas seguidores votos commento commenti risposte visualizzazioni"),
    *word_set("letture lettori mi+piace condivisioni comentário comentários respostas visualizações leituras"),
    *word_set("leitores curtidas compartilhamentos gostos visualização"),
    # Polish, Russian
    *word_set("komentarz komentarze komentarzy odpowiedzi wyświetleń wyświetlenia odsłon czytelników polubień"),
    *word_set("udostępnień комментарий комментария комментариев комментарии просмотр просмотра просмотров"),
    *word_set("ответа ответов читателей читателя лайк лайка лайков голосов скачиваний посетителей репостов"),
)
#: The same in languages without spaces: no word end is looked for.
_COUNTED_UNSPACED = (
    *word_set(
        "▲ ▼ 人看 人浏览 人瀏覽 人阅读 人閱讀 人评论 人評論 人点 人點 条评论 條評論 条回复 條回覆 评论 評論 点赞 點讚"
    ),
    *(often + what for often in ("次", "") for what in word_set("阅读 閱讀 浏览 瀏覽 点击 點擊 播放 下载 下載")),
    *word_set(
        "分钟前 分鐘前 小时前 小時前 天前 分前 時間前 日前 件のコメント 件の返信 回閲覧 回視聴 回再生 いいね ビュー"
    ),
    *word_set("人が閲覧 件のいいね シェア"),
)
#: Words of a passing time, after a number, and what stands before the number then or after the word.
_PASSING = word_set(
    "min mins minute minutes hour hours day days minuten stunde stunden tag tagen heure heures jour jours "
    "minutos hora horas día días dias minuti ora ore giorno giorni минут минуты минуту час часа часов "
    "день дня дней uur dagen minut godzin godzinę godziny dni minuter timmar timme dagar"
)
_AGO = word_set("ago fa atrás назад geleden temu sedan")
_SINCE = tuple(each.encode() for each in ("vor", "il y a", "hace", "há"))

_is_counted = re.compile(
    _pattern(
        rf"(?: of [0-9]{{1,9}})?(?:[ +k)]|万|萬){{0,3}}(?:"
        rf"(?:{_alternatives(each.replace('+', ' ') for each in _COUNTED)}){_WORD_END}"
        r"|(?:people|persons?|users?|readers?|customers?|members?) (?:found|like|watch|view|online|read|have\b|has\b)"
        r"|found (?:this|it) "
        rf"|(?:{_alternatives(_PASSING)}) (?:{_alternatives(_AGO)}){_WORD_END}"
        rf"|{_alternatives(_COUNTED_UNSPACED)})"
    )
).match
_is_passing = re.compile(_pattern(rf" (?:{_alternatives(_PASSING)}){_WORD_END}")).match
_SEPARATORS = " +k)"  #: up to three of them between a number and a word that counts
_OTHER_COUNTED = ("people", "person", "user", "customer", "member", "found", " of", "万", "萬")  #: of ``_is_counted``
#: Words before a number that count readers, and arrows of tickers; "read 12 times", "visto 12 veces".
_COUNTING = tuple(
    each.encode()
    for each in (
        *word_set("comments replies views reads readers likes shares votes visits visitors"),
        *word_set("downloads hits users followers read viewed shared visited downloaded played"),
        *word_set("kommentare antworten aufrufe leser besucher reacties weergaven kommentarer visningar"),
        *word_set("commentaires réponses vues lectures lecteurs partages visites comentarios respuestas visitas"),
        *word_set("lecturas visto leído commenti risposte visualizzazioni letture comentários respostas"),
        *word_set("visualizações leituras komentarze odpowiedzi wyświetleń wyświetlenia odsłony"),
        *word_set("комментарии комментариев комментарий просмотры просмотров просмотрели ответов ответы лайков"),
        *word_set("прочитали читателей"),
        *word_set("▲ ▼ 阅读 閱讀 阅读数 阅读量 閱讀量 浏览 瀏覽 浏览量 浏览数 点击 點擊 点击量 评论 評論 评论数"),
        *word_set(
            "回复 回覆 点赞 點讚 转发 轉發 收藏 人气 人氣 コメント コメント数 閲覧数 再生回数 視聴回数 いいね 返信"
        ),
    )
)
_COLON, _BRACKET = "：".encode(), "（".encode()  #: text beside the main text is not normalised
_BETWEEN = " :("  #: between these words and a number

# -- dates, prices, measures --------------------------------------------------------------------

#: Names of months, and their abbreviations.
_MONTHS = (
    # English, German, Dutch, Swedish
    *word_set("january february march april may june july august september october november december"),
    *word_set("jan feb mar apr jun jul aug sep sept oct nov dec januar jänner februar märz mai juni juli oktober"),
    *word_set("dezember mär okt dez januari februari maart mei augustus mrt mars maj augusti"),
    # French, Spanish, Italian, Portuguese
    *word_set("janvier février fevrier avril juin juillet août aout septembre octobre novembre décembre decembre"),
    *word_set("janv févr avr juil déc enero febrero marzo abril mayo junio julio agosto septiembre setiembre"),
    *word_set("octubre noviembre diciembre ene abr ago dic gennaio febbraio aprile maggio giugno luglio settembre"),
    *word_set("ottobre dicembre gen mag giu lug set ott janeiro fevereiro março maio junho julho setembro outubro"),
    *word_set("novembro dezembro fev out"),
    # Polish, Russian
    *word_set("stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia"),
    *word_set("января февраля марта апреля мая июня июля августа сентября октября ноября декабря"),
)
_month = _alternatives(_MONTHS)
_day_first = re.compile(
    _pattern(
        rf"[0-9]{{1,2}}(?:st|nd|rd|th|er|º)?\.?(?: (?:of|de|di))? (?:{_month}){_WORD_END}\.?"
        r"(?:,? (?:of |de |del )?[0-9]{4}(?![0-9]))?"
        r"|(?:[0-9]{4}年 ?)?[0-9]{1,2}月(?: ?[0-9]{1,2}(?:日|号|號))?"
    )
).match
_month_before = re.compile(_pattern(rf"(?:^|[^a-z\x80-\xff])((?:{_month})\.? )$")).search
_rest_of_date = re.compile(rb"(?:[0-9]{1,2}(?:st|nd|rd|th)?(?:,? [0-9]{4}(?![0-9]))?|[0-9]{4})(?![0-9])").match
_is_numeric_date = re.compile(
    rb"[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}|[0-9]{1,2}([-/.])[0-9]{1,2}\2(?:[0-9]{2}|[0-9]{4})"
).fullmatch
#: Before a date: the page was changed then. Such a date, and the hour after it, are no values.
_CHANGED = word_set(
    "updated modified last+reviewed last+edited last+checked aktualisiert zuletzt+geändert mis+à+jour mise+à+jour "
    "modifié actualizado modificado atualizado aggiornato modificato bijgewerkt zaktualizowano uppdaterad обновлено "
    "изменено 更新 編集日"
)
#: Before a date: the page was published then. Such a date is not strong: a copy may be published again.
_PUBLISHED = word_set(
    "published posted created stand erstellt veröffentlicht publié publicado pubblicato gepubliceerd opublikowano "
    "publicerad опубликовано 发布 發布 发表 發表 公開日"
)
#: Up to the date stands little more than a preposition and a day of the week: "updated: on Monday, 3 May".
_is_change, _is_published = (
    re.compile(_pattern(rf"(?:{_alternatives(each.replace('+', ' ') for each in words)})[^.;!?0-9]{{0,16}}$")).search
    for words in (_CHANGED, _PUBLISHED)
)
_hour_after = re.compile(
    "(?:,|\\.|;)? ?(?:at |um |à |a las |alle |klo |kl |kl. )?[0-9]{1,2}[:.][0-9]{2}(?::[0-9]{2})?".encode()
).match
_STAMP_REACH = 40  #: bytes before a date in which these words are looked for

_UNITS = (
    *word_set("mm cm dm m km ft yd inch inches foot feet mile miles mi m2 m3 cm2 cm3 km2 sqm qm ha"),
    *word_set("mg g kg t oz lb lbs ml cl dl l gal litre litres liter liters gram grams grammes gramm"),
    *word_set("v mv kv w kw mw kwh wh va mah ah hz khz mhz ghz kb mb gb tb kib mib gib bar psi pa hpa kpa mpa"),
    *word_set("nm rpm hp ps db lm lux mol mmol px pt dpi °c °f ° %"),
)
_CURRENCIES_AFTER = word_set(
    "€ $ £ ¥ ₽ zł kr eur euro euros usd gbp chf dollar dollars pounds cents yuan yen rmb cny jpy руб рублей ₩ ₹"
)
#: No word end is looked for after them.
_UNITS_UNSPACED = word_set(
    "元 円 圆 圓 块 毫米 厘米 公分 米 公里 平方米 平米 ㎡ 克 千克 公斤 斤 吨 毫升 升 度 ℃ 亩 公顷 万元 亿元 원"
)
_is_measured = re.compile(
    _pattern(
        rf" ?(?:(?:{_alternatives((*_UNITS, *_CURRENCIES_AFTER))}){_WORD_END}|(?:{_alternatives(_UNITS_UNSPACED)}))"
    )
).match
_is_price = re.compile(_pattern(r"(?:^|[^a-z])((?:us\$|usd|eur|gbp|chf|rmb|cny|\$|€|£|¥|￥|₹|₩) ?)$")).search
_CURRENCY_WORDS = ("usd", "eur", "gbp", "chf", "rmb", "cny")
_CURRENCY_LAST = frozenset(each.encode()[-1] for each in "$€£¥￥₹₩")

_EDGE = b"    "
_ENDING = tuple(bytes((each,)) for each in b" ,.;:()[]/-+*|\"'\xe2\xc2\xef\xe3")
_SHORTEST_DATE = 5  #: bytes; a date of numbers has more
_ANY = tuple(bytes((each,)) for each in range(256))


def _encoded(characters: str) -> list[bytes]:
    return [each.encode() for each in characters]


@cache
def _beyond(word: bytes, size: int) -> tuple[bytes, ...]:
    """Return what may stand next to a word that has fewer bytes than are looked at."""
    if len(word) >= size:
        return (b"",)
    return _ENDING if word.isalpha() else _ANY


def _begin(words: Iterable[bytes], separators: Iterable[bytes]) -> frozenset[bytes]:
    """Return all four bytes with which words begin, each after none, one or more of some separators."""
    found = {(each + last)[:4] for each in words for last in _beyond(each, 4)}
    for _ in range(3):
        found |= {(separator + each)[:4] for separator in separators for each in found}
    return frozenset(found)


def _begin_units() -> frozenset[bytes]:
    """Return all three bytes with which units begin, after a space or none."""
    found: set[bytes] = set()
    ends = _encoded(" ,.;:)/")
    for unit in map(str.encode, (*_UNITS, *_CURRENCIES_AFTER, *_UNITS_UNSPACED)):
        for shown in (b" " + unit, unit):
            ended = [shown] if len(shown) >= 3 else [shown + end for end in ends]
            found |= {(each + last)[:3] for each in ended for last in _beyond(each, 3)}
    return frozenset(found)


def _end(words: Iterable[str], separators: str) -> frozenset[bytes]:
    """Return all four bytes with which words end that stand before a number."""
    turned = _begin((each.encode()[::-1] for each in words), [each.encode()[::-1] for each in separators])
    return frozenset(each[::-1] for each in turned)


class _Hints(NamedTuple):
    """The bytes beside a number that rule out for most numbers that a counter, a date or a unit stands there.

    Those before a number and after it have four bytes, those of units three. Regular expressions take ten times as
    long.
    """

    counted: frozenset[bytes]  #: after a number that may count readers
    counting: frozenset[bytes]  #: before one
    dated: frozenset[bytes]  #: after a number that may begin a date
    months: frozenset[bytes]  #: before a number that may follow a month
    currencies: frozenset[bytes]  #: before a number that may be a price
    units: frozenset[bytes]  #: after a number that may be a measure
    after: frozenset[bytes]  #: ``counted`` and ``dated``
    before: frozenset[bytes]  #: ``counting``, ``months`` and ``currencies``


@cache  # made for the first page: it takes 20 ms, which commands without pages save
def _hints() -> _Hints:
    spaced = [each.replace("+", " ") for each in _COUNTED]
    counted = _begin(map(str.encode, (*spaced, *_COUNTED_UNSPACED, *_PASSING, *_OTHER_COUNTED)), _encoded(_SEPARATORS))
    counting = _end((each.decode() for each in _COUNTING), _BETWEEN + "：（") | _end(
        (each.decode() for each in _SINCE), " "
    )
    days = ("月", "年", "st ", "nd ", "rd ", "th ", "er ", "º ")
    dated = _begin(map(str.encode, (*_MONTHS, *days)), [b" ", b". "]) | {b" de ", b" of ", b" di "}
    months = _end(_MONTHS, " .")
    currencies = _end((*_CURRENCY_WORDS, "us$"), " ") | frozenset(
        last + sign + b" " for sign in _encoded("€£¥￥₹₩") for last in (*_ANY, b"")
    )
    return _Hints(
        counted, counting, dated, months, currencies, _begin_units(), counted | dated, counting | months | currencies
    )


_REACH = 24  #: bytes before a number in which words are looked for

_HAN_START = "\u4e00".encode()[:2]  #: the first bytes of 一, 七, 三, 不, 与…: every Chinese text has some
_han_numbers = re.compile("[〇零一二三四五六七八九十百千万萬亿億两兩半]+.?", re.DOTALL).findall


# -- what is found ------------------------------------------------------------------------------

_is_of_view = re.compile("print|druck|imprim|stampa|печат|打印|列印|印刷|인쇄", re.IGNORECASE).search
_no_letters = re.compile(r"[\W\d_]+").sub
_has_digit = re.compile(r"\d").search


class Values(NamedTuple):
    """The values of a page, with whether each is strong, and its facts."""

    inner: dict[bytes, bool]  #: in the main text
    outer: dict[bytes, bool]  #: beside it only
    facts: bytes  #: all numbers of the main text in order, counters excepted, each with its neighbours


def values_of(text: bytes) -> dict[bytes, bool]:
    """Return the values in a folded text, and whether each is strong: a date, a price, or a measure with its unit.

    The first ``MAX_NUMBERS`` numbers are read, and those that count readers left out.

    >>> sorted(values_of(b"bolt 3.5 x 20 mm, 4 packs. comments (12)").items())
    [(b'20 mm', True), (b'3.5', False), (b'4', False)]
    """
    both = b"".join((_EDGE, text, _EDGE))
    return _values_at(both, *_number_places(both))


def page_values(page: Page, text: bytes, *, beside: bool = True) -> Values:
    """Return the values of a page.

    Args:
        page: the page.
        text: its normalised text in UTF-8.
        beside: whether to look for values beside the main text.
    """
    # Before the first number and after the last one too, some bytes can be looked at.
    main = b"".join((_EDGE, text, _EDGE))
    starts, stops = _number_places(main)
    facts: list[bytes] = []
    inner = _values_at(main, starts, stops, facts)
    if not text.isascii() and _HAN_START in text:
        facts += map(str.encode, _han_numbers(text.decode("utf-8", "replace")))
    outer: dict[bytes, bool] = {}
    if beside and page.stated:
        # Only digits and letters of ASCII matter here: to fold the text would take longer than to search it.
        outer = values_of(page.stated.encode("utf-8", "surrogatepass").replace(b"\n", b"; ").lower())
        for value in outer.keys() & inner.keys():
            del outer[value]
    return Values(inner, outer, b"\n".join(facts))


def short_facts(page: Page) -> dict[bytes, bool]:
    r"""Return the short lines of a page, and whether each stands beside the main text.

    They are folded and without digits: numbers are values. Lines of a view ("printed from …") are no facts.

    >>> from dedupcrawl.page.model import Page
    >>> sorted(short_facts(Page(url="", text="Colour: Red", stated="Glaze\n20 mm\nPrice: 3.50")).items())
    [(b'colour red', False), (b'glaze', True), (b'mm', True), (b'price', True)]
    """
    found: dict[bytes, bool] = {}
    for is_beside, text in ((True, page.stated), (False, page.text)):
        for line in text.split("\n"):
            if len(line) <= MAX_SHORT and not _is_of_view(line):
                found[_plain(line)] = is_beside
    found.pop(b"", None)
    return found


def _plain(line: str) -> bytes:
    plain = _no_letters(" ", line).strip().casefold().encode("utf-8", "surrogatepass")
    is_dated = plain and not line.replace(" ", "").isalpha() and _has_digit(line)
    return b"" if is_dated and _is_change(plain) else plain


def _values_at(text: bytes, starts: list[int], stops: list[int], facts: list[bytes] | None = None) -> dict[bytes, bool]:
    values: dict[bytes, bool] = {}
    hints = _hints()
    done = count = 0
    last = len(_EDGE)
    for start, stop, following in zip(starts, stops, [*starts[1:], len(text)], strict=False):
        is_first = count < MAX_NUMBERS
        count += 1
        if count > (MAX_NUMBERS if facts is None else MAX_FACTS):
            if facts is not None:
                facts.append(text[start:])
            break
        before = text[start - 4 : start]
        is_special = (
            text[stop : stop + 4] in hints.after
            or before in hints.before
            or text[stop : stop + 3] in hints.units
            or before[3] in _CURRENCY_LAST
            or stop - start > _SHORTEST_DATE
        )
        if is_special and start >= done:
            if _is_counter(text, start, stop):
                last = stop
                continue
            value, end, is_strong = _long_value(text, start, stop) if is_first else _NO_VALUE
            done = end or done
            if value:
                values[value] = is_strong
        if is_first and start >= done:
            values.setdefault(text[start:stop], False)
        if facts is not None:
            facts.append(text[max(start - NEIGHBOURS, last) : min(stop + NEIGHBOURS, following)])
        last = stop
    return values


def _number_places(text: bytes) -> tuple[list[int], list[int]]:
    """Return where the numbers start and stop; a regular expression takes three times as long to find them."""
    return number_places(text, _JOINS) or _number_places_by_numpy(text)


def _number_places_by_numpy(text: bytes) -> tuple[list[int], list[int]]:
    points = np.frombuffer(text, np.uint8)
    digits = (points - _ZERO < 10).nonzero()[0]
    if not len(digits):
        return [], []
    # Between two digits of a number stands nothing, or one mark. The digits are followed by other bytes.
    after = digits + 1
    is_last = digits[1:] - after[:-1] > _GAP.take(points.take(after[:-1]))
    starts = [int(digits[0]), *digits[1:][is_last].tolist()]
    return starts, [*after[:-1][is_last].tolist(), int(after[-1])]


def _is_counter(text: bytes, start: int, stop: int) -> bool:
    """Return whether a number counts readers or tells a time that passes."""
    if text[stop : stop + 4] in _hints().counted and _is_counted(text, stop) is not None:
        return True
    if text[start - 4 : start] not in _hints().counting:
        return False
    before = text[max(0, start - _REACH) : start].rstrip(b" :(").removesuffix(_COLON).removesuffix(_BRACKET)
    return before.endswith(_COUNTING) or (before.endswith(_SINCE) and _is_passing(text, stop) is not None)


_NO_VALUE = (b"", 0, False)


def _long_value(text: bytes, start: int, stop: int) -> tuple[bytes, int, bool]:
    """Return the date, price or measure that a number is part of, where it ends, and whether it is strong.

    Of a date that says when the page was changed, only the end is returned: it is no value.
    """
    hints, after, before = _hints(), text[stop : stop + 4], text[start - 4 : start]
    month = date = None
    if before in hints.months:
        month = _month_before(text[max(0, start - _REACH) : start])
        date = _rest_of_date(text, start) if month else None
    if date is None and after in hints.dated:
        date = _day_first(text, start)
    if date or (stop - start > _SHORTEST_DATE and _is_numeric_date(text, start, stop)):
        end = date.end() if date else stop
        said = text[max(0, start - _STAMP_REACH) : start]
        if _is_change(said):
            hour = _hour_after(text, end)
            return b"", hour.end() if hour else end, False
        return (month[1] if month else b"") + text[start:end], end, not _is_published(said)
    measured = _is_measured(text, stop) if after[:3] in hints.units else None
    if measured:
        return text[start : measured.end()], measured.end(), True
    is_priced = before in hints.currencies or before[3] in _CURRENCY_LAST
    price = _is_price(text[max(0, start - _REACH) : start]) if is_priced else None
    return (price[1] + text[start:stop], stop, True) if price else _NO_VALUE
