"""Games of people against a player, and positions given by users."""
