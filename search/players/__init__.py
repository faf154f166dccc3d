"""Players by name: from a spec such as ``uct:simulations=2000,c=0.9`` to a `Player` of one game."""

from search.players.catalogue import describe, names, player_of
from search.players.player import Choice, Player, Seen

__all__ = ["Choice", "Player", "Seen", "describe", "names", "player_of"]
