"""Texts that ask for consent to cookies, and notices about JavaScript: furniture of a site, whatever their length.

OneTrust, Didomi, Cookiebot, Quantcast and others show the same text on thousands of sites, often with the standard
purposes of the IAB's Transparency and Consent Framework (TCF). Many are longer than a short story, and stand in the
page before it. A text is recognised by how many *kinds* of words of such notices it has, not by single phrases,
because sites edit them. The words are stems in the languages of the European Union, in Norwegian, Icelandic, Turkish,
Russian, Ukrainian, Serbian, Chinese, Japanese and Korean.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dedupcrawl.page.rules import CONSENT, FRAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.page.blocks import RawBlock

#: A consent text has one of them. They are compared in lower case.
STEMS = (
    *("cookie", "on a device", "consent", "kakor", "informasjonskaps", "informationskaps", "eväste", "ciastecz"),
    *("slapuk", "sīkdat", "küpsis", "piškot", "kolačić", "колачић", "sütik", "бисквит", "куки", "fótspor"),
    *("vafrakök", "çerez", "fianán", "galetes", "クッキー", "쿠키"),
)
#: Kinds of words in consent texts, beside the cookies.
KINDS: Mapping[str, str] = {
    "address": r"\b(?:we|our|us|you|your|wir|uns|unser\w*|sie|ihre?[rnms]?|nous|notre|nos|vous|vos|votre|nosotros"
    r"|nuestr\w+|usted|tu|tus|noi|nostr\w+|tuo|tuoi|nós|nosso\w*|seus?|wij|we|onze|uw|je|vi|vår\w*|vores|din\w*|me"
    r"|sivusto\w*|my|nasz\w*|twoj\w*|naš\w*|vaš\w*|mi|az ön|noi|nostru|noastr\w+|dvs|ние|ви|ваш\w*|мы|наш\w*|вы|ми"
    r"|mes|mūsų|jūsų|mēs|mūsu|jūsu|meie|teie|biz\w*|siz\w*|við|þ\w+|sinn|ár)\b|μας|σας|我们|我們|本网站|本網站|您|当社"
    r"|弊社|当サイト|お客様|우리|당사|귀하",
    "consent": r"consent|accept|agree|allow|reject|refus|declin|opt.?out|einwillig|zustimm|akzept|ablehn|erlaub|acept"
    r"|rechaz|accett|rifiut|aceit|rejeit|toestemm|weiger|samtyck|godkänn|avvis|samtykk|godta|hyväks|suostum|zgod"
    r"|akcept|souhlas|přij|súhlas|prij|hozzájárul|elfogad|consimț|съгласи|прием|συγκατάθ|αποδοχ|αποδέχ|соглас"
    r"|принима|згод|прийм|pristan|prihva|privol|soglas|sprejm|nõus|piekr|sutik|sutink|onay|kabul|samþykk|同意|接受"
    r"|拒绝|拒絕|許可|拒否|동의|수락",
    "partners": r"partner|vendor|third.part|drittanb|anbieter|\btiers\b|prestatair|socios|tercer|proveedor"
    r"|terze|fornitor"
    r"|parceir|derden|leverantör|tredje|kumppan|kolmans|dostawc|třetí|tretí|tretj|treć|harmadik|terț|furnizor|партн"
    r"|трет|συνεργάτ|τρίτ|合作伙伴|第三方|第三者|パートナー|제3자|üçüncü|ortak|trečiųj|treš|kolmanda|þriðj",
    "data": r"privacy|personal|privat|datenschutz|personenbezog|vie privée|données|privacidad|datos|dati person"
    r"|riservat"
    r"|dados|gegevens|integritet|personuppgift|personoplysning|personopplysning|yksityisy|henkilötie|prywatn|osob"
    r"|soukrom|súkrom|adatvéd|személyes|confidenț|поверител|личн|персонал|απόρρητ|προσωπικ|конф[иі]денц|隐私|隱私"
    r"|个人|個人|プライバシー|개인|gizlilik|kişisel|asmen|isikuandm|persónu",
    "device": r"device|browser|web ?site|our site|identifier|gerät|webs(?:eite|ite)|appareil|terminal|navigat|\bsite\b"
    r"|dispositiv|navegador|sitio|\bsito\b|apparaat|apparat|enhet|laite|selai|urządzen|stron|zařízen|zariaden|\bweb"
    r"|eszköz|böngész|dispozitiv|устройств|при[сс]тр|сайт|συσκευ|ιστό|πρόγραμμα|设备|設備|网站|網站|浏览器|端末"
    r"|デバイス|サイト|ブラウザ|기기|사이트|cihaz|vefs|svetain|vietn|veebi|naršykl|pārlūk",
    "advertising": r"advert|\bads?\b|personali[sz]|werb|anzeigen|publici|pubblici|annunci|anúnci|reclam|annons|reklam"
    r"|annonc|mainon|mainos|hirdet|реклам|διαφημ|广告|廣告|広告|광고|kohanda|oglas|oglaš|auglýs",
    "analysis": r"measur|analy[sz]|anal[iy]|traffic|statist|audienc|messung|mesur|medi(?:r|ción|ção)|misur"
    r"|tilast|pomiar"
    r"|měř|mér(?:és|ő)|forgalm|măsur|анал|измер|вимір|статист|μέτρησ|ανάλυ|επισκεψ|分析|统计|統計|測定|분석|umferð",
    "settings": r"setting|preferenc|manag|choice|einstellung|präferenz|auswahl|paramètr|préféren|choix|configur"
    r"|preferen"
    r"|ajust|impostazion|definiç|instelling|voorkeur|inställning|innstilling|indstilling|asetuks|ustawie|nastav"
    r"|beállítás|setări|настро|ρυθμίσ|налашт|设置|设定|設定|설정|ayar|nustatym|iestatīj|seadi|seade|stilling|postavk",
    "use": r"\buse|\busing|stor(?:e|age|ing)|access|verwend|nutzen|speicher|utilis|utiliz|\busa|usiamo|gebruik|använd"
    r"|bruke?r|käyt|używa|wykorzyst|použív|haszn|folosi|използва|χρησιμοποι|использ|використ|使用|利用|사용|kullan"
    r"|naudoj|izmanto|kasuta|notum|notar|stock|accéd|almacen|archivi|armazen|opslaan|uporablja|korist|lagra|lagre",
}
MIN_CHARS = 25  #: a shorter text is a label ("Cookie policy")
MIN_KINDS = 4  #: kinds that a consent text has, the address among them; articles about cookies do not address readers
#: Words of these kinds in 1,000 characters. Consent texts of the providers have 30 to 80, articles on privacy up to 20
#: (counted on wcxb).
MIN_DENSITY = 22.0
HAN_FACTOR = 3.0  #: a character of Chinese, Japanese or Korean says as much as so many Latin letters

_kinds = {name: re.compile(pattern, re.IGNORECASE).findall for name, pattern in KINDS.items()}
_han = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]").findall
MAX_SCRIPT_NOTICE = 400  #: bytes; a longer text is about JavaScript
_about_scripts = re.compile(
    r"java ?script.{0,80}(?:enabl|disabl|turn|requir|need|support|activ|aktiv|einschalt|desactiv|habilit|abilita"
    r"|inschakel|włącz|povol|zapn|engedély|включ|увімк|ενεργοπ|启用|啟用|开启|開啟|禁用|停用|有効|무효|활성)"
    r"|(?:enabl|disabl|turn|requir|need|without|activ|aktiv|einschalt|habilit|abilita|inschakel|włącz|povol|zapn"
    r"|engedély|включ|увімк|ενεργοπ|启用|啟用|开启|開啟|禁用|停用|有効).{0,60}java ?script",
    re.IGNORECASE | re.DOTALL,
).search


def notice_blocks(blocks: Sequence[RawBlock]) -> dict[int, str]:
    """Return the places of consent texts (``rules.CONSENT``) and of notices about JavaScript (``rules.FRAME``)."""
    # One search of the whole text is faster than a search of each block for each stem.
    whole = "\n".join([block[0] for block in blocks]).lower()
    stems = [stem for stem in STEMS if stem in whole]
    found: dict[int, str] = {}
    if stems:
        for place, (text, *_) in enumerate(blocks):
            if len(text) >= MIN_CHARS and is_consent_text(text, stems):
                found[place] = CONSENT
    if "javascript" in whole:
        for place, (text, length, *_) in enumerate(blocks):
            if length <= MAX_SCRIPT_NOTICE and "avascript" in text.lower() and _about_scripts(text):
                found[place] = FRAME
    return found


def is_consent_text(text: str, stems: Sequence[str] = STEMS) -> bool:
    """Return whether a text asks for consent to cookies.

    Args:
        text: a block, at least ``MIN_CHARS`` characters.
        stems: those of ``STEMS`` that the page has at all.

    >>> is_consent_text("We use cookies on our website to give you personalised ads. You can accept or reject them.")
    True
    >>> is_consent_text("Regulators fined the company for its use of third-party cookies in its browser.")
    False
    """
    folded = text.lower()
    if not any(stem in folded for stem in stems):
        return False
    counts = {name: len(find(text)) for name, find in _kinds.items()}
    if not counts["address"] or sum(count > 0 for count in counts.values()) < MIN_KINDS:
        return False
    size = len(text) + (HAN_FACTOR - 1) * len(_han(text))
    return 1000 * sum(counts.values()) >= MIN_DENSITY * size
