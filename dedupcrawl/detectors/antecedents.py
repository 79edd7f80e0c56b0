"""Spots: the short chains of content words behind words that only running text has."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

#: English ones as in the paper, and Chinese ones; each with its spot distance.
ANTECEDENTS: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(("the", "a", "an", "is", "was", "said", "的", "了", "是", "在", "和"), 1)
)

# The closed classes of English (articles, pronouns, prepositions, conjunctions, auxiliaries, and what is
# left of contractions at an apostrophe) and of Chinese (particles, pronouns, prepositions, conjunctions,
# the commonest adverbs, modal verbs and localisers, in both scripts), put down for this package.
_ENGLISH = """
a an the this that these those i me my mine myself we us our ours ourselves you your yours yourself
yourselves he him his himself she her hers herself it its itself they them their theirs themselves who
whom whose which what am is are was were be been being have has had having do does did doing done will
would shall should can could may might must ought about above across after against along among around as
at before behind below beneath beside between beyond by despite down during except for from in inside
into like near of off on onto out outside over past per since than through throughout to toward towards
under until up upon via with within without and but or nor so yet if because while whereas although
though unless whether when where why how not no any some all both each either neither every other another
such only own same too very just also even still ever never there here then now again once more most much
many few less least said says s t d m ll re ve
"""
_CHINESE = """
的 了 着 过 地 得 之 所 吗 呢 吧 啊 么 们 是 有 在 和 与 及 或 而 且 并 但 则 若 即 却 因 故 虽 以及 并且
而且 但是 因为 所以 如果 虽然 然而 或者 由于 因此 不过 我 你 您 他 她 它 我们 你们 他们 她们 它们 咱们
自己 这 那 哪 谁 其 此 该 各 每 某 这个 那个 这些 那些 这样 那样 这里 那里 这种 那种 什么 怎么 怎样 如何
为 对 从 向 到 把 被 让 给 以 于 由 用 将 按 据 比 跟 同 为了 对于 关于 根据 通过 就 都 也 还 又 再 才 只
很 更 最 太 不 没 没有 已 已经 正在 曾 曾经 会 能 可 可以 要 应 应该 必须 能够 上 下 中 里 内 外 前 后
之间 其中 等 个 一 一个 一些 来 去 著 過 嗎 麼 們 與 並 則 卻 雖 並且 因為 雖然 由於 我們 你們 他們 她們
它們 咱們 這 誰 該 這個 那個 這些 這樣 那樣 這裡 那裡 這種 那種 什麼 怎麼 怎樣 為 對 從 讓 給 將 據 為了
對於 關於 根據 通過 還 纔 沒 沒有 已經 會 應 應該 必須 能夠 裡 裏 內 後 之間 個 一個 來
"""
#: What is no content word.
STOP_WORDS = frozenset(f"{_ENGLISH} {_CHINESE}".split())


def spots(
    words: Sequence[str], antecedents: Mapping[str, int], stop_words: Container[str], chain: int
) -> Iterator[tuple[str, ...]]:
    """Yield the spot behind every antecedent: itself, then ``chain`` content words.

    Content words are those that are neither stop words nor antecedents; of them the chain takes every d-th,
    d the antecedent's spot distance. A chain that the end of the text cuts short is none.
    """
    content: list[str] = []
    found: list[tuple[str, int]] = []
    for word in words:
        if word in antecedents:
            found.append((word, len(content)))
        elif word not in stop_words:
            content.append(word)
    for antecedent, behind in found:
        distance = antecedents[antecedent]
        links = content[behind + distance - 1 : behind + distance * chain : distance]
        if len(links) == chain:
            yield antecedent, *links
