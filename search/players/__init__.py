"""Players: made from a spec such as ``uct:simulations=2000,c=0.9`` for one game."""

from search.players.catalogue import describe, names, player_of, suited
from search.players.player import Choice, Observation, Player

__all__ = ["Choice", "Observation", "Player", "describe", "names", "player_of", "suited"]
