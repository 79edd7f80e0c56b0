"""Chinese sites: public notices of an authority, flash news of one or two sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites import layouts
from tests.sites.copies import copied
from tests.sites.model import Blueprint, Copy, Draft, Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.sites.words import Writer


def notices(writer: Writer) -> Blueprint:
    """Notices with one heading: land, road works, water. Place, dates and numbers differ."""
    drafts = []
    for number in range(16):
        place, noun, count = writer.zh("place"), writer.zh("noun"), writer.number(3, 90)
        month, day = writer.number(1, 12), writer.number(1, 28)
        name = writer.of("建设项目环境影响评价公示", "关于临时停水的通知")
        body = writer.of(
            f"<p>根据有关规定，现将{place}{noun}改建项目的基本情况予以公示，公示期为{number % 9 + 5}个工作日。"
            f"</p>\n<p>项目位于{place}，占地{count * 130}平方米，总投资{count * 11}万元，建设内容包括{noun}及其附"
            f"属设施。项目编号：{writer.code(2, 5)}。</p>\n<p>公众对上述项目有意见的，可在公示期内以书面形式向本局"
            f"反映，联系电话：0{writer.number(300, 900)}-{writer.number(2000000, 8999999)}。</p>\n<p>特此公示。"
            f"</p><p>2026年{month}月{day}日</p>",
            f"<p>尊敬的用户：因{place}{noun}附近管道检修，定于{month}月{day}日{writer.number(6, 11)}时至"
            f"{writer.number(13, 23)}时停水，涉及用户{count * 12}户。</p>\n<p>请相关单位和居民提前做好储水准备，并"
            "关好水龙头，以免恢复供水时造成损失。恢复供水初期水质可能浑浊，请放水片刻后再使用。检修工程编号"
            f"{writer.code(1, 4)}。</p>\n<p>由此给您带来的不便，敬请谅解。咨询电话："
            f"{writer.number(60000000, 89999999)}。</p>",
        )
        lead = f"<span>发布时间：2026-{month:02}-{day:02}</span> <span>来源：{place}</span>"
        drafts.append(
            Draft(
                f"/art/2026/{month}/{day}/art_{number + 3100}.html",
                name,
                body,
                lead=lead,
                trail=("政务公开", "公示公告"),
            )
        )
    name = writer.of("临海新区生态环境局", "望江市自来水公司")
    frame = Frame(
        name,
        "zh-CN",
        ("首页", "政务公开", "办事服务", "互动交流", "公示公告"),
        "主办单位：本局　备案号：00000000　网站标识码：1234567890",
        side="相关信息",
    )
    ways = (Copy.PRINT, Copy.UTM, Copy.SESSION, Copy.SECTION)
    return Blueprint(
        writer.of("hbj.linhai.example", "water.wangjiang.example"), frame, layouts.portal_zh, copied(drafts, ways, 4)
    )


def flash(writer: Writer) -> Blueprint:
    """Flash news: one sentence a page above the same warning to investors."""
    warning = writer.of(
        "<p>风险提示：以上内容仅供参考，不构成投资建议。市场有风险，投资需谨慎，据此操作，盈亏自负。本平台对信息"
        "的准确性、完整性和及时性不作保证，转载文章版权归原作者所有，如有侵权请联系我们删除。</p>",
        "<p>免责声明：本快讯由系统自动采集，内容仅代表发布者观点，与本站立场无关。读者应自行核实相关信息"
        "，并承担使用本站内容所产生的风险。更多行情请下载手机客户端，第一时间掌握市场动态。</p>",
    )
    drafts = []
    for number in range(20):
        firm = writer.zh("place")[:2] + writer.choice(("股份", "科技", "集团", "能源"))
        change, amount = writer.number(10, 990) / 100, writer.number(2, 99)
        text = writer.of(
            f"{firm}公告，公司拟以{amount}亿元收购{writer.zh('place')}一家{writer.zh('noun')}运营企业"
            f"{writer.number(20, 90)}%股权。",
            f"{firm}午后拉升，截至发稿涨{change}%，成交额{amount}亿元，{writer.zh('place')}概念股跟涨。",
        )
        name = writer.of(f"{firm}拟{amount}亿元收购资产", f"{firm}涨{change}%")
        drafts.append(
            Draft(
                f"/flash/{number + 88000}",
                name,
                f"<p>{text}</p>",
                after=warning,
                lead=f"<span>{writer.number(9, 15)}:{writer.number(10, 59)}</span>",
                trail=("快讯",),
            )
        )
    name = writer.of("观潮财经", "早报快讯")
    frame = Frame(
        name,
        "zh-CN",
        ("首页", "快讯", "行情", "研报", "要闻"),
        f"© 2026 {name} 版权所有 备案号：00000000",
        side="热门文章",
    )
    ways = (Copy.UTM, Copy.SESSION, Copy.COUNTER, Copy.AMP)
    return Blueprint(
        writer.of("guanchao.example", "zaobao.example"),
        frame,
        writer.of(layouts.tailwind, layouts.bootstrap),
        copied(drafts, ways, 4),
    )


KINDS: Mapping[str, Callable[[Writer], Blueprint]] = {"notices": notices, "flash": flash}
