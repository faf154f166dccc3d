"""The front door in Python: what `import banyan` offers, `cluster.run`, and placement for all commands."""
