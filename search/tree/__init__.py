"""The tree of a search: nodes in arrays, the statistics that are sent and merged, and a view for people."""
