"""`banyan report`: runs all measurements of scaling as commands, and writes one page of their results."""
