"""The language of the command line: English or Chinese, by ``--lang`` or the environment.

The texts of a command are in ``zh/*.json``: those of the help and those that ``tr`` gets as ``messages``, those of
errors and notes, which the library makes in English, as ``sentences``. What is printed as JSON stays English.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import rich_utils
from typer.main import get_command

from dedupcrawl.tools.report.html_bundle import LanguageCode
from dedupcrawl.utils.messages import ENGLISH, is_spoken_english, mark, read_chinese, speak, tr, tr_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dedupcrawl.utils.messages import MessageTable

_OF_PAGES = ("tools/report/web/zh.json", "tools/inspect/web/zh.json")
CATALOGUES = ("cli/zh/help.json", "cli/zh/output.json", "cli/zh/errors.json")
_OPTION = "--lang"
#: As gettext reads them: the first that is set decides.
_VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
_UNTRANSLATED = frozenset({"C", "POSIX"})
#: Texts of Typer around the help and the errors, by their names in ``typer.rich_utils``.
_TYPER_TEXTS = {
    "DEFAULT_STRING": mark("[default: {}]"),
    "REQUIRED_LONG_STRING": mark("[required]"),
    "ARGUMENTS_PANEL_TITLE": mark("Arguments"),
    "OPTIONS_PANEL_TITLE": mark("Options"),
    "COMMANDS_PANEL_TITLE": mark("Commands"),
    "ERRORS_PANEL_TITLE": mark("Error"),
    "ABORTED_TEXT": mark("Aborted."),
    "RICH_HELP": mark("Try [blue]'{command_path} {help_option}'[/] for help."),
}
_USAGE = mark("Usage: ")
_HELP = mark("Show this message and exit.")


def choose_language(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Speak the language that the arguments ask for, or else the environment (None: that of the process)."""
    found = _asked(arguments)
    if found not in (LanguageCode.EN, LanguageCode.ZH):
        found = language_of(os.environ if environment is None else environment)
    speak(table_of(found))


def table_of(language: str) -> MessageTable:
    """Return the texts of the command line in "zh"; English for any other."""
    return read_chinese(*_OF_PAGES, *CATALOGUES) if language == LanguageCode.ZH else ENGLISH


def language_of(environment: Mapping[str, str]) -> str:
    """Return "zh" or "en": the first language in ``LANGUAGE``, ``LC_ALL``, ``LC_MESSAGES`` or ``LANG`` that is spoken.

    As with GNU gettext, ``LANGUAGE`` does not count if the locale is C.

    >>> language_of({"LANG": "zh_CN.UTF-8"}), language_of({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"})
    ('zh', 'en')
    >>> language_of({"LANGUAGE": "de:zh_CN:en", "LANG": "de_DE.UTF-8"}), language_of({})
    ('zh', 'en')
    """
    given = [environment.get(name, "") for name in _VARIABLES]
    locale = next(filter(None, given[1:]), "C")
    wanted = [locale] if _name(locale) in _UNTRANSLATED else next(filter(None, given)).split(":")
    spoken = (_name(each).partition("_")[0].lower() for each in wanted)
    return next((each for each in spoken if each in ("en", "zh")), "en")


def _name(locale: str) -> str:
    """Return a locale without its encoding and modifier."""
    return locale.partition(".")[0].partition("@")[0].replace("-", "_")


def _asked(arguments: Sequence[str]) -> str:
    """Return the last value of ``--lang``, wherever it is: the help is made before the options are parsed."""
    found = ""
    for at, each in enumerate(arguments):
        if each == "--":
            break
        if each == _OPTION and at + 1 < len(arguments):
            found = arguments[at + 1]
        elif each.startswith(f"{_OPTION}="):
            found = each.partition("=")[2]
    return found


@contextmanager
def typer_texts() -> Iterator[None]:
    """Let Typer's frames of the help and the errors speak the language, too."""
    before = {name: getattr(rich_utils, name) for name in _TYPER_TEXTS}
    if not is_spoken_english():
        for name, text in _TYPER_TEXTS.items():
            setattr(rich_utils, name, tr(text))
    try:
        yield
    finally:
        for name, text in before.items():
            setattr(rich_utils, name, text)


def translate_command(command: Any) -> None:
    """Give a command, and those of its group, the option ``--lang``, and help texts in the language."""
    for each in getattr(command, "commands", {}).values():
        translate_command(each)
    if not any(_OPTION in parameter.opts for parameter in command.params):
        command.params.append(_language_option())
    if is_spoken_english():
        return
    for each in (command, *command.params, command.get_help_option(typer.Context(command))):
        each.help = "\n\n".join(map(tr, paragraphs(each.help)))
    usage = command.get_usage
    command.get_usage = lambda context: usage(context).replace(_USAGE, tr(_USAGE), 1)


def paragraphs(text: str | None) -> list[str]:
    """Return the paragraphs of a help text, each in one line."""
    return [" ".join(each.split()) for each in (text or "").split("\n\n") if each.strip()]


def translate_error(error: Any) -> None:
    """Give an error of Typer its text in the language."""
    if not is_spoken_english():
        text = tr_sentence(error.format_message())
        error.format_message = lambda: text


CommandLanguage = Annotated[
    LanguageCode,
    typer.Option(_OPTION, expose_value=False, help="Language of the messages; auto: that of the environment."),
]


def _language_option() -> Any:
    def command(*, spoken_language: CommandLanguage = LanguageCode.AUTO) -> None:
        """Have the option."""

    single = typer.Typer(add_completion=False)
    single.command()(command)
    return next(each for each in get_command(single).params if _OPTION in each.opts)
