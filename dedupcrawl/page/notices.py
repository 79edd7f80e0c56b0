"""Texts that are no content: notices that ask for consent to cookies, and notes on the publication of a text.

*Consent texts and notices about JavaScript* are boilerplate of a site, whatever their length. OneTrust, Didomi,
Cookiebot, Quantcast and others show the same text on thousands of sites, often with the standard purposes of the IAB's
Transparency and Consent Framework (TCF). Many are longer than a short story, and stand in the page before it. A text is
recognised by how many *kinds* of words of such notices it has, not by single phrases, because sites edit them. The
words are stems in the languages of the European Union, in Norwegian, Icelandic, Turkish, Russian, Ukrainian, Serbian,
Chinese, Japanese and Korean.

*Notes on publication* say where a text appeared first, whose opinion it is, to whom the rights belong. Each site that
takes over an article puts its own note before or after it. Beside a short text such a note is long enough to make a
copy look like another page, or two other pages look alike. The wordings are those of news sites, portals and blogs in
Chinese and English. A note has a fixed phrase of such notes, or it names the text ("本文", "this article") together
with a word about publishing ("转载", "opinions"). Among 250 paragraphs that were written without knowing the rules, 72
of 100 notes are found, and none of 150 first and last paragraphs of articles is taken for a note.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from dedupcrawl.page import compiled
from dedupcrawl.page.rules import CONSENT, FRAME, name_words, word_set

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dedupcrawl.page.blocks import RawBlock


# -- consent texts -----------------------------------------------------------------------------

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
#: Words with which a site speaks to its readers, in scripts without spaces between words.
ADDRESS_STEMS = ("我们", "我們", "本网站", "本網站", "您", "当社", "弊社", "当サイト", "お客様", "우리", "당사", "귀하")


def _letters_of(stem: str) -> str:
    """Return letters: a text with the stem has one of them. "" if any text may have the stem."""
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
    asking, about_scripts = offsets_of([*_likely_stems(letters)], whole), offsets_of([b"javascript"], whole)
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

    ``bytes.lower`` is many times as fast as ``str.lower`` of a text outside ASCII. Both give one result if all letters
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


def offsets_of(parts: list[bytes], whole: bytes) -> list[int]:
    """Return where the parts, none of them empty, are in a text, one part after the other."""
    if compiled.choice is not None:
        places: list[int] = compiled.choice.offsets_of(parts, whole)
        return places
    found = []
    for part in parts:
        offset = whole.find(part)
        while offset >= 0:
            found.append(offset)
            offset = whole.find(part, offset + 1)
    return found


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


# -- notes on publication ----------------------------------------------------------------------

MAX_NOTE_BYTES = 600  #: a longer block is an article about publishing
MAX_NOTED_BYTES = 3000  #: beside a longer text a note is too short to matter
#: The end of the sentence before: a formula or a name counts only in a sentence that begins in the first half.
_SENTENCE_ENDS = ("。", "！", "？", "\n", ". ", "! ", "? ")
HAN_BYTES = 2  #: minimum bytes for each character of a text in Chinese

#: Words that name the text itself, or its site. With some words before or behind them, they begin an abstract.
_names_in_english = re.compile(
    r"(?:(?:this|the above|the following) (?:article|story|piece|post|essay|column|report|material|content"
    r"|document|page|text|press release|public release|release|interview|transcript|item|site)s?\b"
    r"(?! (?:argues|describes|discusses|examines|explores|shows))"
    r"|our (?:app|articles|blog|channel|editors|journalism|newsletters?|newsroom|readers|site|staff|stories)\b)"
).search
_names_in_chinese = re.compile(
    r"本文(?!介|提出|的|从|從|以|旨|研究|[讨討探]|分析|[证證]明|[设設]|[综綜]|[认認])|[该該此]文|本篇|本稿|本[条條欄栏版]|文中|原文"
    r"|小[编編]|(?:以上|上述)(?:内容|內容|就是|文章)|本[网網站报報号號](?!记者|記者|讯|訊)|本平台|登[载載]此"
).search


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


#: Words about publishing that make a note together with such a name.
_ENGLISH_WORDS = (
    *("originally published", "previously published", "first published", "first appeared", "first posted", "first ran"),
    *("originally appeared", "originally posted", "provided courtesy", "purposes only", "sign up", "follow us"),
    " views ",
    *_split("republish reprint syndicat permission licence license opinion advice translated misstated corrected"),
    *_split("affiliate copyright compensation responsib accuracy edited subscribe download sponsored donation"),
)
_CHINESE_WORDS = (
    *_split("转载 轉載 转自 轉自 转发 轉發 授权 授權 侵权 侵權 版权 版權 权益 權益 原创 原創 不代表 仅代表 僅代表"),
    *_split("立场 立場 无关 無關 投稿 供稿 来稿 首发 首發 来自 來自 来源 來源 参考 參考 上传 上傳 审核 審核 校对 校對"),
    *_split("建议 建議 谨慎 謹慎 删减 刪減 删节 刪節 删除 刪除 改动 改動 公众号 公眾號 id: id： 传递 傳遞 传播 傳播"),
    *_split("真实性 真實性 关注 關注 存储 儲存 个人 個人"),
)


def _formulas(table: dict[tuple[str, ...], str]) -> tuple[tuple[str, Callable[[str], re.Match[str] | None]], ...]:
    """Compile formulas of notes that need no name of the text. Each match of a formula contains one of its keys."""
    return tuple((key, re.compile(pattern).search) for keys, pattern in table.items() for key in keys)


#: By keys, in lower case, which are much faster to look for than the formulas.
_ENGLISH_FORMULAS = _formulas(
    {
        ("©",): r"^\W*©\W*(?:copyright )?(?:19|20)\d\d\b",
        ("copyright ",): r"^\W*copyright\W+(?:\(c\)|©)?\W*(?:19|20)\d\d\b",
        ("originally ", "first published", "first appeared", "first posted"): (
            r"^\W*(?:originally|first) (?:published|appeared|posted) (?:on|in|by|at)\b"
        ),
        ("read the original", "read the full"): r"\bread the (?:original|full) (?:article|story|post)\b",
        ("s expressed ",): r"\b(?:views|opinions)\b[^.]{0,30} expressed (?:here|in this|are)\b",
        (" not necessarily ",): r"\bdo(?:es)? not necessarily (?:reflect|represent)",
        ("be edited ", "been edited "): r"\b(?:not been edited by|(?:may be|can be|been) edited for)\b",
        ("crosspost", "cross-post"): r"\bcross-?posted\b",
        ("positions in any", "position in any"): r"\bno positions? in any\b",
        ("content agency", "newswire", "news service", "llc"): (
            r"\bdistributed by\b[^.]{0,60}\b(?:content agency|newswire|news service|llc)\b"
        ),
        ("reporting by ",): r"^\W*(?:additional )?reporting by ",
        ("affiliate links",): r"\baffiliate links\b",
        ("earn a commission",): r"\bearn a commission\b",
        (" advice",): (
            r"\b(?:constitutes?|substitute for|(?:is|are) not"
            r"|(?:considered|construed|intended|taken|treated) (?:as|to be)) (?:\w+ ){0,4}advice\b"
        ),
        (" purposes only",): r"\b(?:general|informational?) purposes only\b",
        ("on facebook", "on instagram", "on linkedin", "on tiktok", "on twitter", "on x"): (
            r"\bfollow (?:us|[\w ]{2,30}) on (?:facebook|instagram|linkedin|tiktok|twitter|x)\b"
        ),
        ("subscribe",): r"\bsubscribe to our\b|\bunsubscribe at any\b",
        ("sign up ",): r"\bsign up (?:(?:for|to) our|to receive)\b",
        ("join our",): r"\bjoin our (?:channel|newsletter|telegram|whatsapp|mailing)\b",
        ("get all the latest",): r"\bget all the latest\b",
        ("click here to",): r"\bclick here to\b",
        ("download ",): r"\bdownload (?:the|our) [\w ]{0,20}app\b",
        ("enjoyed ", "like this", "liked this"): (
            r"\b(?:enjoyed|liked?) (?:reading )?this (?:article|piece|post|story)\b"
        ),
        ("creative commons",): r"\bunder an? creative commons\b",
        (" permission",): r"\b(?:reprinted|republished|reproduced|used) (?:here )?(?:with|by) (?:kind )?permission\b",
        ("repost this",): r"\brepost this\b",
        ("edited version",): r"\bthis is an edited version\b",
    }
)
_CHINESE_FORMULAS = _formulas(
    {
        ("侵权", "侵權", "版权", "版權"): (
            r"如(?:有|涉及?|若)?.{0,8}[侵版][权權].{0,20}(?:[删刪]除|[联聯][系繫]|告知|[处處]理)"
        ),
        ("权所有", "權所有"): r"版[权權]所有\W*(?:未|不得|$|[转轉]|[翻违違])",
        ("凡本", "凡注明"): r"凡(?:本[网網站报報]|注明)",
        ("不得转载", "不得轉載", "谢绝转载"): r"不得[转轉][载載]|谢绝转载",
        ("未经", "未經"): (
            r"未[经經].{0,16}(?:不得|[请請]勿).{0,12}(?:[转轉][载載]|摘[编編]|[复複][制製]|使用|[镜鏡]像|引用)"
        ),
        ("声明", "说明", "聲明", "說明"): r"(?:免[责責]|责任|版[权權])(?:声明|说明|聲明|說明)[:：】〕）\s]",
        ("责编", "责任编", "責編", "責任編"): r"[责責]任?[编編][辑輯]?[:：]",
        ("转载", "轉載"): r"转载(?:请|须|时|已)|轉載(?:請|須|時|已)",
        ("递更多信息", "播更多信息"): r"[传播][递播]更多信息",
        ("关注", "關注"): (
            r"[欢歡]迎[关關]注|[关關]注(?:我[们們]|本)|(?:[请請]|[长長]按|[点點][击擊]|[扫掃]).{0,10}[关關]注.{0,10}(?:公[众眾][号號]|微信)"
            r"|(?:[长長]按|[扫掃]).{0,14}[关關]注"
        ),
        ("app", "客户端", "客戶端", "公众号"): (
            r"[尽盡]在.{0,12}(?:app|客[户戶]端|公众号)|(?:立即|[点點][击擊]|[欢歡]迎|快[来來]).{0,4}下[载載].{0,10}(?:app|客[户戶]端)"
        ),
        ("打开", "打開"): r"打[开開].{0,12}查看",
        ("好友",): r"加入.{0,12}好友",
        ("喜欢这篇", "喜歡這篇"): r"喜[欢歡][这這]篇",
        ("朋友圈",): r"分享.{0,6}朋友圈",
        ("不构成", "不構成"): r"不[构構]成.{0,10}建[议議]",
        ("谨慎", "謹慎"): r"有[风風][险險].{0,8}[谨謹]慎",
        ("报料", "報料", "爆料"): r"[报報爆]料[热熱邮郵]",
        ("新闻线索", "新聞線索"): r"新[闻聞][线線]索",
    }
)


def _shortest(keys: Sequence[str]) -> tuple[str, ...]:
    """Return the keys that contain no other one."""
    return tuple(dict.fromkeys(key for key in keys if not any(other != key and other in key for other in keys)))


_ENGLISH_KEYS = _shortest([*_ENGLISH_WORDS, *(key for key, _ in _ENGLISH_FORMULAS)])
_CHINESE_KEYS = _shortest([*_CHINESE_WORDS, *(key for key, _ in _CHINESE_FORMULAS)])


def is_publication_note(text: str, length: int) -> bool:
    """Return whether a block of ``length`` bytes is about the publication of the text beside it, not about its subject.

    >>> notes = "This story first appeared in the Gazette.", "声明：本文转载自清河日报，如有侵权请联系删除。"
    >>> [is_publication_note(text, len(text.encode())) for text in (*notes, "The story first appeared in 1840.")]
    [True, True, False]
    """
    folded = text.lower()
    found = folded.__contains__
    chinese = length > HAN_BYTES * len(text)
    formulas, words = (_CHINESE_FORMULAS, _CHINESE_WORDS) if chinese else (_ENGLISH_FORMULAS, _ENGLISH_WORDS)
    matches = (search(folded) for key, search in formulas if found(key))
    if any(_is_said_first(match) for match in matches if match):
        return True
    if not any(map(found, words)):
        return False
    named = (_names_in_chinese if chinese else _names_in_english)(folded)
    return named is not None and _is_said_first(named) and folded[: named.start()] != "in "


def _is_said_first(match: re.Match[str]) -> bool:
    """Return whether the sentence of a match begins in the first half: a last paragraph may end with its editor."""
    text = match.string
    return max(text.rfind(end, 0, match.start()) for end in _SENTENCE_ENDS) < len(text) // 2


def may_hold_note(texts: Sequence[str], size: int) -> bool:
    """Return whether any of some blocks may be a note; looking for words in all of them together takes less time.

    Args:
        texts: the blocks.
        size: bytes of all of them in UTF-8, which shows the script.
    """
    together = "\n".join(texts).lower()
    return any(map(together.__contains__, _CHINESE_KEYS if size > HAN_BYTES * len(together) else _ENGLISH_KEYS))
