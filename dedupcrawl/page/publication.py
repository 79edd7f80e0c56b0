"""Notes on the publication of a text: where it appeared first, whose opinion it is, to whom the rights belong.

Each site that takes over an article puts its own note before or after it. Beside a short text such a note is long
enough to make a copy look like another page, or two other pages look alike.

The wordings are those of news sites, portals and blogs in Chinese and English. A note has a formula of such notes, or
it names the text ("本文", "this article") and says what is said of texts: "转载", "opinions". Among 250 paragraphs that
were written without knowing the rules, 72 of 100 notes are found, and none of 150 first and last paragraphs of articles
is taken for one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_NOTE_BYTES = 600  #: a longer block is an article about publishing
MAX_NOTED_BYTES = 3000  #: beside a longer text a note is too short to matter
#: What the sentence before ends with: a formula or a name counts only in a sentence that begins in the first half.
_SENTENCE_ENDS = ("。", "！", "？", "\n", ". ", "! ", "? ")
HAN_BYTES = 2  #: bytes a character of a text in Chinese, at the least

#: What names the text itself, or its site. With some words before or behind it, it begins an abstract.
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


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


#: What is said of the text then.
_ENGLISH_WORDS = (
    *("originally published", "previously published", "first published", "first appeared", "first posted", "first ran"),
    *("originally appeared", "originally posted", "provided courtesy", "purposes only", "sign up", "follow us"),
    " views ",
    *_words("republish reprint syndicat permission licence license opinion advice translated misstated corrected"),
    *_words("affiliate copyright compensation responsib accuracy edited subscribe download sponsored donation"),
)
_CHINESE_WORDS = (
    *_words("转载 轉載 转自 轉自 转发 轉發 授权 授權 侵权 侵權 版权 版權 权益 權益 原创 原創 不代表 仅代表 僅代表"),
    *_words("立场 立場 无关 無關 投稿 供稿 来稿 首发 首發 来自 來自 来源 來源 参考 參考 上传 上傳 审核 審核 校对 校對"),
    *_words("建议 建議 谨慎 謹慎 删减 刪減 删节 刪節 删除 刪除 改动 改動 公众号 公眾號 id: id： 传递 傳遞 传播 傳播"),
    *_words("真实性 真實性 关注 關注 存储 儲存 个人 個人"),
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
    """Return whether the sentence of a match begins in the first half: the last paragraph may end with its editor."""
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
