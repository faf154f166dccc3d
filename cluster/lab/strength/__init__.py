"""`banyan strength`: the playing strength of parallel searches."""
