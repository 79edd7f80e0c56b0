"""Sites in Chinese, Arabic, Japanese, Russian, Spanish and German whose pages have one wording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites import layouts
from tests.sites.copies import copied
from tests.sites.model import Blueprint, Copy, Draft, Frame, Layout
from tests.sites.tongues import ARABIC, GERMAN, JAPANESE, RUSSIAN, SPANISH, Tongue
from tests.sites.words import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.sites.words import Writer

_WAYS = (Copy.PRINT, Copy.UTM, Copy.MOBILE, Copy.SESSION, Copy.AMP, Copy.SCHEME, Copy.SECTION)
_DIGITS_ZH = "〇一二三四五六七八九"
_DIGITS_AR = "٠١٢٣٤٥٦٧٨٩"
_MONTHS_ZH = listed("一|二|三|四|五|六|七|八|九|十|十一|十二")
_DAYS_ZH = listed(
    "一|二|三|四|五|六|七|八|九|十|十一|十二|十三|十四|十五|十六|十七|十八|十九|二十|二十一|二十二|二十三|二十四"
)


def _zh(
    writer: Writer, name: str, host: str, layout: Layout, drafts: Sequence[Draft], ways: Sequence[Copy] = _WAYS
) -> Blueprint:
    menu = tuple(writer.of(("首页", "动态", "公告", "办事"), ("主页", "信息公开", "服务", "联系我们")))
    frame = Frame(name, "zh-CN", menu, f"版权所有：{name}", side=writer.of("相关信息", "更多"))
    return Blueprint(f"www.{host}.example", frame, layout, copied(drafts, ways, 2))


def _other(code: str, name: str, host: str, menu: str, layout: Layout, drafts: Sequence[Draft], side: str) -> Blueprint:
    frame = Frame(name, code, tuple(menu.split("|")), f"© 2026 {name}", side=side)
    return Blueprint(f"www.{host}.example", frame, layout, copied(drafts, (*_WAYS, Copy.TAIL), 2))


def _date_zh(writer: Writer) -> str:
    return f"二〇二六年{writer.choice(_MONTHS_ZH)}月{writer.choice(_DAYS_ZH)}日"


def biddings(writer: Writer) -> Blueprint:
    """Invitations to tender: project, sum and closing date differ."""
    rest = writer.story(3, 5, zh=True)
    line = writer.of(
        "受{0}委托，就{1}{2}改造项目进行公开招标，预算金额{3}万元，投标截止时间为2026年{4}月{5}日九时三十分。",
        "{0}现对{1}{2}修缮工程组织竞争性磋商，最高限价{3}万元，请于2026年{4}月{5}日前递交响应文件。",
    )
    drafts = []
    for number in range(16):
        place, noun = writer.zh("place"), writer.zh("noun")
        month, day = writer.number(1, 12), writer.number(1, 28)
        text = line.format(f"{place}财政局", place, noun, writer.price(30, 900), month, day)
        title = f"{place}{noun}{writer.of('改造项目招标公告', '修缮工程磋商公告')}"
        drafts.append(Draft(f"/zbgg/{number + 2026001}.html", title, f"<p>{text}</p>{rest}", lead="来源：采购中心"))
    return _zh(
        writer, writer.of("云山市公共资源交易网", "临江采购网"), writer.of("yszb", "ljcg"), layouts.portal_zh, drafts
    )


def estates(writer: Writer) -> Blueprint:
    """New houses of one developer: name, district and price differ beside one text."""
    rest = writer.story(3, 5, zh=True)
    names = writer.half(
        listed(
            "云璟府|望湖苑|金桂园|听澜里|翠屏居|锦绣台|和悦城|书香里|江南院|松鹤园|晴川阁|南山墅|观海庭|"
            "梧桐郡|青藤里|明月轩|星河湾|春晓苑|碧云天|安居里"
        )
    )
    drafts = []
    for number, name in enumerate([each + phase for phase in ("一期", "二期") for each in names]):
        facts = (
            f"<table><tr><td>均价</td><td>{writer.number(80, 320) * 100}元/平方米</td></tr><tr><td>区域</td><td>"
            f"{writer.zh('place')}</td></tr><tr><td>开盘</td><td>{writer.date()}</td></tr></table>"
        )
        drafts.append(Draft(f"/loupan/{number + 880}/", name, f"{facts}{rest}", title=f"{name}楼盘详情"))
    return _zh(writer, writer.of("安家网", "新房通"), writer.of("anjia", "xinfang"), layouts.bootstrap, drafts)


def lottery(writer: Writer) -> Blueprint:
    """Draws of a lottery: issue and balls differ under one heading."""
    heading = writer.of("福利彩票开奖公告", "体育彩票开奖结果")
    rest = writer.story(2, 4, zh=True)
    drafts = []
    for issue in range(2026031, 2026051):
        balls = " ".join(f"{ball:02}" for ball in sorted(writer.sample(range(1, 34), 6)))
        text = writer.of("第{}期开奖号码：{}，蓝球 {:02}。", "{}期 中奖号 {} + {:02}").format(
            issue, balls, writer.number(1, 16)
        )
        drafts.append(
            Draft(f"/kj/{issue}.html", f"第{issue}期", f"<p>{text}</p>{rest}", heading=heading, title=heading)
        )
    return _zh(writer, writer.of("彩票中心", "开奖网"), writer.of("cpzx", "kjw"), layouts.portal_zh, drafts)


def hearings(writer: Writer) -> Blueprint:
    """Notices of a court by publication: the parties and the number of the case differ."""
    heading = writer.of("人民法院公告", "送达公告")
    line = writer.of(
        "{0}：本院受理原告{1}诉你买卖合同纠纷一案，案号（2026）民初{2}号。自公告之日起经过三十日即视为送达，"
        "答辩期为送达后十五日内，本院将于举证期满后的第三日九时开庭，逾期将依法缺席判决。",
        "{0}：{1}与你民间借贷纠纷一案（案号2026民终{2}号）已经审结，现依法向你公告送达判决书，"
        "自发出公告之日起三十日视为送达，如不服本判决，可在十五日内提起上诉。",
    )
    court = writer.of("柳河县人民法院", "平安区人民法院")
    names = writer.half(
        listed(
            "陈立新|王秀兰|李国栋|赵敏华|周海燕|吴建平|徐文静|孙志远|马晓东|朱玉梅|胡长青|郭小满|何思源|"
            "高明月|林少峰|罗雨晴|丁一凡|韩雪|邓子安|曹文博|宋佳|唐立|冯远|许静怡|沈亮|彭飞|吕梅|苏航|"
            "蒋丽|蔡明"
        )
    )
    drafts = []
    for number in range(14):
        who, whom = writer.sample(names, 2)
        text = line.format(who, whom, writer.number(100, 9999))
        drafts.append(
            Draft(
                f"/gg/{number + 77}.html",
                f"{who}{number}",
                f"<p>{text}</p><p>{court}</p>",
                heading=heading,
                title=heading,
            )
        )
    return _zh(writer, court, writer.of("lhfy", "pafy"), layouts.portal_zh, drafts)


def forecasts(writer: Writer) -> Blueprint:
    """Forecasts of the weather for towns: town, sky and degrees differ in one wording."""
    line = writer.of(
        "今天白天到夜间，{0}{1}，偏{2}风三级，最高气温{3}℃，最低气温{4}℃。",
        "{0}明日{1}，{2}风微弱，气温{4}到{3}摄氏度。",
    )
    rest = writer.story(1, 5, zh=True)
    towns = writer.half(
        listed(
            "青禾|云岭|白沙|石门|柳河|东溪|望江|南塘|北原|金屏|海棠|长桥|红叶|三江|平湖|榆树|蓝田|安宁|"
            "铜山|月牙|松台|双泉|临湖|古渡|新丰|大通|玉溪|龙门|凤凰|芦花"
        )
    )
    drafts = []
    for number, town in enumerate(towns):
        high = writer.number(12, 36)
        text = line.format(
            town,
            writer.choice("晴阴") + "转" + writer.choice(("多云", "小雨")),
            writer.choice("东南西北"),
            high,
            high - 8,
        )
        title = writer.of("{}天气预报", "{}明日天气").format(town)
        drafts.append(Draft(f"/tq/{number + 1010}.shtml", title, f"<p>{text}</p>{rest}"))
    return _zh(writer, writer.of("晴雨网", "气象台"), writer.of("qingyu", "qxt"), layouts.tables, drafts)


def appointments(writer: Writer) -> Blueprint:
    """Decisions on offices: a name, an office and a date in Chinese numerals differ under one heading."""
    heading = writer.of("人民政府关于人事任免的通知", "县政府任免决定")
    line = writer.of("经研究决定：任命{0}同志为{1}主任，试用期一年。", "经第{2}次会议讨论，免去{0}同志的{1}局长职务。")
    rest = writer.story(2, 4, zh=True)
    places = writer.half(listed("青禾|云岭|白沙|石门|柳河|东溪|望江|南塘|北原|金屏|海棠|长桥|红叶|三江|平湖|榆树"))
    drafts = []
    for number in range(14):
        name = writer.zh("name")
        text = line.format(name, writer.choice(places) + writer.zh("noun"), writer.choice(_DAYS_ZH))
        body = f"<p>{text}</p>{rest}<p>{_date_zh(writer)}</p>"
        drafts.append(Draft(f"/rsrm/{number + 5}.html", f"{name}{number}", body, heading=heading, title=heading))
    return _zh(
        writer, writer.of("青山县人民政府", "白水县政府网"), writer.of("qingshan", "baishui"), layouts.portal_zh, drafts
    )


def vacancies(writer: Writer) -> Blueprint:
    """Vacancies of one employer: the post differs in title and one line."""
    rest = writer.story(3, 4, zh=True)
    posts = writer.half(
        listed(
            "收银员|保洁员|仓库管理员|销售顾问|前台接待|电工|厨师长|幼儿教师|货车司机|会计|平面设计师|"
            "客服专员|护理员|保安队长|测试工程师|行政助理|采购专员|摄影师|茶艺师|理货员|焊工|质检员|导游|"
            "药剂师"
        )
    )
    line = writer.of("因业务发展需要，现面向社会招聘{}若干名，待遇面议。", "诚聘{}，欢迎有经验者投递简历。")
    drafts = [
        Draft(
            f"/job/{number + 3300}",
            f"{writer.of('招聘', '诚聘')}{post}",
            f"<p>{line.format(post)}</p>{rest}",
            title=writer.of("职位详情", "招聘信息"),
        )
        for number, post in enumerate(posts)
    ]
    return _zh(
        writer, writer.of("万家超市招聘", "同心人才网"), writer.of("wanjia", "tongxin"), layouts.tailwind, drafts
    )


def cars(writer: Writer) -> Blueprint:
    """Used cars of one dealer, in Arabic: numbers stand in Arabic-Indic digits."""
    tongue = Tongue(ARABIC, writer)
    rest = tongue.story(2)
    makes = writer.half(
        listed("تويوتا كورولا|هيونداي النترا|كيا سبورتاج|نيسان صني|هوندا سيفيك|مازدا ٦|فورد فوكس|رينو لوجان")
    )
    line = writer.of(
        "سيارة {0} موديل {1}، قطعت {2} كيلومتر، السعر {3} دينار.", "للبيع {0} سنة {1} العداد {2} كم والثمن {3} درهم."
    )
    drafts = []
    for number in range(16):
        make = writer.choice(makes)
        numbers = [
            _arabic(value)
            for value in (writer.number(2009, 2025), writer.number(20, 199) * 1000, writer.number(30, 180) * 100)
        ]
        title = f"{make} {numbers[0]}"
        drafts.append(
            Draft(
                f"/car/{number + 60}",
                f"{title} {number}",
                f"<p>{line.format(make, *numbers)}</p>{rest}",
                heading=title,
                title=title,
            )
        )
    name = writer.of("معرض النخبة للسيارات", "سوق العربات")
    return _other(
        "ar",
        name,
        writer.of("nokhba", "arabat"),
        writer.of("الرئيسية|السيارات|التمويل|اتصل بنا", "البداية|المعرض|الأسئلة"),
        layouts.bootstrap,
        drafts,
        writer.of("سيارات أخرى", "قد يعجبك"),
    )


def _arabic(number: int) -> str:
    return "".join(_DIGITS_AR[int(digit)] for digit in str(number))


def counters(writer: Writer) -> Blueprint:
    """Notices of a Japanese town: district and a date in Kanji differ."""
    tongue = Tongue(JAPANESE, writer)
    heading = writer.of("出張窓口のお知らせ", "集団健診のご案内")
    line = writer.of(
        "令和八年{0}月{1}日に{2}集会所で出張窓口を開きます。", "{2}公民館での健診は令和八年{0}月{1}日です。"
    )
    rest = tongue.story(3)
    drafts = []
    for number in range(16):
        text = line.format(writer.choice(_MONTHS_ZH), writer.choice(_DAYS_ZH), writer.choice(tongue.places))
        drafts.append(
            Draft(
                f"/oshirase/{number + 12}.html",
                f"お知らせ{number}",
                f"<p>{text}</p>{rest}",
                heading=heading,
                title=heading,
            )
        )
    name = writer.of("みどり町役場", "あさひ市")
    return _other(
        "ja",
        name,
        writer.of("midori", "asahi"),
        writer.of("くらし|子育て|防災|町政", "ホーム|手続き|観光"),
        layouts.newspaper,
        drafts,
        writer.of("関連ページ", "ほかのお知らせ"),
    )


def shifts(writer: Writer) -> Blueprint:
    """Vacancies of one plant, in Russian: the trade and the town differ under one title."""
    tongue = Tongue(RUSSIAN, writer)
    trades = writer.half(
        listed("Сварщик|Токарь|Крановщик|Электрик|Слесарь|Маляр|Бетонщик|Водитель|Повар|Плотник|Кладовщик|Машинист")
    )
    line = writer.of("Требуется {0}, город {1}, вахта {2} дней.", "Приглашаем: {0}. Место работы: {1}, смена {2} дней.")
    rest = tongue.story(3)
    drafts = []
    for number in range(18):
        trade, town = trades[number % len(trades)], tongue.places[number % len(tongue.places)]
        text = line.format(trade.lower(), town, writer.number(15, 60))
        drafts.append(
            Draft(
                f"/vakansii/{number + 400}",
                f"{trade} ({town})",
                f"<p>{text}</p>{rest}",
                heading=f"{trade} ({town})",
                title=writer.of("Вакансия", "Работа вахтой"),
            )
        )
    name = writer.of("Северный завод", "Вахта Плюс")
    return _other(
        "ru",
        name,
        writer.of("sever", "vahta"),
        writer.of("О нас|Вакансии|Контакты", "Главная|Работа|Отзывы"),
        layouts.blog,
        drafts,
        writer.of("Другие вакансии", "Похожие"),
    )


def edicts(writer: Writer) -> Blueprint:
    """Edicts of a town, in Spanish: applicant, street and activity differ in a standing wording."""
    tongue = Tongue(SPANISH, writer)
    heading = writer.of("Anuncio de información pública", "Edicto")
    line = writer.of(
        "{0} ha solicitado licencia para la actividad de {1} en la calle {2}, número {3}.",
        "Se tramita a instancia de {0} la apertura de {1} en la calle {2} {3}.",
    )
    trades = writer.half(
        listed("panadería|taller mecánico|farmacia|hostal|bar con cocina|lavandería|gimnasio|peluquería")
    )
    rest = tongue.story(3)
    drafts = []
    for number in range(16):
        text = line.format(
            writer.choice(tongue.names), writer.choice(trades), writer.choice(tongue.places), writer.number(1, 90)
        )
        drafts.append(
            Draft(
                f"/edictos/{number + 230}", f"Edicto {number}", f"<p>{text}</p>{rest}", heading=heading, title=heading
            )
        )
    name = writer.of("Ayuntamiento de Villaclara", "Boletín de Peñarroya")
    return _other(
        "es",
        name,
        writer.of("villaclara", "penarroya"),
        writer.of("Inicio|Trámites|Plenos", "Portada|Anuncios|Contacto"),
        layouts.tables,
        drafts,
        writer.of("Otros anuncios", "Ver también"),
    )


def evening_classes(writer: Writer) -> Blueprint:
    """Courses of an adult school, in German: number, teacher and day differ; all have one text."""
    tongue = Tongue(GERMAN, writer)
    subjects = writer.half(
        listed("Yoga|Töpfern|Italienisch|Aquarell|Nähen|Fotografie|Gitarre|Buchhaltung|Kochen|Spanisch|Imkern|Tango")
    )
    rest = tongue.story(3)
    days = ["montags", "dienstags", "mittwochs", "donnerstags", "freitags"]
    drafts = []
    for number in range(18):
        subject = f"{subjects[number % len(subjects)]} {writer.of('für Anfänger', 'am Abend')}"
        code = f"{writer.choice('ABC')}{writer.number(1000, 9999)}"
        text = f"{writer.of('Kurs', 'Nummer')} {code}, {writer.choice(days)} mit {writer.choice(tongue.names)}"
        drafts.append(
            Draft(f"/kurs/{code}", f"{subject} {code}", f"<p>{text}</p>{rest}", heading=subject, title=subject)
        )
    name = writer.of("Volkshochschule Tannental", "Abendschule Rheinau")
    return _other(
        "de",
        name,
        writer.of("vhs-tannental", "abendschule"),
        writer.of("Programm|Anmeldung|Über uns", "Start|Kurse|Anfahrt"),
        layouts.elementor,
        drafts,
        writer.of("Weitere Kurse", "Auch interessant"),
    )


KINDS: Mapping[str, Callable[[Writer], Blueprint]] = {
    "biddings": biddings,
    "estates": estates,
    "lottery": lottery,
    "hearings": hearings,
    "forecasts": forecasts,
    "appointments": appointments,
    "vacancies": vacancies,
    "cars": cars,
    "counters": counters,
    "shifts": shifts,
    "edicts": edicts,
    "classes": evening_classes,
}
