"""Many positions analysed at once: queries in, exactly one final answer for each position out."""
