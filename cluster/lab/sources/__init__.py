"""`banyan experiment`: repeats the measurements of five theses and articles; see README.md."""
