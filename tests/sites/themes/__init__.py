"""Themes of Hexo, WordPress, Typecho and Jekyll, with their elements and classes; every word is our own."""

from __future__ import annotations

from tests.sites.themes import hexo, hexo_columns, typecho, wordpress

THEMES = {theme.name: theme for module in (hexo, hexo_columns, wordpress, typecho) for theme in module.THEMES}
