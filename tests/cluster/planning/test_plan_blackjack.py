"""Blackjack, whose hidden card a method redraws: plans are near the best that is possible, not above."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from cluster.planning.defaults import MoveSearch
from games.catalogue import load
from games.game import CHANCE
from games.rng import new_stream
from search.episode import Planner
from tests.games.tabular import CARDS, blackjack_losses_of, blackjack_optimum, blackjack_worths

pytest.importorskip("gymnasium", reason="gymnasium is not installed")

ROOT = Path(__file__).parents[3]
SPEC = f"gym:{ROOT}/tests/games/blackjack.py:Blackjack:unseen=redraw"


def test_the_example_is_the_one_that_is_printed() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "games/PROBLEMS.md").read_text(), re.M | re.S)
    assert (ROOT / "tests/games/blackjack.py").read_text() in blocks


def test_the_truth_about_it() -> None:
    """The value of the best play, from each first observation, and known decisions of basic strategy."""
    assert blackjack_optimum(natural_wins=False) == pytest.approx(-0.0466, abs=5e-5)
    for observation, best in (((16, 10, 0), 1), ((17, 10, 0), 0), ((12, 4, 0), 0), ((18, 9, 1), 1)):
        worths = blackjack_worths(observation)
        assert worths.index(max(worths)) == best


def test_each_simulation_has_a_hidden_card_of_its_own() -> None:
    """Drawn as from a full deck, whatever the dealer holds; and the episode goes on with the dealer's."""
    game: Any = load(SPEC)
    assert (game.open_loop, game.closed_loop, game.clairvoyant) == (True, True, False)
    assert load(game.spec).spec == game.spec
    state, stream, draws = game.episode_state(4), new_stream(3), 1300
    held = [*game._stage.states.env.unwrapped.dealer] if game.position(state) else []
    work, found = state.copy(), Counter[int]()
    for _ in range(draws):
        game.rules.determinize(game.observation(state, 0), work, stream)
        game.position(work)
        dealer = game._stage.states.env.unwrapped.dealer
        assert (len(dealer), dealer[0]) == (2, held[0])
        found[dealer[1]] += 1
    # For nine degrees of freedom 27.9 is exceeded once in a thousand.
    assert sum((found[card] - draws * share) ** 2 / (draws * share) for card, share in CARDS.items()) < 27.9
    game.calls.play(state, 0)
    after = game.position(state)
    assert after.is_terminal()
    assert game._stage.states.env.unwrapped.dealer[:2] == held


@pytest.mark.slow
def test_decisions_lose_little_and_know_nothing() -> None:
    """Who knew the card would win more than the best play that does not know it."""
    game: Any = load(SPEC)
    planner = Planner(MoveSearch(SPEC, simulations=150).of_game(game), game, None)
    played = [planner.play(number) for number in range(40)]
    assert 0.0 <= fmean(blackjack_losses_of(game, episode) for episode in played) < 0.1
    values = [episode.value for episode in played]
    assert fmean(values) - 3.3 * stdev(values) / math.sqrt(len(values)) < -0.0466
    state = game.episode_state(0)
    game.calls.play(state, 1)
    assert game.calls.is_terminal(state) or game.calls.current_player(state) == CHANCE
