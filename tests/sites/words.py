"""Seeded words, names, numbers and prose, in English and Chinese.

A writer with an even seed and one with an odd seed share no word of the pools, and use other wordings.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

_EN = {
    "place": "Aldmere Brackwater Corlund Dunvale Eskholm Farrowby Grelling Hartsea Inverkyle Jarnwick Kestrow Lorbury "
    "Marlock Norwell Ostrand Pellam Quarley Rothmoor Silverne Tamsworth Ulverby Varnhem Westerling Yarrowdon "
    "Ashgrove Belmore Castelbrook Dorring Elmshaw Fennick Garstone Hollin Istead Jessel Kirkmere "
    "Lowfold Menning Netherlee Oxwater "
    "Pinehythe Queldon Ravensley Stavern Thornlea Upwick Vennacher Wolding Zennor",
    "first": "Ada Bruno Clara Dorian Elsa Felix Greta Hugo Ingrid Jonas Katrin Leo Mira Nils Odette Piet Rosa Stefan "
    "Tilda Ulrich Vera Wanda Xaver Yvonne "
    "Alma Boris Carla Dana Emil Frida Gustav Hanna Ivo Jana Karl Lena Max Nora Oskar Paula",
    "last": "Abbeling Bornholt Crane Delacourt Ehrman Fenwick Galdos Hollander Ivers Jurgens Kowal Lindqvist Morrow "
    "Nadler Oakes Prentiss Quint Rademaker Salter Thorne Underhill Vasko Whitlock Zeller "
    "Ambrose Brandt Coster Dunning Eklund Forsyth Grieve Hartung Imhof Jasper Kessler Loring Maddox "
    "Norling Orchard Pascoe",
    "noun": "harbour tunnel orchard lantern library bridge archive kitchen factory chapel reservoir workshop theatre "
    "garden lighthouse museum quarry stable brewery schoolhouse ferry signal pavement fountain cellar "
    "tramway granary observatory causeway greenhouse",
    "thing": "ledger barrel letter copper kettle violin map coat rope sketch compass parcel clock bell drawing saddle "
    "mirror ladder telescope basket notebook hammer anchor carpet window sail candle recipe wheel",
    "adj": "narrow crooked silent forgotten northern wooden famous rusty generous cautious muddy bright ancient modest "
    "hollow stubborn early distant polished crowded frozen windy curious spare plain heavy southern quiet",
    "verb": "repaired counted painted measured borrowed copied cleaned opened closed sold moved bought found hid lost "
    "rebuilt weighed carried praised forgot sketched tested defended inherited traded rented planted lit",
    "person": "baker captain teacher carpenter engineer farmer nurse painter gardener clerk sailor mayor printer "
    "student tailor widow shepherd surveyor librarian cook pilot miner beekeeper judge",
    "time": "on+Monday last+winter before+noon after+the+storm in+March every+autumn at+dawn for+a+week "
    "without+notice in+the+evening during+the+fair twice+a+year since+May by+candlelight "
    "within+an+hour on+a+Sunday at+midnight after+supper",
}
_EN_PROSE = (
    "The {adj} {noun} of {place} was {verb} {time}, and a {person} kept the {thing}.",
    "Nobody in {place} remembers why the {person} {verb} a {thing} {time}.",
    "{time_}, {first} {last} {verb} the {thing} that the {person} had left in the {noun}.",
    "It took the {adj} {person} {n} days to reach the {noun} beyond {place}.",
    "Of {n} visitors, most asked about the {thing} and the {adj} {noun}.",
    "“We {verb} it {time},” said {first} {last}, a {person} from {place}.",
    "A {thing}, two of them {adj}, stood where the {noun} meets the road to {place}.",
    "When the {noun} was {verb}, the {person} walked to {place} with a {adj} {thing}.",
    "{first}, who {verb} the {noun} {time}, would rather have had a {thing}.",
    "There is a {adj} {thing} in {place}, but the {person} of the {noun} will not show it.",
    "Since the {person} {verb} the {adj} {noun}, {place} has been quieter {time}.",
    "What the {noun} lacks is a {thing}; {first} {last} {verb} the last one {time}.",
)
_ZH = {
    "place": "青禾县 云岭镇 白沙湾 石门区 柳河市 东溪乡 望江街道 南塘村 北原市 金屏县 海棠区 长桥镇 红叶乡 三"
    "江口 平湖县 大榆树镇 蓝田区 安宁街道 铜山市 月牙湾 松台市 双泉县 临湖区 古渡口",
    "name": "陈立新 王秀兰 李国栋 赵敏华 周海燕 吴建平 徐文静 孙志远 马晓东 朱玉梅 胡长青 郭小满 何思源 高明"
    "月 林少峰 罗雨晴",
    "noun": "水库 图书馆 老码头 隧道 果园 剧院 集市 灯塔 车站 医院 工厂 祠堂 茶馆 学校 桥梁 粮仓 公园 博物馆 广场 渡口",
    "thing": "账本 铜壶 地图 提琴 木箱 钟表 雨伞 信件 绳索 图纸 石碑 药材 瓷器 竹篮 油灯 围棋 相机 邮票 船票 字典",
    "adj": "古老的 崭新的 安静的 狭窄的 热闹的 破旧的 明亮的 遥远的 普通的 沉重的 罕见的 有名的 干净的 潮湿的",
    "verb": "修好了 找到了 捐出了 卖掉了 画下了 清点了 搬走了 借来了 买下了 拆除了 擦亮了 打开了 检查了 收藏了",
    "person": "木匠 教师 船长 医生 农民 司机 裁缝 工程师 记者 厨师 邮递员 会计 画家 渔民 园丁 护士",
    "time": "星期一早上 去年冬天 暴雨之后 三月初 每到秋天 天亮以前 一周之内 傍晚时分 集市期间 夜里 开工当天 昨天下午",
}
_ZH_PROSE = (
    "{time}，{place}的{person}{verb}一件{adj}{thing}。",
    "谁也说不清{name}为什么在{noun}里{verb}那个{thing}。",
    "{name}说，{time}有{n}人到{noun}来看{adj}{thing}。",
    "从{place}到{noun}要走{n}里路，{person}只带了{thing}。",
    "自从{noun}{verb}以后，{place}的{person}就很少谈起{thing}。",
    "{adj}{noun}门口放着{thing}，{time}被{name}{verb}。",
    "{person}把{thing}交给{name}，自己回{place}去看{noun}。",
    "{place}的{noun}缺的是{thing}，而不是{adj}大门。",
)
LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"


class Writer:
    """Everything random about a site.

    Args:
        kind: of the site; each kind has its own numbers.
        seed: its parity chooses the words, the wordings and the templates.
    """

    def __init__(self, kind: str, seed: int) -> None:
        self.kind, self.seed = kind, seed
        self.chance = random.Random(f"{kind}/{seed}")
        self.odd = seed % 2
        self.en = {key: self.half([word.replace("+", " ") for word in words.split()]) for key, words in _EN.items()}
        self.chinese = {key: self.half(words.split()) for key, words in _ZH.items()}

    def half(self, pool: Sequence[T]) -> Sequence[T]:
        """Return the half of a pool that belongs to the seed."""
        return pool[self.odd :: 2]

    def of(self, *wordings: T) -> T:
        """Return the wording (or template) that belongs to the seed."""
        return wordings[self.seed % len(wordings)]

    def number(self, low: int, high: int) -> int:
        return self.chance.randint(low, high)

    def choice(self, pool: Sequence[T]) -> T:
        return self.chance.choice(pool)

    def sample(self, pool: Sequence[T], count: int) -> list[T]:
        return self.chance.sample(pool, count)

    def word(self, key: str) -> str:
        """Return an English word: place, first, last, noun, thing, adj, verb, person, time."""
        return self.choice(self.en[key])

    def all(self, key: str) -> Sequence[str]:
        """Return all English words of a pool."""
        return self.en[key]

    def zh(self, key: str) -> str:
        """Return a Chinese word: place, name, noun, thing, adj, verb, person, time."""
        return self.choice(self.chinese[key])

    def person(self) -> str:
        return f"{self.word('first')} {self.word('last')}"

    def price(self, low: int = 3, high: int = 900) -> str:
        return f"{self.number(low, high)}.{self.number(10, 99)}"

    def code(self, letters: int = 2, digits: int = 4) -> str:
        return "".join(self.chance.choices(LETTERS, k=letters)) + "-" + str(self.number(10 ** (digits - 1), 10**digits))

    def date(self) -> str:
        return f"2026-{self.number(1, 12):02}-{self.number(1, 28):02}"

    def sentence(self) -> str:
        slots = {key: self.word(key) for key in _EN}
        line = self.choice(self.half(_EN_PROSE))
        return line.format(**slots, time_=_initial(slots["time"]), n=self.number(3, 97))

    def sentence_zh(self) -> str:
        return self.choice(self.half(_ZH_PROSE)).format(**{key: self.zh(key) for key in _ZH}, n=self.number(3, 97))

    def text(self, sentences: int, *, zh: bool = False) -> str:
        """Return one paragraph, without markup."""
        if zh:
            return "".join(self.sentence_zh() for _ in range(sentences))
        return " ".join(self.sentence() for _ in range(sentences))

    def story(self, paragraphs: int, sentences: int = 4, *, zh: bool = False) -> str:
        """Return paragraphs as HTML."""
        return "".join(f"<p>{self.text(sentences, zh=zh)}</p>\n" for _ in range(paragraphs))

    def headline(self, *, zh: bool = False) -> str:
        if zh:
            line = self.of("{place}{person}{verb}{thing}", "{name}：{noun}的{thing}")
            return line.format(**{key: self.zh(key) for key in _ZH})
        line = self.of("{place}: {person} {verb} the {adj} {thing}", "How the {noun} of {place} {verb} its {thing}")
        text = line.format(**{key: self.word(key) for key in _EN})
        return _initial(text)


def _initial(text: str) -> str:
    return text[0].upper() + text[1:]


def slug(name: str) -> str:
    """Return the name as it stands in a URL."""
    return "-".join("".join(char.lower() if char.isalnum() else " " for char in name).split())


def listed(names: str) -> list[str]:
    """Return names that bars separate."""
    return names.split("|")
