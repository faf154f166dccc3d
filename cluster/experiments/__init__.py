"""The tables of five theses and articles about programs that play, measured again; see cluster/README.md."""
