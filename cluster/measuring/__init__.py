"""What the machine gives and what more workers buy: throughput, strength, predictions."""
