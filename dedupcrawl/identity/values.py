"""What a page says: its values, which are the numbers in its main text and beside it, its short facts, its sentences.

Sizes, dates and prices tell pages with nearly the same text apart. A date, a price and a measure with its unit are each
one *strong* value; other numbers are weak. A count of readers ("12 comments", "阅读 3051") or a relative time ("3 hours
ago") says nothing about a page: it is no value. Sentences tell pages apart that differ in a word which is no number and
no name: a town, a person, a colour.

Compiled code finds the same values. It gets the words from here.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.page.rules import VIEW_PARTS, word_set
from dedupcrawl.text.features import encode_normalized

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupcrawl.page.model import Page

MAX_NUMBERS = 128  #: numbers of a text that can be values
MAX_FACTS = 4096  #: numbers of a text whose surroundings are cut out for its facts
NEIGHBOURS = 8  #: bytes before and after a number that belong to the facts: the unit, the currency, the month
MAX_SHORT = 40  #: characters of a short fact
MAX_VALUE_BYTES = 32  #: bytes of a value that count
MAX_TOKEN_BYTES = 32  #: bytes of a word that are hashed, also of a name
MAX_LINE_BYTES = 120  #: of a line that is one sentence, whatever its punctuation: what a view adds is one line
MAX_SENTENCE_BYTES = 1024  #: of the words of a sentence that are hashed
_REACH = 40  #: bytes before a number in which words are looked for
_PRICE_REACH = 8  #: a currency has at most three bytes, with a space after it, and another byte before it

#: Digits; one mark may stand between two of them: 3.5, 1,200, 2024-05-03, 10x20.
_numbers = re.compile(rb"[0-9]+(?:[.,:/x'-][0-9]+)*").finditer
_has_minus = re.compile(rb"(?:^|[ \0])(?:-|\xe2\x88\x92)\Z").search  #: a hyphen or minus at the beginning of a word
_WORD_END = r"(?![a-z0-9\x80-\xff])"


def _encoded(words: Iterable[str]) -> tuple[bytes, ...]:
    return tuple([each.replace("+", " ").encode() for each in words])


def _any_of(*words: Iterable[str]) -> str:
    """Return a pattern for words; longer ones first, so that a word is preferred to its beginning."""
    every = {each.replace("+", " ") for some in words for each in some}
    return f"(?:{'|'.join(re.escape(each) for each in sorted(every, key=lambda each: (-len(each), each)))})"


def _pattern(text: str) -> re.Pattern[bytes]:
    """Return a pattern for texts in UTF-8."""
    return re.compile(text.encode().replace(rb"\x80-\xff", b"\x80-\xff"))


# -- counters, in about a dozen languages --------------------------------------------------------

#: Words after a number that counts readers, with the beginnings of their other forms.
_COUNTED = word_set(
    "comment comments reply replies view views reader readers read reads like likes share shares vote votes visit "
    "visits visitor visitors download downloads follower followers hit hits kommentar kommentare kommentaren "
    "antworten aufrufe leser lesern mal+gelesen besucher abonnenten mal+geteilt mal+aufgerufen stimmen reacties "
    "reactie weergaven lezers keer+bekeken keer+gelezen kommentarer visningar läsare delningar gilla-markeringar "
    "personer+gillar commentaire commentaires réponses vue vues lectures lecteurs partages visites visiteurs "
    "abonnés téléchargements j'aime comentario comentarios respuestas visita visitas vistas lecturas lectores "
    "me+gusta compartidos veces descargas seguidores votos commento commenti risposte visualizzazioni letture "
    "lettori mi+piace condivisioni comentário comentários respostas visualizações leituras leitores curtidas "
    "compartilhamentos gostos visualização komentarz komentarze komentarzy odpowiedzi wyświetleń wyświetlenia "
    "odsłon czytelników polubień udostępnień комментарий комментария комментариев комментарии просмотр просмотра "
    "просмотров ответа ответов читателей читателя лайк лайка лайков голосов скачиваний посетителей репостов"
)
#: The same in languages without spaces: no word end is looked for.
_COUNTED_UNSPACED = (
    *word_set(
        "▲ ▼ 人看 人浏览 人瀏覽 人阅读 人閱讀 人评论 人評論 人点 人點 条评论 條評論 条回复 條回覆 评论 評論 点赞 "
        "點讚 分钟前 分鐘前 小时前 小時前 天前 分前 時間前 日前 件のコメント 件の返信 回閲覧 回視聴 回再生 いいね "
        "ビュー 人が閲覧 件のいいね シェア"
    ),
    *(often + what for often in ("次", "") for what in word_set("阅读 閱讀 浏览 瀏覽 点击 點擊 播放 下载 下載")),
)
#: Words of a relative time after a number, and the words after that word or before that number.
_PASSING = word_set(
    "min mins minute minutes hour hours day days minuten stunde stunden tag tagen heure heures jour jours minutos "
    "hora horas día días dias minuti ora ore giorno giorni минут минуты минуту час часа часов день дня дней uur "
    "dagen minut godzin godzinę godziny dni minuter timmar timme dagar"
)
_AGO = word_set("ago fa atrás назад geleden temu sedan")
_SINCE = _encoded(("vor+", "il+y+a+", "hace+", "há+"))
#: Readers, and what they do: "12 people found this helpful", "40 users online".
_READERS = word_set("people person persons user users reader readers customer customers member members")
_DOING, _HAVING = word_set("found like watch view online read"), word_set("have has")
#: Words before a number that count readers, or name an edition, and arrows of tickers; "read 12 times". Most pages of a
#: manual of "version 2.1" are the same in the next one.
_COUNTING = _encoded(
    word_set(
        "阅读次数 閱讀次數 浏览次数 瀏覽次數 点击次数 點擊次數 点击数 访问量 访问次数 阅读人数 热度 "
        "comments replies views reads readers likes shares votes visits visitors downloads hits users followers "
        "read viewed shared visited downloaded played kommentare antworten aufrufe leser besucher reacties "
        "weergaven kommentarer visningar commentaires réponses vues lectures lecteurs partages visites comentarios "
        "respuestas visitas lecturas visto leído commenti risposte visualizzazioni letture comentários respostas "
        "visualizações leituras komentarze odpowiedzi wyświetleń wyświetlenia odsłony комментарии комментариев "
        "комментарий просмотры просмотров просмотрели ответов ответы лайков прочитали читателей ▲ ▼ 阅读 閱讀 "
        "阅读数 阅读量 閱讀量 浏览 瀏覽 浏览量 浏览数 点击 點擊 点击量 评论 評論 评论数 回复 回覆 点赞 點讚 转发 "
        "轉發 收藏 人气 人氣 コメント コメント数 閲覧数 再生回数 視聴回数 いいね 返信 version versión versão "
        "versione wersja версия версии 版本 版本号 バージョン"
    )
)
_BETWEEN, _MAX_BETWEEN = b" :(", 3  #: stand between these words and a number, so many at most

is_counted = _pattern(
    rf"(?: of [0-9]{{1,9}})?(?:[ +k)]|万|萬){{0,3}}(?:{_any_of(_COUNTED)}{_WORD_END}"
    rf"|{_any_of(_READERS)} (?:{_any_of(_DOING)}|{_any_of(_HAVING)}{_WORD_END})|found (?:this|it) "
    rf"|{_any_of(_PASSING)} {_any_of(_AGO)}{_WORD_END}|{_any_of(_COUNTED_UNSPACED)})"
).match
_is_passing = _pattern(rf" {_any_of(_PASSING)}{_WORD_END}").match

# -- dates, prices, measures --------------------------------------------------------------------

#: Names of months, and their abbreviations.
_MONTHS = word_set(
    "january february march april may june july august september october november december jan feb mar apr jun jul "
    "aug sep sept oct nov dec januar jänner februar märz mai juni juli oktober dezember mär okt dez januari "
    "februari maart mei augustus mrt mars maj augusti janvier février fevrier avril juin juillet août aout "
    "septembre octobre novembre décembre decembre janv févr avr juil déc enero febrero marzo abril mayo junio julio "
    "agosto septiembre setiembre octubre noviembre diciembre ene abr ago dic gennaio febbraio aprile maggio giugno "
    "luglio settembre ottobre dicembre gen mag giu lug set ott janeiro fevereiro março maio junho julho setembro "
    "outubro novembro dezembro fev out stycznia lutego marca kwietnia maja czerwca lipca sierpnia września "
    "października listopada grudnia января февраля марта апреля мая июня июля августа сентября октября ноября "
    "декабря"
)
_day_first = _pattern(
    rf"[0-9]{{1,2}}(?:st|nd|rd|th|er|º)?\.?(?: (?:of|de|di))? {_any_of(_MONTHS)}{_WORD_END}\.?"
    r"(?:,? (?:of |de |del )?[0-9]{4}(?![0-9]))?"
    r"|(?:[0-9]{4}年 ?)?[0-9]{1,2}月(?: ?[0-9]{1,2}(?:日|号|號))?"
).match
_month_before = _pattern(rf"(?:^|[^a-z\x80-\xff])({_any_of(_MONTHS)}\.? )\Z").search
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
    _pattern(rf"{_any_of(words)}[^.;!?0-9\0]{{0,16}}\Z").search for words in (_CHANGED, _PUBLISHED)
)
_hour_after = _pattern(r"[,.;]? ?(?:at |um |à |a las |alle |klo |kl |kl\. )?[0-9]{1,2}[:.][0-9]{2}(?::[0-9]{2})?").match

_UNITS = word_set(
    "mm cm dm m km ft yd inch inches foot feet mile miles mi m2 m3 cm2 cm3 km2 sqm qm ha mg g kg t oz lb lbs ml cl "
    "dl l gal litre litres liter liters gram grams grammes gramm v mv kv w kw mw kwh wh va mah ah hz khz mhz ghz kb "
    "mb gb tb kib mib gib bar psi pa hpa kpa mpa nm rpm hp ps db lm lux mol mmol px pt dpi am pm °c °f ° % км м см "
    "мм кг г л мл вт квт كيلومتر كم متر سم كغ غرام لتر کیلومتر گرم ק״מ מטר ס״מ מ״ר ק״ג גרם"
)
_CURRENCIES_AFTER = word_set(
    "€ $ £ ¥ ₽ zł kr eur euro euros usd gbp chf dollar dollars pounds cents yuan yen rmb cny jpy руб рублей ₩ ₹ kč "
    "₺ lei دينار درهم ريال جنيه ليرة تومان ₪ שקל"
)
#: No word end is looked for after them.
_UNITS_UNSPACED = word_set(
    "元 円 圆 圓 块 毫米 厘米 公分 米 公里 平方米 平米 ㎡ 克 千克 公斤 斤 吨 毫升 升 度 ℃ 亩 公顷 万元 亿元 원"
)
_CURRENCIES_BEFORE = ("usd", "eur", "gbp", "chf", "rmb", "cny", "us$", *"$€£¥￥₹₩")
_is_measured = _pattern(rf" ?(?:{_any_of(_UNITS, _CURRENCIES_AFTER)}{_WORD_END}|{_any_of(_UNITS_UNSPACED)})").match
_is_price = _pattern(rf"(?:^|[^a-z])({_any_of(_CURRENCIES_BEFORE)} ?)\Z").search

_LINE, _PART = "\0", "\1"  #: separators of text; normalisation leaves them, and no parsed page has them
_HAN_START = "\u4e00".encode()[:2]  #: the first bytes of 一, 七, 三, 不, 与…: every Chinese text has some
_ENCODING = ("utf-8", "surrogatepass")
HAN_NUMERALS = "〇零一二三四五六七八九十百千万萬亿億两兩半"
#: With the character after them.
_han_numbers = re.compile(f"[{HAN_NUMERALS}]+.?", re.DOTALL).findall

_is_of_view = re.compile(_any_of(VIEW_PARTS)).search
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
    outer = {value: is_strong for value, is_strong in values_of(beside).items() if value not in inner}
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
    values: dict[bytes, bool] = {}
    places = [found.span() for found in islice(_numbers(text), MAX_NUMBERS if facts is None else MAX_FACTS + 1)]
    done = last = 0
    for count, (start, stop) in enumerate(places):
        if count == MAX_FACTS and facts is not None:
            facts.append(text[start:])
            break
        if start >= done and _is_counter(text, start, stop):
            last = stop
            continue
        if start >= done and count < MAX_NUMBERS:
            value, done, is_strong = _long_value(text, start, stop)
            if value:
                values[value] = is_strong
            elif done == start:
                values.setdefault(_signed(text, start, stop), False)
        if facts is not None:
            following = places[count + 1][0] if count + 1 < len(places) else len(text)
            facts.append(text[max(start - NEIGHBOURS, last) : min(stop + NEIGHBOURS, following)])
        last = stop
    return values


def _signed(text: bytes, start: int, stop: int) -> bytes:
    """Return a number or measure with its sign, which is always written as a hyphen."""
    return b"-" * bool(_has_minus(text[max(0, start - 4) : start])) + text[start:stop][:MAX_VALUE_BYTES]


def _is_counter(text: bytes, start: int, stop: int) -> bool:
    """Return whether a number counts readers or belongs to a relative time."""
    if is_counted(text, stop):
        return True
    before = text[max(0, start - _REACH) : start]
    return bool(_is_passing(text, stop)) if before.endswith(_SINCE) else is_counting(before)


def is_counting(before: bytes) -> bool:
    """Return whether a text ends with a word that counts, or names an edition, and little more."""
    for _ in range(_MAX_BETWEEN):
        before = before[:-1] if before[-1:] in _BETWEEN else before
    return before.endswith(_COUNTING)


def _long_value(text: bytes, start: int, stop: int) -> tuple[bytes, int, bool]:
    """Return the date, price or measure that a number is part of, where it ends, and whether it is strong.

    If there is none, it ends where it starts. A date that says when the page was changed is no value and has an end.
    """
    before = text[max(0, start - _REACH) : start]
    month = _month_before(before)
    date = (_rest_of_date(text, start) if month else None) or _day_first(text, start)
    if date or _is_numeric_date(text, start, stop):
        end = date.end() if date else stop
        if _is_change(before):
            hour = _hour_after(text, end)
            return b"", hour.end() if hour else end, False
        return ((month[1] if month else b"") + text[start:end])[:MAX_VALUE_BYTES], end, not _is_published(before)
    measured = _is_measured(text, stop)
    if measured:
        return _signed(text, start, measured.end()), measured.end(), True
    price = _is_price(text[max(0, start - _PRICE_REACH) : start])
    return ((price[1] + text[start:stop])[:MAX_VALUE_BYTES], stop, True) if price else (b"", start, False)


_WORD = rb"(?:[a-z]|[\xc3-\xdf][\x80-\xbf])+[0-9]*"  #: letters of two bytes: Latin, Greek, Cyrillic, Hebrew, Arabic
_CHARACTER = rb"(?:[\xe0\xe1\xe3-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})"
_MARK = rb"(?:\xe2[\x96-\x9f][\x80-\xbf] ?)"  #: U+2580 to U+27FF: forms, symbols, dingbats
_all_words = re.compile(rb"%b*(?:%b|%b)" % (_MARK, _WORD, _CHARACTER)).findall
#: A mark ends a sentence before a space or a character without spaces around it; "。" always does.
_parts = re.compile(rb"(?<=[.!?;])(?=[ \xe0-\xf4])|(?<=\xe3\x80\x82)").split
sentence_heads = re.compile(rb"(?:\. |\xe3\x80\x82)(?=(.{32}))", re.DOTALL).findall  #: the bytes after full stops
_passing, _view_parts = {*_encoded((*_COUNTED, *_CHANGED, *_PUBLISHED))}, _encoded(VIEW_PARTS)


def sentences_of(lines: bytes) -> list[bytes]:
    r"""Return the words of each sentence of a normalised text, without punctuation and without numbers.

    A line of at most ``MAX_LINE_BYTES`` is one sentence. A tick, a cross or another mark is part of the word after it,
    and digits are part of the word before them. Words of stamps, counters and views ("updated", "comments", "printed")
    are left out, and sentences with the address of a page: only a view says where it was printed from.

    Args:
        lines: normalised lines in UTF-8, with NUL between them.

    >>> [each.decode() for each in sentences_of("✓ lift, 3 toilets. at b12\0updated 3 may\0站台旁。".encode())]
    ['✓ lift toilets at b12', 'may', '站 台 旁 。']
    """
    found: list[bytes] = []
    every = (_parts(line) if len(line) > MAX_LINE_BYTES else (line,) for line in lines.split(b"\0"))
    for part in chain.from_iterable(every):
        words = [word for word in _all_words(part) if word not in _passing and not word.startswith(_view_parts)]
        if words and b"www" not in words and b"://" not in part:
            found.append(b" ".join([word[:MAX_TOKEN_BYTES] for word in words])[:MAX_SENTENCE_BYTES])
    return found


BACKWARDS = 4  #: so many of the sets, the last ones, are looked for before a number


@cache
def word_sets() -> tuple[tuple[bytes, ...], ...]:
    """Return the words that compiled code looks for, in the order of ``WordKind`` in ``kernel.h``."""
    doing, having = ([f"{noun} {verb}" for noun in _READERS for verb in verbs] for verbs in (_DOING, _HAVING))
    return (
        _encoded((*_COUNTED, *having, *(f"{unit} {ago}" for unit in _PASSING for ago in _AGO))),
        _encoded((*_COUNTED_UNSPACED, *doing, "found this ", "found it ")),
        *map(_encoded, (_PASSING, _MONTHS, (*_UNITS, *_CURRENCIES_AFTER), _UNITS_UNSPACED)),
        *map(_encoded, (_CHANGED, _PUBLISHED, VIEW_PARTS)),
        *(_COUNTING, _SINCE, _encoded(_MONTHS), _encoded(_CURRENCIES_BEFORE)),
    )
