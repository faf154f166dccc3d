"""Environments of gymnasium as problems of one player: ``gym:ENV``, if gymnasium is installed.

Nothing of gymnasium is imported before a game is made. `games.gym.game` is the game, `games.gym.position` a
position of an episode, `games.gym.states` how positions of one environment are kept and taken up again,
`games.gym.trial` the experiments that decide which way is right for an environment, and whether chance plays
a part in it, `games.gym.hidden` the search for what copies know and no player can.
"""

from games.gym.environment import refuse_reaching_out
from games.gym.game import GymGame, game_from_spec
from games.gym.generators import SHARED, Use

__all__ = ["SHARED", "GymGame", "Use", "game_from_spec", "refuse_reaching_out"]
