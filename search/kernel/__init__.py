"""The compiled inner loop of a search, from the root to a leaf and back.

loop.py, portions.py and turns.py repeat simulations; select.py (with uct.py and puct.py), expand.py,
playout.py and backup.py are their steps; wiring.py binds them to a game, engine.py owns their memory.
"""
