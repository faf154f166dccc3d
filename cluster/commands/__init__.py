"""The commands of `banyan`, a file for each group. Each imports what it needs when it runs, and no sooner."""
