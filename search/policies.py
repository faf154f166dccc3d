"""Playout policies: their names in requests and their codes in kernels."""

from __future__ import annotations

RANDOM, GREEDY, DECISIVE, MINIMAX, LEARNT = 0, 1, 2, 3, 5
"""RANDOM: a uniformly random legal move. GREEDY: a move with the highest priority. DECISIVE: an immediately
winning move if there is one, else a random move (Teytaud and Teytaud 2010, "On the Huge Benefit of
Decisive Moves"). MINIMAX and the next code: a best move by minimax of depth ``code - MINIMAX + 1``. LEARNT:
what came to most in earlier playouts (search/kernel/learning.py). Ties are broken uniformly at random."""
POLICIES = {
    "random": RANDOM,
    "greedy": GREEDY,
    "decisive": DECISIVE,
    "minimax1": MINIMAX,
    "minimax2": MINIMAX + 1,
    "learnt": LEARNT,
}
DEEPEST = 2
"""The largest depth of minimax in playouts, in plies."""
