"""The front door in Python: what `import banyan` offers, and `cluster.run`."""
