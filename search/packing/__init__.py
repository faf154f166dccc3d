"""A search as named arrays, to be kept in a checkpoint or sent: its tree, snapshots, leaves and results.

For each there is a ``pack_`` function that makes the arrays and an ``unpack_`` function that trusts nothing
in them; search/packing/arrays.py checks arrays, and writes them to a file or to bytes.
"""
