"""Sites on which heading or title say what kind of page it is, and a few short facts which one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites import layouts
from tests.sites.copies import copied
from tests.sites.model import Blueprint, Copy, Draft, Frame
from tests.sites.words import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.sites.words import Writer

_WAYS = (Copy.UTM, Copy.PRINT, Copy.STAMP, Copy.SESSION, Copy.AMP)
_NUMBER = 20

#: What stands on each page of such a site, and is read as its main text.
_CLAUSES = (
    (
        "<p>Our team answers every question by telephone and by mail within two working days, and a visit can be "
        "arranged for the late afternoon too. Prices include the statutory tax, and the cost of delivery is shown "
        "before an order is placed. Until they are paid in full the goods remain our property.</p>\n<p>Damage in "
        "transit must be reported to the carrier at once. We accept cards, transfers and payment on account for "
        "schools, offices and public bodies after a short check. Photographs are examples: small changes in finish "
        "are possible and no ground for complaint.</p>"
    ),
    (
        "<p>Please read the conditions of this house before you sign. Appointments that are not cancelled a day ahead"
        " are charged, unless an illness is proved by a certificate. Whoever is late may have to wait until the "
        "others have been served. The stairs are steep, but a lift is found behind the second door on the "
        "left.</p>\n<p>Complaints reach us best in writing, and we reply to every single one of them. Data are kept"
        " as long as the law demands, then erased by a firm that specialises in it. Animals stay outside, with the "
        "exception of guide dogs and their like.</p>"
    ),
)


def _site(writer: Writer, name: str, language: str, drafts: Sequence[Draft]) -> Blueprint:
    footer = f"© 2026 {name} · Imprint · Privacy" if language == "en" else f"© 2026 {name} · 版权所有"
    menu = ("Start", "Overview", "Contact") if language == "en" else ("首页", "公司", "联系")
    frame = Frame(name, language, menu, footer, side="More" if language == "en" else "更多")
    host = f"www.{slug(name)}.example" if language == "en" else f"www.{writer.of('hengtong', 'ruifeng')}.example"
    return Blueprint(host, frame, writer.of(layouts.bootstrap, layouts.tailwind), copied(drafts, _WAYS, 5))


def _list(facts: Mapping[str, str]) -> str:
    return "<dl>" + "".join(f"<dt>{key}</dt><dd>{value}</dd>" for key, value in facts.items()) + "</dl>"


def _names(writer: Writer) -> list[str]:
    both = [f"{first} {last}" for first in writer.all("first") for last in writer.all("last")]
    return writer.sample(both, _NUMBER)


def doctors(writer: Writer) -> Blueprint:
    """Doctors of a clinic under one heading: the title and a heading of the text name them."""
    clinic, text = writer.of("Weir Clinic", "Harbour Practice"), writer.of(*_CLAUSES)
    heading = writer.of("Our doctors", "The people who treat you")
    drafts = [
        Draft(f"/doctors/{slug(name)}", f"Dr. {name}", f"<h3>Dr. {name}</h3>\n{text}", heading=heading)
        for name in _names(writer)
    ]
    return _site(writer, clinic, "en", drafts)


def offers(writer: Writer) -> Blueprint:
    """Job offers under one heading: title and first sentence name trade and town."""
    text, roles = writer.of(*_CLAUSES), writer.half(["nurse", "welder", "baker", "driver", "cook", "tailor"])
    towns = writer.sample(writer.all("place"), _NUMBER)
    drafts = []
    for number, town in enumerate(towns):
        role = roles[number % len(roles)]
        drafts.append(
            Draft(
                f"/offer/{writer.code(2, 5).lower()}",
                f"{role.capitalize()} in {town}",
                f"<p>{writer.of(f'We look for a {role} in {town}.', f'In {town} a {role} is needed.')}</p>\n{text}",
                heading=writer.of("Job offer", "Vacancy"),
            )
        )
    return _site(writer, writer.of("Kolbe Personnel", "Osier Staff"), "en", drafts)


def glazes(writer: Writer) -> Blueprint:
    """Pots of one workshop: a list of facts in words tells them apart, and heading and title are always the same."""
    things, people = writer.all("thing"), writer.all("last")
    drafts = [
        Draft(
            f"/item/{number + 100}",
            writer.of("Stoneware", "From the kiln"),
            _list({"Motif": writer.choice(things), "Glaze": f"{people[number % len(people)]} {number // len(people)}"})
            + f"\n{writer.of(*_CLAUSES)}",
            title=writer.of("Weir Pottery", "Kiln Lane Ceramics"),
        )
        for number in range(min(_NUMBER, len(people)))
    ]
    return _site(writer, writer.of("Weir Pottery", "Kiln Lane Ceramics"), "en", drafts)


def rentals(writer: Writer) -> Blueprint:
    """Flats in one sentence, with constant numbers beside those that differ."""
    drafts = []
    for number in range(_NUMBER):
        street, rent = f"{writer.word('place')} Street {number + 3}", 510 + 17 * number
        rooms = 2 + number % 3
        sentence = writer.of(
            f"{street}, {rooms} rooms, 64 m², {rent} €, deposit 3 rents, free from 1 May 2026, heating of 1998, energy "
            "120 kWh.",
            f"{rooms} rooms in {street} at {rent} EUR a month, 58 sqm, 4th floor, deposit 1,200 EUR, from 1 June 2026.",
        )
        drafts.append(
            Draft(
                f"/let/{writer.code(1, 6).lower()}",
                writer.of("Flat to let", "Home for rent"),
                f"<p>{sentence}</p>\n{writer.of(*_CLAUSES)}",
                title=writer.of("Flat to let", "Home for rent"),
            )
        )
    return _site(writer, writer.of("Nordhof Rentals", "Castor Homes"), "en", drafts)


def evenings(writer: Writer) -> Blueprint:
    """One play: the date, with the month as a word, is the only one of many numbers that differs."""
    months = writer.of(
        ("January", "February", "March", "April", "May"), ("August", "September", "October", "November", "December")
    )
    play = writer.of("Hamlet", "Tartuffe")
    drafts = []
    for number in range(_NUMBER):
        day = f"{writer.of(12, 7) + number // len(months)} {months[number % len(months)]} 2026"
        line = writer.of(
            f"{day}, 19:30, Theatre Square 4, tickets 12, 18, 24 €, telephone 040 3344",
            f"Doors open at 18:45, seats 9, 15 or 21 €, box office 0511 7788, 90 minutes: {day}",
        )
        drafts.append(Draft(f"/play/{number + 1:03}", play, f"<p>{line}</p>\n{writer.of(*_CLAUSES)}"))
    return _site(writer, writer.of("Weir Theatre", "Tram Depot Stage"), "en", drafts)


def positions(writer: Writer) -> Blueprint:
    """Positions of a Chinese company under one heading: the title names the trade."""
    roles = "护士 焊工 面包师 司机 厨师 会计 律师 教师 药师 木工 电工 园丁 裁缝 编辑 翻译 画家 钳工 铣工 瓦工 油漆工"
    company = writer.of("恒通公司", "瑞丰集团")
    heading, text = writer.of(
        (
            "招聘信息",
            (
                "<p>本公司因业务发展需要，现面向社会公开招聘工作人员若干名。要求遵纪守法，品行端正，身体健康，能吃苦耐劳，"
                "有相关工作经验者优先。公司提供具有竞争力的薪酬、完善的社会保险、带薪年假、节日福利和良好的发展空间。"
                "有意者请将个人简历发送至公司邮箱，或者直接到人事部面试，合则约见，谢绝来访。</p>"
            ),
        ),
        (
            "岗位详情",
            (
                "<p>我们是一家成立多年的企业，员工来自全国各地。入职后安排导师带教，试用期满签订正式合同。每周休息两天，"
                "提供宿舍和班车，食堂供应三餐。应聘者须如实填写登记表，并带齐证件原件。面试结果在一周之内电话通知，"
                "未录用者的资料由人事部门统一销毁，不再退回。</p>"
            ),
        ),
    )
    drafts = [
        Draft(
            f"/zp/{number + 300}.html", role, f"<p>{writer.of('招聘岗位', '职位')}：{role}</p>\n{text}", heading=heading
        )
        for number, role in enumerate(roles.split())
    ]
    return _site(writer, company, "zh", drafts)


def winners(writer: Writer) -> Blueprint:
    """Public notices in Chinese: only the name of a person differs."""
    surnames, given = writer.half("张王李刘陈杨赵黄周吴徐孙胡朱"), writer.half("伟芳娜洋静军磊敏杰艳强丽涛玲飞峰")
    people = writer.sample([f"{one}{other}" for one in surnames for other in given], _NUMBER)
    heading, text = writer.of(
        (
            "公示",
            (
                "<p>根据有关规定，经过报名、资格审查、笔试、面试、体检和考察等程序，现将拟录用人员名单予以公示。公示期间，如有异议，"
                "请以书面或电话形式向本单位人事部门反映，反映情况须客观真实，以单位名义反映的须加盖公章，以个人名义反映的须署真实姓名。</p>"
            ),
        ),
        (
            "通告",
            (
                "<p>经评审委员会综合评议，并报主管部门批准，决定授予上述同志先进个人称号。希望受表彰的同志珍惜荣誉，再接再厉；"
                "全体职工要以先进为榜样，立足本职，扎实工作，努力完成全年各项任务，为单位发展作出新的贡献。</p>"
            ),
        ),
    )
    drafts = [
        Draft(
            f"/gs/{number + 700}.html",
            heading,
            f"<p>{writer.of('拟录用人员', '先进个人')}：{name}</p>\n{text}",
            title=heading,
        )
        for number, name in enumerate(people)
    ]
    return _site(writer, writer.of("恒通县人事局", "瑞丰区总工会"), "zh", drafts)


KINDS: Mapping[str, Callable[[Writer], Blueprint]] = {
    "doctors": doctors,
    "offers": offers,
    "glazes": glazes,
    "rentals": rentals,
    "evenings": evenings,
    "positions": positions,
    "winners": winners,
}
