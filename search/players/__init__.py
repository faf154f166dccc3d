"""Players: made from a spec such as ``uct:simulations=2000,c=0.9`` for one game."""

from search.players.catalogue import describe, names, player_of
from search.players.player import Choice, Player, Seen

__all__ = ["Choice", "Player", "Seen", "describe", "names", "player_of"]
