"""Discussions: pages on which the posts of several authors are the main text.

On an article, comments and other articles inside it are by other authors, and are left out. On a page of a forum, or of
questions and answers, they are the text. Such a page is known by what it declares: a type of schema.org
(``DiscussionForumPosting``, ``QAPage``), the generator, or the classes that forum software gives to a post. The words
"post", "comment" and "thread" alone prove nothing, because blogs use them too.

The signs were chosen on one half of the hosts of the labelled set wcxb (docs/methods.md, "Discussions").
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from dedupcrawl.page.flatten import word_set
from dedupcrawl.page.rules import SideKind, name_words
from dedupcrawl.page.structure import ancestors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.page.blocks import BlockTree


DECLARED = "discussion="  #: the note of a page that declares itself a discussion, see ``flatten``
#: Names in ``<meta name=generator>`` of programs for discussions.
SOFTWARE = ("discourse", "xenforo", "phpbb", "vbulletin", "invision", "flarum", "nodebb", "vanilla")
#: Classes of the page of a discussion, around more than the posts.
PAGE_CLASSES = word_set("comment-tree commentarea lemmy-site")
#: Classes of a post, or of its text, in the templates of these programs.
POST_CLASSES = word_set("""
    crawler-post topic-body topic-post
    message--post message-body message-userContent messageContent messageText
    postbody
    b-post__content js-post__content-text postbit postbitlegacy
    author_statistics postbit_buttons
    cPost ipsComment ipsComment_content ipsEntry ipsEntry__content
    CommentPost Post-body PostStream
    ItemComment ItemDiscussion MessageList
    plhin
    answercell js-post-body postcell
    bbp-reply-content bbp-topic-content
""")
#: Beginnings of the id of a post, before its number: vBulletin, Discuz!, Simple Machines.
POST_IDS = ("post_message_", "postmessage_", "msg_")
MIN_THREAD_SHARE = 0.5  #: of the text beside links and landmarks: less is comments on something else
#: What stands beside a post: its author's signature and figures, and what readers did with it.
BESIDE_WORDS = word_set("badges extras flair likes reactions sig signature signatures statistics stats")


class Sign(IntEnum):
    """What class and id of an element show."""

    NONE = 0
    POST = 1  #: it is a post, or a part of one
    PAGE = 2  #: it is around a discussion


def mark_discussion(tree: BlockTree) -> None:
    """Note in the tree of a page whether it is a discussion; if so, comments and inner articles are no side parts."""
    signs = [*map(sign_of, tree.heads)]
    posts = [container for container, sign in enumerate(signs) if sign is Sign.POST] if any(signs) else []
    tree.thread = thread_container(tree, posts)
    if tree.thread < 0 and Sign.PAGE not in signs and not any(map(_declares, tree.metadata)):
        return
    tree.is_discussion = True
    tree.posts = frozenset(posts)
    tree.around_posts = frozenset().union(*(ancestors(tree.parents[post], tree.parents) for post in posts))
    tree.nested.clear()
    for container, side in enumerate(tree.sides):
        if is_beside_post(tree.heads[container]):
            tree.sides[container] = SideKind.LIKELY
        elif side is SideKind.COMMENTS:
            tree.sides[container] = SideKind.NONE
    for container in posts:
        tree.sides[container] = SideKind.NONE


def thread_container(tree: BlockTree, posts: Sequence[int]) -> int:
    """Return the container around all posts, -1 if it has less than half of the text: then the posts are comments."""
    thread = common_ancestor(posts, tree.parents)
    if thread < 0:
        return -1
    inside = containers_in(thread, tree.parents)
    text = [(block[6], block[1] - block[2]) for block in tree.blocks if tree.sides[block[6]] is not SideKind.LANDMARK]
    held = sum([length for container, length in text if inside[container]])
    return thread if held >= MIN_THREAD_SHARE * sum([length for _, length in text]) else -1


def containers_in(top: int, parents: Sequence[int]) -> list[bool]:
    """Return for each container whether it is ``top`` or in it."""
    inside = [False] * len(parents)
    inside[top] = True
    for container in range(top + 1, len(parents)):
        inside[container] = inside[parents[container]]
    return inside


def common_ancestor(containers: Sequence[int], parents: Sequence[int]) -> int:
    """Return the innermost container around all of these, -1 for none. Parents precede their children."""
    found = containers[0] if containers else -1
    for container in containers:
        other = container
        while found != other:
            found, other = (parents[found], other) if found > other else (found, parents[other])
    return found


@lru_cache(maxsize=16384)
def sign_of(head: str) -> Sign:
    """Return what ``tag class id`` of an element shows.

    >>> [sign_of(head).name for head in ("div message-body js-post", "div post postmessage_31", "div post msg_text")]
    ['POST', 'POST', 'NONE']
    """
    names = head.split()[1:]
    if not POST_CLASSES.isdisjoint(names) or any(map(_is_post_id, names)):
        return Sign.POST
    return Sign.NONE if PAGE_CLASSES.isdisjoint(names) else Sign.PAGE


def _is_post_id(name: str) -> bool:
    return name.startswith(POST_IDS) and name.rpartition("_")[2].isdigit()


def _declares(entry: str) -> bool:
    """Return whether ``name=value`` of a page declares it a discussion."""
    if entry[:9].lower() == "generator":
        program = entry.lower()
        return any(name in program for name in SOFTWARE)
    return entry == DECLARED


@lru_cache(maxsize=16384)
def is_beside_post(head: str) -> bool:
    """Return whether ``tag class id`` of an element in a discussion is that of a signature or of figures.

    >>> is_beside_post("div message-signature "), is_beside_post("div message-body ")
    (True, False)
    """
    return not BESIDE_WORDS.isdisjoint(name_words(head.partition(" ")[2]))
