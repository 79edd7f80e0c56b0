"""The rules of the reader ``"blocks"``: link rules, class and id names, typical words of a block.

Link rules (source: "Web page noise elimination by blocks"). *Guide links* only lead elsewhere, and occur in
runs: noise. *Links inside sentences* are guide and statement: content. *Links to files* (mp3, zip, pdf,
image…) are never noise, because no other page has their text. The first kind is distinguished from the second
by R (link density), the share of link text in a block:

* R > R1: the links are noise;
* R < R2: they are content;
* between: a run of more than S adjacent links is noise, a shorter one is content, because title, author and
  source of an article are often three links in a row.

Class and id (:func:`side_kind`) and first or last words of a block (:func:`is_credit`…) change from site to
site while the article stays the same. A word alone proves nothing. It is used only in its typical position: a
pointer where links are a large part of the block, a credit or a notice at the beginning or end of the main
text, a caption by the agency in brackets at its end. The word lists were collected from the labelled page
sets aeb and cwced (docs/methods-reading.md), the byte limits chosen on them.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedupcrawl.page.options import ReadOptions


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text.

    >>> sorted(word_set("nav aside footer"))
    ['aside', 'footer', 'nav']
    """
    return frozenset(text.split())


MAIN_TEXT = "main text"  #: kept
GUIDE_LINKS = "guide links"  #: removed: R > R1, or R >= R2 and the first words point to other stories
LINK_RUN = "link run"  #: removed: in a block with R2 <= R <= R1, more than S links in a row
LANDMARK = "landmark"  #: removed: HTML's own side elements (nav, aside, footer…)
SIDE_CLASS = "side class"  #: removed: class or id names a side part (sidebar, related, cookies…), or it is not shown
COMMENTS = "comments"  #: removed: readers' comments, by class or id
REPLIES = "replies"  #: removed: readers' comments beside a text that the page declares; never compared
NESTED = "nested article"  #: removed: an article inside an article, a comment on it or another story
TEASER = "teaser"  #: removed: one of several adjacent headlines of other stories, with their first lines
POOR_CONTAINER = "poor container"  #: removed: the container has little text or mostly links
OUTSIDE = "outside"  #: removed: not in the container of the main text
EDGE = "edge"  #: removed: short blocks before the beginning or after the end of the main text
REPEATED = "repeated"  #: removed: outside the container of the main text, which has the same text
MODEL_KEPT = "kept by the block model"  #: kept: the rules misread the page, and the model reads this as main text
MODEL_REMOVED = "block model"  #: removed: main text by the rules, but not by the model
KEPT_REASONS = frozenset({MAIN_TEXT, MODEL_KEPT})
FRAME = "frame"  #: removed: credits, captions and consent notices, by their words
CONSENT = "consent"  #: removed: asks for consent to cookies, by its words, whatever its length

POSITION_REASONS = frozenset({EDGE, OUTSIDE, POOR_CONTAINER})  #: removed for its position, not its nature
#: Removed as text of other authors or stories. A page with little main text may consist of it (a forum, a
#: catalogue).
THIRD_PARTY_REASONS = frozenset({COMMENTS, NESTED, TEASER})

#: Characters that do not end a run of links.
SEPARATORS = " \t\r\n\xa0\u3000|/\\·•・‧∙●■◆›»>«‹<→←-–—_~:：;；,，、.。…*+[]()（）【】「」『』&"

#: Extensions of files that are no web pages.
FILE_TYPES = word_set("""
    7z aac aiff apk asf avi bin bmp bz2 chm csv deb dmg doc docx epub exe flac flv gif gz ico iso jar
    jpeg jpg m3u m4a m4v mid midi mkv mobi mov mp3 mp4 mpeg mpg msi odp ods odt ogg ogv opus pdf pls png
    ppt pptx ps psd ra ram rar rm rmvb rpm rtf svg swf tar tgz tif tiff torrent txt wav webm webp wma
    wmv xls xlsx xz zip
""")
MAX_TYPE_CHARS = max(map(len, FILE_TYPES))

COMMENT_WORDS = word_set("comment commentlist comments disqus livefyre replies respond")
NOTICE_WORDS = word_set("ccpa consent cookie cookies foot footer gdpr privacy")
SIDE_WORDS = word_set("""
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
#: Of these, words that a part with sentences mostly has for another reason: the editor of a page builder, or a note by
#: the editor; a place for an advertisement around the text; the rest of a text, which a button shows.
AMBIGUOUS_WORDS = word_set("ad editor hidden")
#: Classes of the sections of a manual in DocBook's and AsciiDoc's HTML.
SECTIONS = word_set("refsect1 refsect2 refsect3 sect0 sect1 sect2 sect3 sect4 sect5 sect6")
#: A name with such a prefix describes the topic of the text, something beside it, or its look: WordPress gives
#: an article the class ``tag-politics``, and a page ``has-sidebar``; ``overflow-hidden`` and ``hidden-xs`` are
#: utility classes of Tailwind and Bootstrap for parts that are shown.
TOPIC_PREFIXES = (
    *("category-", "has-", "hide-", "no-", "post-", "show-", "tag-", "tags-", "with-", "without-"),
    *("backface-", "hidden-", "is-hidden-", "overflow-"),
)
#: Names of parts that are not shown. In any other name something else is hidden (``field--label-hidden``).
HIDDEN_NAMES = frozenset({"hidden", "is-hidden", "visually-hidden"})
HASH_CHARS = 5  #: characters of the hash in the class of a CSS module
VARIANT = ":"  #: a utility class that holds on some screens or in some states only contains it ("lg:hidden")

MAX_CREDIT_BYTES = 120  #: a longer block is a statement, whatever its first words are
MAX_STAMP_BYTES = 160  #: a longer block is a statement, whatever it counts
MAX_CAPTION_BYTES = 250  #: a longer block is a paragraph, even if it ends as captions do
MAX_NOTICE_BYTES = 600  #: a longer block is an article about cookies
CAPTION_ENDS = (")", "）", "摄", "攝", "图片", "照片")  #: every caption ends with one of them

#: Letters after a digit belong to a number or to a generated name (``css-1d8ad8q``), and are no word.
_name_parts = re.compile(r"\d[A-Za-z]*|([A-Z]?[a-z]+|[A-Z]+)").findall
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
_DATE = r"\d{4}[-/.年]\s?\d{1,2}[-/.月]\s?\d{1,2}日?\s*(?:\d{1,2}[:：]\d{2}(?:[:：]\d{2})?)?\s*(?:更新|发布)?\s*"
_credits = re.compile(
    _FRONT + f"(?:{_DATE})?"
    r"(?:(?:Sources?|Author|Written by|Report(?:ed|ing) by|Edit(?:ed|ing) by|Photos? by|Posted"
    r"|(?:First |Last )?(?:[Pp]ublished|[Uu]pdated)|Copyright|Filed under|Tags)\b|©|B[Yy] [A-Z]"
    r"|(?:(?:文章|信息|稿件|新闻|内容|本文)?(?:来源|來源|出处)|作者|(?:责任)?编辑|(?:責任)?編輯|责编"
    r"|审核|校对|供稿|撰稿|摄影|(?:本报|见习|实习)?记者|通讯员|发布(?:时间|日期|者)|发[表布]于|发稿时间"
    r"|更新时间|浏览次数|阅读次数|点击数|字号|字体|标签|关键词|原标题|[上下]一[篇页]|打印本页)[:：\s]"
    r"|本报(?:记者|实习生|通讯员)|第\d+页\s*[/／共])"
).match
#: A date with a year: 12 May 2021, May 12th, 2021, 12. Mai 2021, 12 de mayo de 2021, 12.05.2021, 2021年5月12日.
_date_with_year = re.compile(
    r"(?<!\d)\d{1,2}(?:\.|st|nd|rd|th|er|º)? (?:de |of )?[^\W\d_]{3,12}\.?,? (?:de )?(?:19|20)\d\d(?!\d)"
    r"|[^\W\d_]{3,12}\.? \d{1,2}(?:st|nd|rd|th)?,? (?:19|20)\d\d(?!\d)"
    r"|(?<!\d)\d{1,2}[./-]\d{1,2}[./-](?:19|20)\d\d(?!\d)|(?<!\d)(?:19|20)\d\d ?[-/.年년] ?\d{1,2}(?!\d)"
).search
#: What names a source or an author after it, with a colon, in the languages of the notes on publication and others.
_names_origin = re.compile(
    r"(?<![^\W\d_])(?:source|quelle|fuente|fonte|font|bron|źródło|zdroj|izvor|vir|källa|kilde|lähde|kaynak|surs[aă]|forrás"
    r"|allikas|avots|šaltinis|heimild|foinse|πηγή|источник|джерело|извор|източник"
    r"|author|autor|auteur|autore|autora|forfatter|författare|kirjoittaja|yazar|szerző|avtor|autorius|autors|höfundur"
    r"|συντάκτης|автор|редактор|editor|redaktion|redacción|rédaction|redazione|text|texte|texto|testo|foto|photo)s?"
    r" ?[:：]|(?:来源|來源|出处|出處|作者|编辑|編輯|记者|記者|出典|出所|提供|文責|執筆|출처|글|기자|작성자) ?[:：]"
    r"|(?<![^\W\d_])by (?-i:[A-Z])",
    re.IGNORECASE,
).search
#: The URL of the page, alone or after a word for it. That of a website may be what a page is about.
_is_url = re.compile(
    r"(?:(?:permalink|page url|source url|url of this page|本[文页頁](?:网址|網址|链接|連結)|原文(?:链接|連結)"
    r"|この(?:記事|ページ)のURL)\s*[:：]\s*)?https?://\S+\Z",
    re.IGNORECASE,
).match
#: What was printed, in front of the words for it: "This page was …".
_PAGE = (
    r"(?P<page>(?:this |the |diese[rs]? |der |die |das |cet(?:te)? |l['’]|est[ea] |el |la |il |quest[oa] |эта )?"
    r"(?:page|article|document|seite|artikel|dokument|artículo|página|documento|articolo|pagina|artigo"
    r"|страница|статья|strona|artykuł|本[页頁文])(?: was| is| wurde| a été| est| fue| ha sido| è stat[ao]| foi)? ?)?"
)
#: How a view for printers names its page, before the URL, the host or the date, in the languages of consent texts.
_printed_from = re.compile(
    _FRONT
    + _PAGE
    + r"(?:printed (?:from|by|at|on)|print(?:er[- ]friendly)? (?:date|version of)|(?:aus)?gedruckt|druckversion von"
    r"|imprim(?:[ée]e?|at)|impress?[oa]|stampat[oa]|stampa da|wydruk ze|skrevet ut|(?:рас|на)печатан[оа]"
    r"|версия для печати|отпечатано|роздруковано|надруковано|wydrukowano|afgedrukt|geprint|udskrevet"
    r"|utskrive[nt]|tulostettu|vytištěno"
    r"|vytlačené|nyomtatva|tipărit|yazdırıldı|natisnjeno|ispisano|otisnuto|atspausdinta|izdrukāts|prinditud|trükitud"
    r"|prentað|εκτυπώθηκε|εκτύπωση|طبع|طُبع|چاپ شده|הודפס|打印自|列印自|印刷元|印刷日時?|인쇄)\b",
    re.IGNORECASE,
).match
#: Words of titles that name a view of a page, not its topic.
VIEW_WORDS = word_set(
    "print printer printable friendly version amp mobile page view untitled 打印 印本 本页 列印"
    " druckversion druckansicht drucken druckbare ansicht seite"
    " imprimer imprimable impression imprimir impresión imprimible versión versão impressão para página"
    " stampa stampare stampabile versione pagina afdrukken afdrukversie printversie utskrift utskriftsvänlig skriv"
    " wersja druku drukuj wydruk печать печати версия для страницы распечатать"
    " 印刷 刷用 用ペ ペー ージ 印刷用 인쇄 쇄용"
)
#: Beginnings of words in lines that only a view has: "printed from", in the languages of consent texts.
VIEW_PARTS = word_set("""
    print druck gedruckt ausgedruckt imprim impreso impresso stampa печат распечат отпечат роздрук друк wydruk afgedrukt
    geprint udskr utskr tulostettu vytišt vytlač nyomtat tipărit yazdır natisnjen ispisano otisnut atspausd izdruk
    prindi trükitud prentað εκτυπ εκτύπ طبع چاپ הודפס 打印 列印 印刷 인쇄
""")
#: The same with the name of the site first: in Chinese with its address, in Japanese and Korean as a sentence.
_printed_by = re.compile(
    r"本[页頁文]由.{1,30}?(?:打印|列印|印制).{0,4}(?:网址|網址|地址|链接|連結)"
    r"|この(?:記事|ページ)は.{1,120}?から印刷されました|이 (?:기사|페이지)는 .{1,120}?에서 인쇄되었습니다"
).match
_has_host = re.compile(r"(?<![\w@.])(?:[^\W_][\w-]*\.)+[a-z]{2,}(?=[/\s,;)]|\.?\Z)", re.IGNORECASE).search
_digit = re.compile(r"\d").search
#: A time of editing, or a number of readers: beside the counted word only. Words may be joined by the layout
#: ("MillerPublished"). "unchanged" and "Review: …" do not count.
_stamp = re.compile(
    r"(?:(?<![^\W\d_])|(?=(?-i:[A-Z])))(?:(?:published|updated|modified|posted|printed|retrieved|edited|changed|reviewed)\b"
    r"|views?:|reads?:|comments? ?[:(]|reviews?: ?\d)"
    r"|(?:发布|發布|更新|打印|修改)(?:时间|日期|于)?[:：\s]|阅读|浏览|点击|人气"
    r"|\b\d[\d.,]*k? (?:comments?|replies|views?|reads?|readers|likes?|shares?|votes?|visits?|visitors?|hits"
    r"|downloads?)\b"
    r"|\b(?:read|viewed|shared|visited|downloaded) \d[\d.,]*k? times\b|found this helpful|min(?:ute)?s? read\b"
    r"|\b(?:minutes?|hours?|days?) ago\b"
    r"|\d[\d.,]*万?\+?\s?(?:次(?:阅读|浏览|点击|播放)|人(?:看过|浏览|阅读|评论|点赞)|条(?:评论|回复)|阅读|评论|浏览)|(?:分钟|小时)前",
    re.IGNORECASE,
).search
#: Each stamp has one of them. They are found in a hundredth of the time.
_STAMP_KEYS = (
    *("published", "updated", "modified", "posted", "printed", "retrieved", "edited", "changed", "reviewed", "view"),
    *("read", "comment", "repl", "like", "share", "vote", "visit", "hits", "download", "helpful", " ago"),
    *("发布", "發布", "更新", "打印", "修改", "阅读", "浏览", "点击", "人气", "播放", "看过", "评论", "点赞", "回复"),
    *("分钟前", "小时前"),
)
_names_agency = re.compile(
    r"[（(][^（()）]{0,60}\b(?:Images?|Photos?|Pictures?|Getty|AP|Reuters|AFP|Credit)\b[^（()）]{0,40}[)）]\Z"
    r"|[摄攝][)）]?\Z|资料(?:图片|照片)[)）]?\Z"
).search
_names_site = re.compile(r"\b(?:web ?)?site|browser|网站|網站|本站|浏览器|瀏覽器", re.IGNORECASE).search
_full_stops = (".", "!", "?", "。", "！", "？")


def leads_to_page(target: str) -> bool:
    """Return whether a link leads to a web page: it has a target without the extension of a file.

    >>> [leads_to_page(target) for target in ("/a.html", "/song.MP3?from=list", "/get?file=a.zip", "")]
    [True, False, False, False]
    """
    ending = target[target.rfind(".") + 1 :]
    if not target or (len(ending) <= MAX_TYPE_CHARS and ending.lower() in FILE_TYPES):
        return False
    if "?" in target or "#" in target:
        path = target.partition("#")[0].partition("?")[0]
        return path.rpartition(".")[2].lower() not in FILE_TYPES
    return True


def link_noise(length: int, link_length: int, longest_run: int, options: ReadOptions) -> str | None:
    """Return why the links of a block are noise (GUIDE_LINKS, LINK_RUN), or None; lengths in bytes."""
    if link_length > options.link_density_noise * length:
        return GUIDE_LINKS
    if link_length >= options.link_density_content * length and longest_run > options.link_run:
        return LINK_RUN
    return None


class SideKind(IntEnum):
    """The kind of a container by its class and id: how probably it holds no main text."""

    NONE = 0
    LIKELY = 1  #: a side part, unless it holds much of the page's text
    COMMENTS = 2  #: a side part, if other text is left
    NOTICE = 3  #: a side part, if it is not long and other text is left: footers, cookie consent
    LANDMARK = 4  #: an element for side parts (nav, aside, footer…)


def side_kind(names: str) -> SideKind:
    """Classify an element by the words in its class and id.

    Embedded content, such as a post from a social network, is a part of the article.

    >>> side_kind("post-body relatedPosts"), side_kind("hentry tag-cookies"), side_kind("social-embed")
    (<SideKind.LIKELY: 1>, <SideKind.NONE: 0>, <SideKind.NONE: 0>)
    """
    if is_section(names):  # the id of such a part is about its topic
        return SideKind.NONE
    found = name_words(names)
    if not COMMENT_WORDS.isdisjoint(found):
        return SideKind.COMMENTS
    if not NOTICE_WORDS.isdisjoint(found):
        return SideKind.NOTICE
    if "embed" in found:
        found -= {"social"}
    if "text" in found or "code" in found:  # a program, not the person: "elementor-text-editor"
        found -= {"editor"}
    return SideKind.NONE if SIDE_WORDS.isdisjoint(found) else SideKind.LIKELY


@lru_cache(maxsize=16384)
def is_section(head: str) -> bool:
    """Return whether ``tag class id`` of an element has the class of a section of a manual.

    >>> is_section("div sect2 SQL-COOKIES"), is_section("div sect")
    (True, False)
    """
    return not SECTIONS.isdisjoint(head.split())


@lru_cache(maxsize=16384)
def side_words(head: str) -> frozenset[str]:
    """Return the words in ``tag class id`` of an element that show a side part; parts with equal words are of one kind.

    >>> sorted(side_words("div elementor-widget wide"))
    ['widget']
    """
    tag, _, names = head.partition(" ")
    return frozenset({tag}) if tag == "figcaption" else SIDE_WORDS & name_words(names)


@lru_cache(maxsize=16384)
def is_ambiguous(head: str) -> bool:
    """Return whether ``tag class id`` of an element shows a side part only if it has no sentences.

    >>> [is_ambiguous(head) for head in ("div elementor-widget text-editor", "div widget", "div editor-bio")]
    [True, False, False]
    """
    return frozenset() < side_words(head) - {"widget"} <= AMBIGUOUS_WORDS


@lru_cache(maxsize=16384)
def name_words(names: str) -> frozenset[str]:
    """Return the words in class and id of an element, without names that describe a topic or the look.

    >>> sorted(name_words("main-body relatedPosts tag-cookies lg:hidden node-0ead46"))
    ['body', 'main', 'node', 'posts', 'related']
    """
    if "__" in names:
        names = " ".join(map(_without_hash, names.split()))
    kept = (name for name in names.split() if not name.startswith(TOPIC_PREFIXES) and VARIANT not in name)
    found = frozenset([word.lower() for name in kept for word in _name_parts(name) if word])
    return found - {"hidden"} if "hidden" in found and HIDDEN_NAMES.isdisjoint(names.split()) else found


def _without_hash(name: str) -> str:
    """Return a name without the hash that webpack and Next.js add to those of CSS modules: ``[file]_[class]__[hash]``.

    >>> _without_hash("table_root__adKqa"), _without_hash("card__promo")
    ('table_root', 'card__promo')
    """
    own, _, end = name.rpartition("__")
    return own if len(end) == HASH_CHARS and "_" in own and not (end.isalpha() and end.islower()) else name


def points_elsewhere(text: str) -> bool:
    """Return whether the first words of a block with links point to other stories.

    >>> [points_elsewhere(text) for text in ("Read more: Flood", "【相关阅读】大水", "Read this report")]
    [True, True, False]
    """
    return _points_elsewhere(text) is not None


def is_credit(text: str, length: int) -> bool:
    """Return whether a block of ``length`` bytes names author, source, editor or date, and is no sentence.

    >>> [is_credit(text, 30) for text in ("By Ann Smith", "来源：新华社", "By noon it fell")]
    [True, True, False]
    >>> is_credit("12 May 2021 Source: The Gazette By Ann Smith", 45)
    True
    """
    if length > MAX_CREDIT_BYTES or text.endswith(_full_stops):
        return False
    return _credits(text) is not None or (_date_with_year(text) is not None and _names_origin(text) is not None)


def is_stamp(text: str, length: int) -> bool:
    """Return whether a block of ``length`` bytes has only its URL, a time of change, or a count of readers.

    >>> [is_stamp(text, 40) for text in ("Updated 3 May, 12:31.", "阅读 3051　评论 12", "12 of 40 people came")]
    [True, True, False]
    >>> [is_stamp(text, 50) for text in ("Распечатано с https://example.org/a", "Gedruckt von gazette.example")]
    [True, True]
    >>> is_stamp("本页由水苑资讯打印，网址：/Print.aspx?id=315", 60)
    True
    """
    if length > MAX_STAMP_BYTES:
        return False
    # The search for a digit is ten times as fast, and most texts have none.
    if _digit(text) is not None and any(map(text.lower().__contains__, _STAMP_KEYS)) and _stamp(text) is not None:
        return True
    if ("://" in text or "www." in text) and (_is_url(text) is not None or _printed_from(text) is not None):
        return True
    if _printed_by(text) is not None:
        return True
    printed = _printed_from(text)
    if printed is None:
        return False
    # With words for the page and a date alone it is a statement: "Der Artikel, gedruckt am 3. Mai 1998".
    return _has_host(text) is not None or (not printed["page"] and _date_with_year(text) is not None)


def is_byline(text: str, length: int) -> bool:
    """Return whether a block of ``length`` bytes is a credit or a stamp, which each site adds in its own way."""
    return is_credit(text, length) or is_stamp(text, length)


def is_caption(text: str, length: int) -> bool:
    """Return whether a block of ``length`` bytes ends with the source of a picture.

    >>> [is_caption(text, 30) for text in ("The dam. (Photo: Getty)", "图为大桥。李明摄", "(It rained.)")]
    [True, True, False]
    """
    return length <= MAX_CAPTION_BYTES and text.endswith(CAPTION_ENDS) and _names_agency(text) is not None


def is_consent_notice(text: str, length: int) -> bool:
    """Return whether a block of ``length`` bytes is about a site's cookies ("cookie" in all languages).

    >>> [is_consent_notice(t, 50) for t in ("This site uses cookies.", "本站使用Cookie。", "Oat cookies.")]
    [True, True, False]
    """
    return length <= MAX_NOTICE_BYTES and "ookie" in text and _names_site(text) is not None


MIN_STATEMENT_BYTES = 200  #: a block of at least this length is a statement even without a full stop
ends_sentence = re.compile(r"""[.!?。！？…．][\s"'”’»)）」』\]]*\Z""").search
#: The owner, host and licence of a site are named on all of its pages.
is_legal = re.compile(r"©|\(c\)|copyright|rights reserved|版权|版權|ICP|备案|備案", re.IGNORECASE).search


def is_statement(text: str, length: int) -> bool:
    """Return whether a block is a statement: long or ending as a sentence, and no copyright line.

    >>> [is_statement(text, len(text)) for text in ("Closed today.", "Sports", "© 2024 The Gazette.")]
    [True, False, False]
    """
    return (length >= MIN_STATEMENT_BYTES or bool(ends_sentence(text))) and not is_legal(text)
