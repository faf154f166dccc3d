"""Everything that measures; only commands import it."""
