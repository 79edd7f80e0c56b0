"""The link rules: which link texts are noise, and which only look like it.

There are three kinds of links. *Guide links* only lead elsewhere and stand in runs: noise. Links *inside
sentences* guide and state at once: content. Links *to files* (mp3, zip, pdf, image…) are never noise, since
no other page carries their text. The first kind is told from the second by its share of a block, R (link
density):

* R > R1: the links are noise;
* R < R2: they are content;
* between, a run of more than S adjacent links is noise, a shorter one is content, because title, author and
  source of an article are often three links in a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.page.tables import words

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
