"""The compiled inner loop of a search, from the root to a leaf and back.

loop.py holds the loop, stubs.py names the functions in which algorithms differ, engine.py binds them.
"""
