"""Mill games on four boards, as data for one engine."""
