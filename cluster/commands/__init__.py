"""The commands of `banyan`, a file for each group. A command imports what it needs when it runs."""
