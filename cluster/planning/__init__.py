"""Plans: episodes of problems of one player, many side by side on all workers."""
