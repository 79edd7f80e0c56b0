"""The values of a page, which are the numbers in its main text and beside it, and its short facts in words.

Sizes, dates and prices tell pages with nearly the same text apart. A date, a price and a measure with its unit are each
one *strong* value; other numbers are weak. A count of readers ("12 comments", "阅读 3051") or a relative time ("3 hours
ago") says nothing about a page: it is no value.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dedupcrawl.page.rules import word_set
from dedupcrawl.text.features import encode_normalized

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupcrawl.page.model import Page

MAX_NUMBERS = 128  #: numbers of a text that can be values
MAX_FACTS = 4096  #: numbers of a text whose surroundings are cut out for its facts
NEIGHBOURS = 8  #: bytes before and after a number that belong to the facts: the unit, the currency, the month
MAX_SHORT = 40  #: characters of a short fact
MAX_SHORTS = 254  #: short facts of a page that are counted
MAX_VALUE_BYTES = 32  #: bytes of a value that count

_SPACE = ord(" ")
_ZERO = np.uint8(48)
_GAP = np.zeros(256, np.int64)  #: how many of a byte join two digits to one number: 3.5, 1,200, 2024-05-03, 10x20
_GAP[[*b".,:/x'-"]] = 1
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
#: Words after a number that counts readers, in languages without spaces: no word end is looked for.
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
#: Words of a relative time after a number, and the words before that number or after that word.
_PASSING = word_set(
    "min mins minute minutes hour hours day days minuten stunde stunden tag tagen heure heures jour jours "
    "minutos hora horas día días dias minuti ora ore giorno giorni минут минуты минуту час часа часов "
    "день дня дней uur dagen minut godzin godzinę godziny dni minuter timmar timme dagar"
)
_AGO = word_set("ago fa atrás назад geleden temu sedan")
_SINCE = tuple(each.encode() for each in ("vor ", "il y a ", "hace ", "há "))
#: Readers, and what they do: "12 people found this helpful", "40 users online".
_READERS = word_set("people person persons user users reader readers customer customers member members")
_DOING, _HAVING = word_set("found like watch view online read"), word_set("have has")

is_counted = re.compile(
    _pattern(
        rf"(?: of [0-9]{{1,9}})?(?:[ +k)]|万|萬){{0,3}}(?:"
        rf"(?:{_alternatives(each.replace('+', ' ') for each in _COUNTED)}){_WORD_END}"
        rf"|(?:{_alternatives(_READERS)}) (?:{_alternatives(_DOING)}|(?:{_alternatives(_HAVING)}){_WORD_END})"
        r"|found (?:this|it) "
        rf"|(?:{_alternatives(_PASSING)}) (?:{_alternatives(_AGO)}){_WORD_END}"
        rf"|{_alternatives(_COUNTED_UNSPACED)})"
    )
).match
_is_passing = re.compile(_pattern(rf" (?:{_alternatives(_PASSING)}){_WORD_END}")).match
_SEPARATORS = " +k)"  #: up to three of them between a number and a word that counts
_OTHER_COUNTED = ("people", "person", "user", "customer", "member", "found", " of", "万", "萬")  #: of ``is_counted``
#: Words before a number that count readers, or name an edition, and arrows of tickers; "read 12 times", "version 2.1".
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
        *word_set("阅读次数 閱讀次數 浏览次数 瀏覽次數 点击次数 點擊次數 点击数 访问量 访问次数 阅读人数 热度"),
        *word_set("▲ ▼ 阅读 閱讀 阅读数 阅读量 閱讀量 浏览 瀏覽 浏览量 浏览数 点击 點擊 点击量 评论 評論 评论数"),
        *word_set(
            "回复 回覆 点赞 點讚 转发 轉發 收藏 人气 人氣 コメント コメント数 閲覧数 再生回数 視聴回数 いいね 返信"
        ),
        # The edition of a manual: most of its pages are the same in the next one.
        *word_set("version versión versão versione wersja версия версии 版本 版本号 バージョン"),
    )
)
_BETWEEN, _MAX_BETWEEN = " :(", 3  #: stand between these words and a number, so many at most
_BETWEEN_BYTES = frozenset(bytes((each,)) for each in _BETWEEN.encode())

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
_month_before = re.compile(_pattern(rf"(?:^|[^a-z\x80-\xff])((?:{_month})\.? )\Z")).search
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
    re.compile(_pattern(rf"(?:{_alternatives(each.replace('+', ' ') for each in words)})[^.;!?0-9\0]{{0,16}}\Z")).search
    for words in (_CHANGED, _PUBLISHED)
)
_hour_after = re.compile(
    "(?:,|\\.|;)? ?(?:at |um |à |a las |alle |klo |kl |kl\\. )?[0-9]{1,2}[:.][0-9]{2}(?::[0-9]{2})?".encode()
).match
_STAMP_REACH = 40  #: bytes before a date in which these words are looked for

_UNITS = (
    *word_set("mm cm dm m km ft yd inch inches foot feet mile miles mi m2 m3 cm2 cm3 km2 sqm qm ha"),
    *word_set("mg g kg t oz lb lbs ml cl dl l gal litre litres liter liters gram grams grammes gramm"),
    *word_set("v mv kv w kw mw kwh wh va mah ah hz khz mhz ghz kb mb gb tb kib mib gib bar psi pa hpa kpa mpa"),
    *word_set("nm rpm hp ps db lm lux mol mmol px pt dpi am pm °c °f ° %"),
    *word_set("км м см мм кг г л мл вт квт كيلومتر كم متر سم كغ غرام لتر کیلومتر گرم ק״מ מטר ס״מ מ״ר ק״ג גרם"),
)
_CURRENCIES_AFTER = word_set(
    "€ $ £ ¥ ₽ zł kr eur euro euros usd gbp chf dollar dollars pounds cents yuan yen rmb cny jpy руб рублей ₩ ₹ "
    "kč ₺ lei دينار درهم ريال جنيه ليرة تومان ₪ שקל"
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
_CURRENCY_WORDS, _CURRENCY_SIGNS = ("usd", "eur", "gbp", "chf", "rmb", "cny"), "$€£¥￥₹₩"
_CURRENCIES_BEFORE = (*_CURRENCY_WORDS, "us$", *_CURRENCY_SIGNS)
_is_price = re.compile(_pattern(rf"(?:^|[^a-z])((?:{_alternatives(_CURRENCIES_BEFORE)}) ?)\Z")).search
_CURRENCY_LAST = frozenset(each.encode()[-1] for each in _CURRENCY_SIGNS)

_EDGE = b"    "
_SHORTEST_DATE = 5  #: bytes; a date of numbers has more
_ANY = tuple(bytes((each,)) for each in range(256))
_NO_LETTER = tuple(each for each in _ANY if not b"a" <= each <= b"z")  #: what may stand beside a word of ASCII letters


def _encoded(words: Iterable[str]) -> list[bytes]:
    return [each.encode() for each in words]


def _longer(word: bytes, size: int) -> Iterable[bytes]:
    """Return a word that has fewer bytes than are looked at, with any byte that may follow; else the word itself."""
    if len(word) >= size:
        return (word,)
    return (word + last for last in (_NO_LETTER if word.isalpha() else _ANY))


def _begin(words: Iterable[bytes], separators: Iterable[bytes]) -> frozenset[bytes]:
    """Return the first four bytes of the words, each after none, one or more of some separators."""
    found = {longer[:4] for each in words for longer in _longer(each, 4)}
    for _ in range(3):
        found |= {(separator + each)[:4] for separator in separators for each in found}
    return frozenset(found)


def _begin_units() -> frozenset[bytes]:
    """Return the first two bytes of the units."""
    units = _encoded((*_UNITS, *_CURRENCIES_AFTER, *_UNITS_UNSPACED))
    return frozenset(longer[:2] for each in units for longer in _longer(each, 2))


def _end(words: Iterable[str], separators: str) -> frozenset[bytes]:
    """Return the last four bytes of the words that stand before a number."""
    turned = _begin((each.encode()[::-1] for each in words), [each.encode()[::-1] for each in separators])
    return frozenset(each[::-1] for each in turned)


class _HintTables(NamedTuple):
    """The bytes beside a number: for most numbers they rule out a counter, a date and a unit.

    Those before a number and after it have four bytes, those of units two. Regular expressions take ten times as long.
    """

    counted: frozenset[bytes]  #: after a number that may count readers
    counting: frozenset[bytes]  #: before one
    dated: frozenset[bytes]  #: after a number that may begin a date
    months: frozenset[bytes]  #: before a number that may follow a month
    currencies: frozenset[bytes]  #: before a number that may be a price in a currency with letters
    units: frozenset[bytes]  #: after a number, and a space or none, that may be a measure
    after: frozenset[bytes]  #: ``counted`` and ``dated``
    before: frozenset[bytes]  #: ``counting``, ``months`` and ``currencies``


@cache  # made for the first page: it takes 20 ms, which commands without pages save
def _hints() -> _HintTables:
    words = (*_spaced(_COUNTED), *_COUNTED_UNSPACED, *_PASSING, *_OTHER_COUNTED)
    counted = _begin(_encoded(words), _encoded(_SEPARATORS))
    counting = _end((each.decode() for each in _COUNTING), _BETWEEN) | _end((each.decode() for each in _SINCE), "")
    ordinals = [each + end for each in ("st", "nd", "rd", "th", "er", "º") for end in " ."]
    dated = _begin(_encoded((*_MONTHS, "月", "年", "of ", "de ", "di ", *ordinals)), _encoded(" ."))
    months = _end(_MONTHS, " .")
    currencies = _end((*_CURRENCY_WORDS, "us$"), " ")
    return _HintTables(
        counted, counting, dated, months, currencies, _begin_units(), counted | dated, counting | months | currencies
    )


_LINE, _PART = "\0", "\1"  #: separators of text; normalisation leaves them, and no parsed page has them
_NO_VALUE = (b"", 0, False)
_REACH = 40  #: bytes before a number in which words are looked for
_PRICE_REACH = 8  #: a currency has at most three bytes, with a space after it, and another byte before it

_HAN_START = "\u4e00".encode()[:2]  #: the first bytes of 一, 七, 三, 不, 与…: every Chinese text has some
_ENCODING = ("utf-8", "surrogatepass")
HAN_NUMERALS = "〇零一二三四五六七八九十百千万萬亿億两兩半"
#: With the character after them.
_han_numbers = re.compile(f"[{HAN_NUMERALS}]+.?", re.DOTALL).findall


# -- what is found ------------------------------------------------------------------------------

#: Beginnings of words in lines that only a view has: "printed from", in the languages of consent texts.
VIEW_PARTS = word_set("""
    print druck gedruckt ausgedruckt imprim impreso impresso stampa печат распечат отпечат роздрук друк wydruk afgedrukt
    geprint udskr utskr tulostettu vytišt vytlač nyomtat tipărit yazdır natisnjen ispisano otisnut atspausd izdruk
    prindi trükitud prentað εκτυπ εκτύπ طبع چاپ הודפס 打印 列印 印刷 인쇄
""")
_is_of_view = re.compile(_alternatives(VIEW_PARTS)).search
_no_letters = re.compile(r"[\W\d_]+").sub
_has_digit = re.compile(r"\d").search


class Values(NamedTuple):
    """The values of a page, with whether each is strong, and its facts."""

    inner: dict[bytes, bool]  #: in the main text
    outer: dict[bytes, bool]  #: beside it only
    facts: bytes  #: all numbers of the main text in order, counters excepted, each with its neighbours


def page_values(text: bytes, beside: bytes = b"") -> Values:
    """Return the values of a page.

    Args:
        text: its normalised text in UTF-8, see :attr:`dedupcrawl.text.features.Features.encoded`.
        beside: the text beside it, see :func:`other_text`.
    """
    facts: list[bytes] = []
    inner = values_of(text, facts)
    if not text.isascii() and _HAN_START in text:
        facts += [each.encode(*_ENCODING) for each in _han_numbers(text.decode(*_ENCODING))]
    outer = values_of(beside) if beside else {}
    for value in outer.keys() & inner.keys():
        del outer[value]
    return Values(inner, outer, b"\n".join(facts))


class OtherText(NamedTuple):
    """Parts of the text of a page, normalised, in UTF-8. NUL separates the lines."""

    beside: bytes  #: what the page states beside its main text
    lines: bytes  #: the short lines of the main text


def other_text(page: Page) -> OtherText:
    r"""Return the text beside the main text, and the lines that may be short facts.

    >>> from dedupcrawl.page.model import Page
    >>> other_text(Page(url="", text="Colour: Red", stated="Glaze\n20 mm"))
    OtherText(beside=b'glaze\x0020 mm', lines=b'colour: red')
    """
    short = [line for line in page.text.split("\n") if len(line) <= MAX_SHORT]
    text = encode_normalized(_PART.join((page.stated, "\n".join(short))).replace("\n", _LINE))
    beside, _, lines = text.partition(_PART.encode())
    return OtherText(beside, lines)


def short_facts(beside: bytes, lines: bytes) -> dict[bytes, bool]:
    r"""Return the short lines of a page, and whether each stands beside the main text.

    They are without digits: numbers are values. Lines of a view ("printed from …") are no facts.

    Args:
        beside: the text beside the main text, see :func:`other_text`.
        lines: the short lines of the main text.

    >>> sorted(short_facts(b"glaze\x0020 mm\x00price: 3.50", b"colour: red").items())
    [(b'colour red', False), (b'glaze', True), (b'mm', True), (b'price', True)]
    """
    found: dict[bytes, bool] = {}
    for is_beside, text in ((True, beside), (False, lines)):
        for line in text.decode("utf-8", "surrogatepass").split(_LINE):
            if len(line) <= MAX_SHORT and not _is_of_view(line):
                found[_plain(line)] = is_beside
    found.pop(b"", None)
    return found


def _plain(line: str) -> bytes:
    plain = _no_letters(" ", line).strip().encode("utf-8", "surrogatepass")
    return b"" if _has_digit(line) and _is_change(plain) else plain


def values_of(text: bytes, facts: list[bytes] | None = None) -> dict[bytes, bool]:
    """Return the values in a folded text, and whether each is strong: a date, a price, or a measure with its unit.

    The first ``MAX_NUMBERS`` numbers are read, and those that count readers left out. A value is cut after
    ``MAX_VALUE_BYTES``.

    Args:
        text: in UTF-8.
        facts: all numbers, counters excepted, each with its neighbours, are appended to it.

    >>> sorted(values_of(b"bolt 3.5 x 20 mm, 4 packs. comments (12)").items())
    [(b'20 mm', True), (b'3.5', False), (b'4', False)]
    """
    text = b"".join((_EDGE, text, _EDGE))  # before the first number and after the last one too, bytes are looked at
    starts, stops = number_places(text)
    values: dict[bytes, bool] = {}
    hints = _hints()
    counted, counting, maybe_after, maybe_before, maybe_units = *hints[:2], hints.after, hints.before, hints.units
    done = count = 0
    last, end_of_text = len(_EDGE), len(text) - len(_EDGE)
    for start, stop, following in zip(starts, stops, [*starts[1:], end_of_text], strict=False):
        is_first = count < MAX_NUMBERS
        count += 1
        if count > (MAX_NUMBERS if facts is None else MAX_FACTS):
            if facts is not None:
                facts.append(text[start:end_of_text])
            break
        before, after = text[start - 4 : start], text[stop : stop + 4]
        is_special = (
            after in maybe_after
            or before in maybe_before
            or (after[1:3] if after[0] == _SPACE else after[:2]) in maybe_units
            or before[2 if before[3] == _SPACE else 3] in _CURRENCY_LAST
            or stop - start > _SHORTEST_DATE
        )
        if is_special and start >= done:
            if (after in counted or before in counting) and _is_counter(text, start, stop):
                last = stop
                continue
            value, end, is_strong = _long_value(text, start, stop) if is_first else _NO_VALUE
            done = end or done
            if value:
                values[value[:MAX_VALUE_BYTES]] = is_strong
        if is_first and start >= done:
            values.setdefault(text[start:stop][:MAX_VALUE_BYTES], False)
        if facts is not None:
            begin, end = start - NEIGHBOURS, stop + NEIGHBOURS
            # "max" and "min" would take as long as the rest.
            facts.append(text[begin if begin > last else last : end if end < following else following])  # noqa: FURB136
        last = stop
    return values


def number_places(text: bytes) -> tuple[list[int], list[int]]:
    """Return where the numbers start and stop; a regular expression takes three times as long to find them."""
    points = np.frombuffer(text, np.uint8)
    digits = (points - _ZERO < 10).nonzero()[0]
    if not len(digits):
        return [], []
    # Between two digits of a number there is nothing, or one mark. The digits are followed by other bytes.
    after = digits + 1
    is_last = digits[1:] - after[:-1] > _GAP.take(points.take(after[:-1]))
    starts = [int(digits[0]), *digits[1:][is_last].tolist()]
    return starts, [*after[:-1][is_last].tolist(), int(after[-1])]


def _is_counter(text: bytes, start: int, stop: int) -> bool:
    """Return whether a number counts readers or belongs to a relative time."""
    if text[stop : stop + 4] in _hints().counted and is_counted(text, stop) is not None:
        return True
    if text[start - 4 : start] not in _hints().counting:
        return False
    before = text[max(0, start - _REACH) : start]
    if before.endswith(_SINCE):
        return _is_passing(text, stop) is not None
    return is_counting(before)


def is_counting(before: bytes) -> bool:
    """Return whether a text ends with a word that counts, or names an edition, and little more."""
    for _ in range(_MAX_BETWEEN):
        if before.endswith(_COUNTING) or before[-1:] not in _BETWEEN_BYTES:
            break
        before = before[:-1]
    return before.endswith(_COUNTING)


def _long_value(text: bytes, start: int, stop: int) -> tuple[bytes, int, bool]:
    """Return the date, price or measure that a number is part of, where it ends, and whether it is strong.

    If the date says when the page was changed, only its end is returned: it is no value.
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
    measured = _is_measured(text, stop) if (after[1:3] if after[0] == _SPACE else after[:2]) in hints.units else None
    if measured:
        return text[start : measured.end()], measured.end(), True
    is_priced = before in hints.currencies or before[2 if before[3] == _SPACE else 3] in _CURRENCY_LAST
    price = _is_price(text[max(0, start - _PRICE_REACH) : start]) if is_priced else None
    return (price[1] + text[start:stop], stop, True) if price else _NO_VALUE


BACKWARDS = 4  #: so many of the sets, the last ones, are looked for before a number


@cache
def word_sets() -> tuple[tuple[bytes, ...], ...]:
    """Return the words that compiled code looks for, in the order of ``WordKind`` in ``kernel.h``."""
    pairs = [f"{noun} {verb}" for noun in _READERS for verb in _DOING], [f"{n} {v}" for n in _READERS for v in _HAVING]
    sets: tuple[Iterable[str], ...] = (
        (*_spaced(_COUNTED), *pairs[1], *(f"{unit} {ago}" for unit in _PASSING for ago in _AGO)),
        (*_COUNTED_UNSPACED, *pairs[0], "found this ", "found it "),
        _PASSING,
        _MONTHS,
        (*_UNITS, *_CURRENCIES_AFTER),
        _UNITS_UNSPACED,
        _spaced(_CHANGED),
        _spaced(_PUBLISHED),
        VIEW_PARTS,
    )
    before = (_COUNTING, _SINCE, tuple(_encoded(_MONTHS)), tuple(_encoded(_CURRENCIES_BEFORE)))
    return (*(tuple(_encoded(words)) for words in sets), *before)


def _spaced(words: Iterable[str]) -> list[str]:
    return [each.replace("+", " ") for each in words]
