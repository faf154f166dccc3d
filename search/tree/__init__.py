"""The tree of a search: nodes in arrays, snapshots of its busiest part, and their serialized forms."""
