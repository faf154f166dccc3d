"""Chinese checkers on the star of 121 cells, for two, three, four or six players."""

from games.chinese_checkers.game import ChineseCheckers

__all__ = ["ChineseCheckers"]
