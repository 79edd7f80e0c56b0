"""The link rules: which link texts are noise, and which only look like it.

There are three kinds of links. *Guide links* only lead elsewhere and stand in runs: noise. Links *inside
sentences* guide and state at once: content. Links *to files* (mp3, zip, pdf, image…) are never noise, since
no other page carries their text. The first kind is told from the second by its share of a block, R (link
density):

* R > R1: the links are noise;
* R < R2: they are content;
* between, a run of more than S adjacent links is noise, a shorter one is content, because title, author and
  source of an article are often three links in a row.

Class and id words that name the side parts of a page.

Blocks that give themselves away by their words: pointers to other stories, credits, captions, notices.

They change from site to site while the article stays the same. A word alone proves nothing, so each is
believed only where such a block stands: a pointer where links hold a good part of it, a credit or a notice
where the main text begins or ends, a caption by the agency in brackets behind it.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING

from dedupcrawl.page.flatten import words

if TYPE_CHECKING:
    from dedupcrawl.page.options import ReadOptions


MAIN_TEXT = "main text"  #: kept
GUIDE_LINKS = "guide links"  #: cut: R > R1, or R >= R2 and its first words point to other stories
LINK_RUN = "link run"  #: cut: in a block with R2 <= R <= R1, more than S links in a row
LANDMARK = "landmark"  #: cut: HTML's own side elements (nav, aside, footer…)
SIDE_CLASS = "side class"  #: cut: its class or id names a side part (sidebar, related, cookies…)
COMMENTS = "comments"  #: cut: what readers wrote, by class or id
NESTED = "nested article"  #: cut: an article inside an article, a comment on it or a story beside it
TEASER = (
    "teaser"  #: cut: one of several headlines in a row that lead to other stories, with their first lines
)
POOR_CONTAINER = "poor container"  #: cut: its container holds little text or mostly links
OUTSIDE = "outside"  #: cut: not in the container of the main text
EDGE = "edge"  #: cut: short blocks before the beginning or after the end of the main text
REPEATED = "repeated"  #: cut: outside the container of the main text, which says the same
FRAME = "frame"  #: cut: credits, captions and consent notices, by their words

STATED = frozenset({EDGE, OUTSIDE, POOR_CONTAINER})  #: cut for where it stands, not for what it is

#: Cut as the words of others; a page with little text of its own may consist of them (a thread, a catalogue).
OTHERS = frozenset({COMMENTS, NESTED, TEASER})

#: What may stand between the links of one run.
SEPARATORS = " \t\r\n\xa0\u3000|/\\·•・‧∙●■◆›»>«‹<→←-–—_~:：;；,，、.。…*+[]()（）【】「」『』&"

FILE_TYPES = words("""
    7z aac aiff apk asf avi bin bmp bz2 chm csv deb dmg doc docx epub exe flac flv gif gz ico iso jar
    jpeg jpg m3u m4a m4v mid midi mkv mobi mov mp3 mp4 mpeg mpg msi odp ods odt ogg ogv opus pdf pls png
    ppt pptx ps psd ra ram rar rm rmvb rpm rtf svg swf tar tgz tif tiff torrent txt wav webm webp wma
    wmv xls xlsx xz zip
""")
LONGEST_TYPE = max(map(len, FILE_TYPES))


def leads_to_page(target: str) -> bool:
    """Whether a link leads to a web page: it has a target, and that is no file by its extension.

    >>> [leads_to_page(target) for target in ("/a.html", "/song.MP3?from=list", "/get?file=a.zip", "")]
    [True, False, False, False]
    """
    ending = target[target.rfind(".") + 1 :]
    if not target or (len(ending) <= LONGEST_TYPE and ending.lower() in FILE_TYPES):
        return False
    if "?" in target or "#" in target:
        path = target.partition("#")[0].partition("?")[0]
        return path.rpartition(".")[2].lower() not in FILE_TYPES
    return True


def link_noise(length: int, link_length: int, longest_run: int, options: ReadOptions) -> str | None:
    """Return why a block's guide links are noise (GUIDE_LINKS, LINK_RUN), or None if they are not.

    Lengths in bytes; ``link_length`` counts links to web pages only.
    """
    if link_length > options.link_density_noise * length:
        return GUIDE_LINKS
    if link_length >= options.link_density_content * length and longest_run > options.link_run:
        return LINK_RUN
    return None


class SideKind(IntEnum):
    """How sure a container's class or id is that it holds no main text."""

    NONE = 0
    LIKELY = 1  #: a side part unless much of the page's text is in it
    COMMENTS = 2  #: a side part as long as other text is left
    NOTICE = 3  #: a side part as long as other text is left and it is not long: footers, consent to cookies
    LANDMARK = 4  #: an element for side parts (nav, aside, footer…)


COMMENT_WORDS = words("comment commentlist comments disqus livefyre replies respond")
NOTICE_WORDS = words("ccpa consent cookie cookies foot footer gdpr privacy")
SIDE_WORDS = words("""
    ad ads adsbygoogle advert advertisement advertising adverts bio breadcrumb breadcrumbs byline
    caption captions copyright credit credits crumb crumbs disclaimer editor erweima gallery hidden
    hotnews keywords login masthead menu menus mostpopular
    mostread nav navbar navigation newsletter newsletters noprint outbrain pagenav pager pagination
    popular popup modal promo promos promotion qrcode rail readmore moreon recirc recommend
    recommendation recommendations recommended register related relatedarticles relatedposts rightcol
    rightrail share sharebar shares sharing sidebar sidebars signin signup sns social sponsor sponsored
    sponsors submenu subscribe subscriber subscription taboola tag taglist tags teaser teasers toc
    toolbar topbar trending tuijian widget widgets xiangguan zebian
""")
EMBEDDED = "embed"
#: A name that begins so says something of the text inside, or of what stands beside it: WordPress puts
#: ``tag-politics`` on an article and ``has-sidebar`` on a page.
ABOUT = ("category-", "has-", "hide-", "no-", "post-", "show-", "tag-", "tags-", "with-", "without-")
_parts = re.compile(r"[A-Z]?[a-z]+|[A-Z]+").findall


def side_part(names: str) -> SideKind:
    """Judge the class and id of an element by the words in them.

    What an article embeds, such as the post of somebody in a social network, is a part of it.

    >>> side_part("post-body relatedPosts"), side_part("hentry tag-cookies"), side_part("social-embed")
    (<Side.LIKELY: 1>, <Side.NONE: 0>, <Side.NONE: 0>)
    """
    found = words_of(names)
    if not COMMENT_WORDS.isdisjoint(found):
        return SideKind.COMMENTS
    if not NOTICE_WORDS.isdisjoint(found):
        return SideKind.NOTICE
    if EMBEDDED in found:
        found.discard("social")
    return SideKind.NONE if SIDE_WORDS.isdisjoint(found) else SideKind.LIKELY


def words_of(names: str) -> set[str]:
    """Return the words in the class and id of an element that may say what the text inside is.

    >>> sorted(words_of("main-body relatedPosts tag-cookies"))
    ['body', 'main', 'posts', 'related']
    """
    return {word.lower() for name in names.split() if not name.startswith(ABOUT) for word in _parts(name)}


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
