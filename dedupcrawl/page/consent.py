"""Texts that ask for consent to cookies, and notices about JavaScript: furniture of a site, whatever their length.

OneTrust, Didomi, Cookiebot, Quantcast and others show the same text on thousands of sites, often with the standard
purposes of the IAB's Transparency and Consent Framework (TCF). Many are longer than a short story, and stand in the
page before it. A text is recognised by how many *kinds* of words of such notices it has, not by single phrases,
because sites edit them. The words are stems in the languages of the European Union, in Norwegian, Icelandic, Turkish,
Russian, Ukrainian, Serbian, Chinese, Japanese and Korean.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from dedupcrawl.page.flatten import word_set
from dedupcrawl.page.rules import CONSENT, FRAME, name_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dedupcrawl.page.blocks import RawBlock

#: A consent text has one of them. They are compared in lower case.
STEMS = (
    *("cookie", "on a device", "consent", "kakor", "informasjonskaps", "informationskaps", "eväste", "ciastecz"),
    *("slapuk", "sīkdat", "küpsis", "piškot", "kolačić", "колачић", "sütik", "бисквит", "куки", "fótspor"),
    *("vafrakök", "çerez", "fianán", "galetes", "クッキー", "쿠키"),
)
#: Letters of the languages of those stems that are written in ASCII alone. A longer text in one of them has some.
_LANGUAGE_LETTERS = {
    "kakor": "åäö",
    "informasjonskaps": "åø",
    "informationskaps": "åæø",
    "ciastecz": "ąęłóśż",
    "slapuk": "ąčęėįšųūž",
    "galetes": "àçèéíòóú",
}
#: Words with which a site speaks to its readers. Articles about cookies do not.
ADDRESS = word_set("""
    we our us you your wir uns unser unsere unseren unserer sie ihr ihre ihrem ihren ihrer ihnen nous notre nos vous vos
    votre nosotros nuestro nuestra nuestros nuestras usted su sus tu tus noi nostro nostra nostri nostre tuo tuoi nós
    nosso nossa nossos nossas seu seus wij onze uw je vi vår våra vårt våre vores din dina dine me sivustomme my nasz
    nasi naszych nasze naši našich náš vaše vašich vám mi honlapunk az nostru noștri noastre dvs ние ви вашето наш наши
    наших мы вы ми ваш ваше ваши вашем вашому μας σας naš naše vaš mes mūsų jūsų mēs mūsu jūsu meie teie biz bizim siz
    sizin við okkar þú þinn ár
""")
#: The same in scripts without spaces between words.
ADDRESS_STEMS = ("我们", "我們", "本网站", "本網站", "您", "当社", "弊社", "当サイト", "お客様", "우리", "당사", "귀하")


def _letters_of(stem: str) -> str:
    """Return letters of which a text that holds the stem has one; "" where that may be any text."""
    return _LANGUAGE_LETTERS.get(stem, next((letter for letter in stem if not letter.isascii()), ""))


def _stems_by_letter() -> dict[int, dict[bytes, list[bytes]]]:
    """Return the stems that a letter makes likely, by the first byte of the letter and by the letter, in UTF-8."""
    found: dict[int, dict[bytes, list[bytes]]] = {}
    for stem in STEMS:
        for letter in map(str.encode, _letters_of(stem)):
            found.setdefault(letter[0], {}).setdefault(letter, []).append(stem.encode())
    return found


_STEMS_BY_LETTER: Mapping[int, Mapping[bytes, Sequence[bytes]]] = _stems_by_letter()
_STEMS_OF_ANY_TEXT = [stem.encode() for stem in STEMS if not _letters_of(stem)]


def _stems(words: str, *others: str) -> tuple[str, ...]:
    return (*words.split(), *others)


#: Kinds of words in consent texts beside cookies and address, as parts of words in lower case.
KINDS: Mapping[str, tuple[str, ...]] = {
    "consent": _stems(
        """
        consent accept agree allow reject refus declin opt-out einwillig zustimm akzept ablehn erlaub acept
        rechaz accett rifiut aceit rejeit toestemm weiger samtyck godkänn avvis samtykk godta hyväks suostum zgod
        akcept souhlas přij súhlas prij hozzájárul elfogad consimț съгласи прием συγκατάθ αποδοχ αποδέχ соглас
        принима згод прийм pristan prihva privol soglas sprejm nõus piekr sutik sutink onay kabul samþykk 同意 接受
        拒绝 拒絕 許可 拒否 동의 수락
        """,
        *("opt out",),
    ),
    "partners": _stems(
        """
        partner vendor third-part drittanb anbieter prestatair socios tercer proveedor terze fornitor parceir
        derden leverantör tredje kumppan kolmans dostawc třetí tretí tretj treć harmadik terț furnizor партн трет
        συνεργάτ τρίτ 合作伙伴 第三方 第三者 パートナー 제3자 üçüncü ortak trečiųj treš kolmanda þriðj
        """,
        *("third part",),
    ),
    "data": _stems(
        """
        privacy personal privat datenschutz personenbezog données privacidad datos riservat dados gegevens
        integritet personuppgift personoplysning personopplysning yksityisy henkilötie prywatn osob soukrom
        súkrom adatvéd személyes confidenț поверител личн персонал απόρρητ προσωπικ конфиденц конфіденц 隐私 隱私 个人
        個人 プライバシー 개인 gizlilik kişisel asmen isikuandm persónu
        """,
        *("vie privée", "dati person"),
    ),
    "device": _stems(
        """
        device browser website identifier gerät webseite appareil terminal navigat dispositiv navegador sitio
        apparaat apparat enhet laite selai urządzen stron zařízen zariaden web eszköz böngész dispozitiv
        устройств пристр сайт συσκευ ιστό πρόγραμμα 设备 設備 网站 網站 浏览器 端末 デバイス サイト ブラウザ 기기 사이트
        cihaz vefs svetain
        vietn veebi naršykl pārlūk
        """,
        *("web site", "our site"),
    ),
    "advertising": _stems(
        """
        advert personalis personaliz werb anzeigen publici pubblici annunci anúnci reclam annons reklam annonc
        mainon mainos hirdet реклам διαφημ 广告 廣告 広告 광고 kohanda oglas oglaš auglýs
        """
    ),
    "analysis": _stems(
        """
        measur analys analyz analis traffic statist audienc messung mesur medición medição misur tilast pomiar
        měř mérés mérő forgalm măsur анал измер вимір статист μέτρησ ανάλυ επισκεψ 分析 统计 統計 測定 분석 umferð
        """
    ),
    "settings": _stems(
        """
        setting preferenc manag choice einstellung präferenz auswahl paramètr préféren choix configur preferen
        ajust impostazion definiç instelling voorkeur inställning innstilling indstilling asetuks ustawie nastav
        beállítás setări настро ρυθμίσ налашт 设置 设定 設定 설정 ayar nustatym iestatīj seadi seade stilling postavk
        """
    ),
    "use": _stems(
        """
        using store storage storing access verwend nutzen speicher utilis utiliz usamos usar usiamo gebruik
        använd bruker bruger käyt używa wykorzyst použív haszn folosi използва χρησιμοποι использ використ 使用 利用
        사용 kullan naudoj izmanto kasuta notum notar stock accéd almacen archivi armazen opslaan uporablja korist
        lagra lagre
        """,
        *("use ",),
    ),
}
#: Whole words of these kinds, because as parts they are in many others.
WHOLE_WORDS: Mapping[str, frozenset[str]] = {
    "partners": word_set("tiers"),
    "device": word_set("site sito"),
    "advertising": word_set("ad ads"),
    "use": word_set("usa use"),
}
ASCII = bytes(range(128))
SURROGATES = "surrogatepass"  #: how a lone surrogate is encoded, which only a text from elsewhere contains
MIN_BYTES = 40  #: a shorter text is a label ("Cookie policy")
MAX_CHARS = 10_000  #: a longer text is no block of a notice; it bounds the time and the cache
MIN_KINDS = 4  #: kinds that a consent text has, the address among them
#: Words of these kinds in 1,000 characters. Consent texts of the providers have 30 to 80, articles on privacy up to 20
#: (counted on wcxb).
MIN_DENSITY = 22.0
HAN_FACTOR = 3.0  #: a character of Chinese, Japanese or Korean says as much as so many Latin letters

_words = re.compile(r"\w+").findall
_han = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]").findall
MAX_SCRIPT_NOTICE = 400  #: bytes; a longer text is about JavaScript
_about_scripts = re.compile(  # in one sentence, and whole words: not "return", "languages that it supports"
    r"java ?script[^.!?。！？]{0,80}(?:\b(?:enabled|disabled|turned|requir|needed|supported|(?:d[eé]s)?activ"
    r"|(?:de)?aktiv|einschalt|habilit|abilita|inschakel|włącz|povol|zapn|engedély|включ|увімк|ενεργοπ)"
    r"|启用|啟用|开启|開啟|禁用|停用|有効|무효|활성)"
    r"|(?:\b(?:enabl|disabl|turn|requir|needs?\b|(?:d[eé]s)?activ|(?:de)?aktiv|einschalt|habilit|abilita|inschakel|włącz"
    r"|povol|zapn|engedély|включ|увімк|ενεργοπ)|启用|啟用|开启|開啟|禁用|停用|有効)[^.!?。！？]{0,60}java ?script"
    r"|(?:without|(?:not|n.t) support) java ?script",
    re.IGNORECASE,
).search


#: Words in class or id of the dialog that holds the texts of a provider.
DIALOG_WORDS = word_set("ccpa cmp cmp2 consent cookie cookiebot cookies cybot didomi gdpr onetrust usercentrics")
MIN_TEXTS = 2  #: consent texts in a dialog; its other texts, such as purposes and partners, belong to it
MIN_DIALOG_SHARE = 0.1  #: of the text of a dialog that they make up


def notice_blocks(blocks: Sequence[RawBlock], parents: Sequence[int], heads: Sequence[str]) -> dict[int, str]:
    """Return the places of consent texts (``rules.CONSENT``) and of notices about JavaScript (``rules.FRAME``).

    Args:
        blocks: all blocks of a page.
        parents: for each container its parent, -1 for the first.
        heads: for each container its tag, class and id.
    """
    found = _notice_texts(blocks)
    asking = [blocks[place][6] for place, reason in found.items() if reason is CONSENT]
    for dialog in _dialogs(asking, parents, heads) if len(asking) >= MIN_TEXTS else ():
        inside = _blocks_inside(dialog, blocks, parents)
        size = sum([blocks[place][1] for place in inside])
        recognised = sum([blocks[place][1] for place in inside if found.get(place) is CONSENT])
        if recognised >= MIN_DIALOG_SHARE * size and not any(blocks[place][5] == "h1" for place in inside):
            found |= dict.fromkeys(inside, CONSENT)
    return found


def _dialogs(asking: Sequence[int], parents: Sequence[int], heads: Sequence[str]) -> list[int]:
    """Return the outermost containers that are named as dialogs and hold several of the containers ``asking``."""
    named: Counter[int] = Counter()
    for container in asking:
        outermost, at = -1, container
        while at > 0:
            outermost = at if _is_dialog(heads[at]) else outermost
            at = parents[at]
        named[outermost] += 1
    return [container for container, count in named.items() if container >= 0 and count >= MIN_TEXTS]


def _is_dialog(head: str) -> bool:
    tag, _, names = head.partition(" ")
    return tag not in {"html", "body", "main", "article"} and not DIALOG_WORDS.isdisjoint(name_words(names))


def _blocks_inside(container: int, blocks: Sequence[RawBlock], parents: Sequence[int]) -> list[int]:
    within = {container}
    for child in range(container + 1, len(parents)):  # parents precede their children
        if parents[child] in within:
            within.add(child)
    return [place for place, block in enumerate(blocks) if block[6] in within]


def _notice_texts(blocks: Sequence[RawBlock]) -> dict[int, str]:
    places = [at for at, block in enumerate(blocks) if block[1] >= MIN_BYTES and block[1] > 2 * block[2]]
    # Searching the whole text and then the block is faster than searching each block for each stem.
    whole, letters = _folded("\n".join([blocks[at][0] for at in places]))
    asking = [offset for stem in _likely_stems(letters) for offset in _offsets(stem, whole)]
    about_scripts = [*_offsets(b"javascript", whole)]
    found: dict[int, str] = {}
    if not asking and not about_scripts:  # on most pages
        return found
    texts = [blocks[at][0].lower() for at in places]
    starts = [0, *accumulate([len(text.encode("utf-8", SURROGATES)) + 1 for text in texts])]
    for index in {bisect_right(starts, offset) - 1 for offset in asking}:
        if len(texts[index]) <= MAX_CHARS and is_consent_text(texts[index]):
            found[places[index]] = CONSENT
    for offset in about_scripts:
        index = bisect_right(starts, offset) - 1
        if blocks[places[index]][1] <= MAX_SCRIPT_NOTICE and _about_scripts(texts[index]):
            found[places[index]] = FRAME
    return found


def _folded(text: str) -> tuple[bytes, bytes]:
    """Return a text in lower case, and its letters outside ASCII, both in UTF-8.

    ``bytes.lower`` is many times as fast as ``str.lower`` of a text outside ASCII. It does the same if all letters
    outside ASCII are in lower case.
    """
    encoded = text.encode("utf-8", SURROGATES)
    if text.isascii():
        return encoded.lower(), b""
    letters = encoded.translate(None, ASCII)
    decoded = letters.decode("utf-8", SURROGATES)
    if decoded.lower() == decoded:
        return encoded.lower(), letters
    encoded = text.lower().encode("utf-8", SURROGATES)
    return encoded, encoded.translate(None, ASCII)


def _likely_stems(letters: bytes) -> set[bytes]:
    """Return the stems that a text with these letters outside ASCII may hold.

    To look for a letter is far faster than to look for a word, and for a byte than for a letter.
    """
    found = {*_STEMS_OF_ANY_TEXT}
    for first, stems_by_letter in _STEMS_BY_LETTER.items():
        if first in letters:
            for letter, stems in stems_by_letter.items():
                if letter in letters:
                    found.update(stems)
    return found


def _offsets(part: bytes, whole: bytes) -> Iterator[int]:
    """Yield where ``part`` is in ``whole``."""
    offset = whole.find(part)
    while offset >= 0:
        yield offset
        offset = whole.find(part, offset + 1)


@lru_cache(maxsize=512)  # all pages of a site show the same text
def is_consent_text(text: str) -> bool:
    """Return whether a text asks for consent to cookies.

    >>> is_consent_text("We use cookies on our website to give you personalised ads. You can accept or reject them.")
    True
    >>> is_consent_text("Regulators fined the company for its use of third-party cookies in its browser.")
    False
    """
    folded = text.lower()
    if not any(stem in folded for stem in STEMS):
        return False
    words = _words(folded)
    counts = [sum([word in ADDRESS for word in words]) + sum([folded.count(stem) for stem in ADDRESS_STEMS])]
    if not counts[0]:
        return False
    for kind, parts in KINDS.items():
        whole = WHOLE_WORDS.get(kind, frozenset())
        counts.append(sum([folded.count(part) for part in parts]) + sum([word in whole for word in words]))
    if sum(count > 0 for count in counts) < MIN_KINDS:
        return False
    size = len(text) + (HAN_FACTOR - 1) * len(_han(text))
    return 1000 * sum(counts) >= MIN_DENSITY * size
