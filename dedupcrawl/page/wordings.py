"""Blocks that give themselves away by their words: pointers to other stories, credits, captions, notices.

They change from site to site while the article stays the same. A word alone proves nothing, so each is
believed only where such a block stands: a pointer where links hold a good part of it, a credit or a notice
where the main text begins or ends, a caption by the agency in brackets behind it.
"""

from __future__ import annotations

import re

CREDIT_MOST = 120  #: bytes: a longer block states something, whatever it begins with
CAPTION_MOST = 250  #: bytes
NOTICE_MOST = 600  #: bytes
COOKIE = "ookie"  #: part of every consent notice
#: How a block must end to be a caption at all.
CAPTION_ENDS = (")", "）", "摄", "攝", "图片", "照片")

_FRONT = r"[\s（(【\[《<>«»*|·•—–-]*"
_points_elsewhere = re.compile(
    _FRONT + r"(?:(?:also )?(?:read|see|learn|find out)(?: more| also| next| on)?"
    r"|more(?: on this| from us| stories)?|related(?: \w+)?|don.?t miss"
    r"|you (?:may|might) (?:also )?(?:like|enjoy)|recommended(?: for you)?"
    r"|相关(?:阅读|新闻|链接|报道|文章|推荐)|相關(?:閱讀|新聞|連結|報導|文章)|(?:延伸|推荐)阅读"
    r"|更多(?:阅读|内容|新闻|报道)|猜你喜欢|热门(?:推荐|文章|阅读)|精彩推荐|往期(?:回顾|精彩)|[上下]一[篇页])"
    r"\s*[:：|>»】\]\n]",
    re.IGNORECASE,
).match
_DATE = (
    r"\d{4}[-/.年]\s?\d{1,2}[-/.月]\s?\d{1,2}日?\s*(?:\d{1,2}[:：]\d{2}(?:[:：]\d{2})?)?\s*(?:更新|发布)?\s*"
)
_credits = re.compile(
    _FRONT + f"(?:{_DATE})?"
    r"(?:(?:Sources?|Author|Written by|Report(?:ed|ing) by|Edit(?:ed|ing) by|Photos? by|Posted"
    r"|(?:First |Last )?(?:[Pp]ublished|[Uu]pdated)|Copyright|Filed under|Tags)\b|©|B[Yy] [A-Z]"
    r"|(?:(?:文章|信息|稿件|新闻|内容|本文)?(?:来源|來源|出处)|作者|(?:责任)?编辑|(?:責任)?編輯|责编"
    r"|审核|校对|供稿|撰稿|摄影|(?:本报|见习|实习)?记者|通讯员|发布(?:时间|日期|者)|发[表布]于|发稿时间"
    r"|更新时间|浏览次数|阅读次数|点击数|字号|字体|标签|关键词|原标题|[上下]一[篇页]|打印本页)[:：\s]"
    r"|本报(?:记者|实习生|通讯员)|第\d+页\s*[/／共])"
).match
_names_agency = re.compile(
    r"[（(][^（()）]{0,60}\b(?:Images?|Photos?|Pictures?|Getty|AP|Reuters|AFP|Credit)\b[^（()）]{0,40}[)）]\Z"
    r"|[摄攝][)）]?\Z|资料(?:图片|照片)[)）]?\Z"
).search
_names_site = re.compile(r"\b(?:web ?)?site|browser|网站|網站|本站|浏览器|瀏覽器", re.IGNORECASE).search
_full_stops = (".", "!", "?", "。", "！", "？")


def points_elsewhere(text: str) -> bool:
    """Whether a block with links begins as a pointer to other stories does.

    >>> [points_elsewhere(text) for text in ("Read more: Flood", "【相关阅读】大水", "Read this report")]
    [True, True, False]
    """
    return _points_elsewhere(text) is not None


def is_credit(text: str, length: int) -> bool:
    """Whether a block names author, source, editor or date of publication, and is no sentence.

    ``length`` in bytes, as in what follows.

    >>> [is_credit(text, 30) for text in ("By Ann Smith", "来源：新华社", "By noon it fell")]
    [True, True, False]
    """
    return length <= CREDIT_MOST and not text.endswith(_full_stops) and _credits(text) is not None


def is_caption(text: str, length: int) -> bool:
    """Whether a block ends, as captions do, with who made the picture.

    >>> [is_caption(text, 30) for text in ("The dam. (Photo: Getty)", "图为大桥。李明摄", "(It rained.)")]
    [True, True, False]
    """
    return length <= CAPTION_MOST and text.endswith(CAPTION_ENDS) and _names_agency(text) is not None


def is_consent_notice(text: str, length: int) -> bool:
    """Whether a block tells of the cookies of a web site; every language says "cookie".

    >>> [is_consent_notice(t, 50) for t in ("This site uses cookies.", "本站使用Cookie。", "Oat cookies.")]
    [True, True, False]
    """
    return length <= NOTICE_MOST and COOKIE in text and _names_site(text) is not None
