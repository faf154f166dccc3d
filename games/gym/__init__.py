"""Environments of gymnasium as problems of one player: ``gym:ENV``, if gymnasium is installed.

Nothing of gymnasium is imported before a game is made. `games.gym.game` is the game and a position of an
episode, `games.gym.states` how positions of one environment are kept and taken up again, `games.gym.trial`
the experiments that decide which way is right for an environment, and whether chance plays a part in it,
`games.gym.hidden` the search for what copies know and no player can, `games.gym.outside` what copies share.
"""
