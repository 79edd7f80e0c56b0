"""Words of the sites in other languages, in two halves: one for even seeds, one for odd ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.sites.words import Writer


@dataclass(frozen=True, slots=True)
class Words:
    """Pools of one language, separated by "|" where a word holds spaces."""

    code: str
    place: str
    name: str
    thing: str
    prose: tuple[str, ...]  #: with slots {place}, {name}, {thing} and {n}
    joint: str = " "


class Tongue:
    """Writes in one language. Args: the words, and the writer whose seed decides."""

    def __init__(self, words: Words, writer: Writer) -> None:
        self.words, self.writer = words, writer
        self.places = writer.half(words.place.split("|"))
        self.names = writer.half(words.name.split("|"))
        self.things = writer.half(words.thing.split("|"))

    def sentence(self) -> str:
        pick = self.writer.choice
        return pick(self.writer.half(self.words.prose)).format(
            place=pick(self.places), name=pick(self.names), thing=pick(self.things), n=self.writer.number(3, 97)
        )

    def story(self, paragraphs: int, sentences: int = 5) -> str:
        """Return paragraphs as HTML."""
        joint = self.words.joint
        return "".join(f"<p>{joint.join(self.sentence() for _ in range(sentences))}</p>\n" for _ in range(paragraphs))


ARABIC = Words(
    "ar",
    "حلب|صيدا|طنطا|المفرق|بنغازي|صفاقس|وهران|مكناس|الموصل|تعز|نزوى|الهفوف|أسوان|اللاذقية|العقبة|سوسة",
    "سامر الحداد|ليلى النجار|كريم الخطيب|هدى السيد|ياسر العلي|منى الشامي|طارق الزين|رنا حمدان|فادي منصور|دينا قاسم",
    "المحرك|المكيف|المقاعد|الإطارات|البطارية|الفرامل|الصندوق|المصابيح|الزجاج|الطلاء",
    (
        "تم فحص {thing} في ورشة الوكيل بمدينة {place} قبل العرض.",
        "يضمن المعرض سلامة {thing} مدة {n} يوما من تاريخ التسليم.",
        "يمكن للمشتري زيارة فرع {place} وتجربة السيارة قبل الدفع.",
        "لا يشمل العرض رسوم نقل الملكية ولا تكاليف التأمين على {thing}.",
        "أشرف {name} على مراجعة {thing} وكتب تقريرا مفصلا عن حالته.",
        "تسلم السيارة في {place} بعد دفع العربون وتوقيع العقد أمام الموظف.",
        "إذا ظهر عيب في {thing} خلال {n} أيام يعاد المبلغ كاملا.",
        "يقبل المعرض استبدال السيارات القديمة بعد أن يقدر {name} قيمتها.",
        "تبقى الأسعار سارية حتى نهاية الشهر أو حتى نفاد الكمية في {place}.",
        "للتقسيط شروط خاصة يشرحها {name} في مكتب المبيعات.",
    ),
)
JAPANESE = Words(
    "ja",
    "青葉台|桜木町|緑ヶ丘|港南|北山|東雲|若草|西川|白鷺|松原|花園|高砂|柏木|泉ヶ丘|朝日町|千鳥",
    "佐藤健一|鈴木美咲|高橋直人|田中由美|伊藤大輔|渡辺恵子|山本拓也|中村彩|小林誠|加藤真理",
    "申請書|身分証明書|受付票|保険証|通知書|領収書|住民票|案内図|整理券|同意書",
    (
        "窓口では{thing}の確認を行いますので、必ずお持ちください。",
        "{place}地区にお住まいの方は、代理人による手続きもできます。",
        "{thing}に記入漏れがある場合は、後日あらためて連絡します。",
        "混雑の状況により、{n}分ほどお待ちいただくことがあります。",
        "詳しくは担当の{name}までお問い合わせください。",
        "駐車場が狭いため、{place}駅からの徒歩をお勧めします。",
        "手続きの後に{thing}を発行し、郵便でお送りします。",
        "お預かりした{thing}は、目的以外には使いません。",
        "天候が悪いときは、{place}の会館に場所を変更します。",
        "費用はかかりませんが、{thing}の写しは一枚{n}円です。",
    ),
    "",
)
RUSSIAN = Words(
    "ru",
    "Калуга|Тверь|Омск|Пенза|Вологда|Кострома|Рязань|Курск|Тамбов|Псков|Чита|Брянск|Самара|Томск|Орёл|Ижевск",
    "Анна Белова|Иван Громов|Ольга Зайцева|Пётр Корнев|Мария Лапина|Олег Носов|Елена Рогова|Юрий Титов",
    "договор|пропуск|склад|отчёт|инструмент|автомобиль|график|станок|участок|журнал",
    (
        "Сотрудник получает {thing} в первый рабочий день и расписывается в журнале.",
        "Компания оплачивает проезд до города {place} и обратно один раз в {n} дней.",
        "Собеседование проводит {name}, решение сообщают по телефону.",
        "Мы предлагаем официальное оформление, горячее питание и спецодежду.",
        "Опыт работы приветствуется, но {thing} осваивают и на месте.",
        "Премия зависит от плана, который утверждает филиал в городе {place}.",
        "Испытательный срок длится {n} дней и оплачивается полностью.",
        "Вопросы об условиях принимает {name} с девяти до шести часов.",
        "За {thing} отвечает вся бригада, смены делят поровну.",
        "Медицинский осмотр проходят за счёт предприятия до начала работы.",
    ),
)
SPANISH = Words(
    "es",
    "Albarral|Benicarza|Cuevasrubias|Dosríos|Encinares|Fuentelapeña|Guadalmina|Hontoria|Jaraíz|Lucena|Montilla|Nerja",
    "Alba Ferrer|Bruno Salas|Carmen Ortuño|Diego Lozano|Elvira Pons|Fermín Rueda|Gloria Téllez|Hugo Marín|Inés Calvo",
    "expediente|recurso|plano|certificado|presupuesto|contrato|padrón|informe|acta|permiso",
    (
        "Durante el plazo señalado, cualquier persona podrá examinar el {thing} en las dependencias municipales.",
        "El {thing} estará a disposición de los interesados en la sede electrónica de {place}.",
        "Contra esta resolución cabe interponer recurso en el plazo de {n} días hábiles.",
        "Lo que se hace público para general conocimiento y a los efectos oportunos.",
        "Las alegaciones se dirigirán a {name}, responsable de la tramitación del {thing}.",
        "Transcurrido dicho plazo sin reclamaciones, el acuerdo se entenderá definitivo.",
        "La oficina de {place} atenderá las consultas de lunes a viernes por la mañana.",
        "El importe de las tasas se abonará antes de retirar el {thing}, según la ordenanza.",
        "Se notifica asimismo a los propietarios cuyo domicilio se desconoce.",
        "El secretario, {name}, da fe de que el {thing} coincide con el original.",
    ),
)
GERMAN = Words(
    "de",
    "Altenbrück|Bernwalde|Cramsdorf|Dillheim|Ebersroth|Falkenau|Grünhain|Holzminde|Immenried|Jettental|Kirchlohe|Lauenfels",
    "Anke Behrens|Bernd Claasen|Clara Dietz|Dirk Ebeling|Eva Fromm|Frank Gessner|Gesa Harms|Heiko Immel|Ina Jost",
    "Antrag|Schlüssel|Beitrag|Vertrag|Ausweis|Plan|Raum|Kurs|Termin|Bescheid",
    (
        "Der {thing} wird erst gültig, wenn die Gebühr auf dem Konto eingegangen ist.",
        "In {place} steht ein Raum zur Verfügung, der ohne Stufen erreichbar ist.",
        "Wer den {thing} absagt, zahlt bis {n} Tage vorher nichts.",
        "Auskunft gibt {name} zu den üblichen Zeiten in der Geschäftsstelle.",
        "Bitte bringen Sie bequeme Kleidung und etwas zu trinken mit.",
        "Die Teilnahme geschieht auf eigene Gefahr, für den {thing} haften wir nicht.",
        "Ermäßigungen gelten für Studierende, Rentner und Inhaber des Passes von {place}.",
        "Fällt ein {thing} aus, so wird er innerhalb von {n} Wochen nachgeholt.",
        "Mit der Anmeldung erkennen Sie die Bedingungen an, die {name} aushändigt.",
        "Ein Wechsel der Gruppe ist möglich, solange Plätze frei sind.",
    ),
)
