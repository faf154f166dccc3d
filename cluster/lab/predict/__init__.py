"""`banyan predict`: predicts throughput on a cluster of any size by simulation with measured costs."""
