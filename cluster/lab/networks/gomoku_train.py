"""Trains the weights of gomoku_net.py on games of this project's own search: three minutes on one core.

    python -m cluster.lab.networks.gomoku_train --out gomoku_net.npz

Games of 9x9 gomoku are played by a search that evaluates leaves with the game's pattern table. For each
position the network learns the shares of visits of the moves (cross-entropy), and the mean of the search's
value and the result of the game (squared error).
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import games
from cluster.lab.networks.gomoku_net import STEPS, windows
from games.game import Game, State
from search.prepare import open_view
from search.request import SearchRequest
from search.run_inline import run_inline
from search.summary import root_children

Floats = npt.NDArray[Any]
Weights = dict[str, Floats]
Data = tuple[Floats, Floats, Floats]
"""Planes [N, 2, rows, columns], policies [N, cells], and values [N] of the player to move."""
HIDDEN = 32
RANDOM_PLIES = 4
"""Plies at the start of a game whose moves are uniformly random."""
SAMPLED_PLIES = 12
"""Plies at the start of a game whose moves are drawn by visits, so that games differ."""


def searched(game: Game, state: State, simulations: int, seed: int) -> tuple[Floats, float]:
    """The shares of visits by move code, and the mean value for the player to move."""
    mover = int(game.calls.current_player(state))
    request = SearchRequest(
        game.spec, strategy="root", lanes=1, simulations=simulations, playout_plies=0, widening=8, seed=seed
    )
    opened = open_view(request, game, state.copy(), mover, len(game.legal_moves(state)))
    run_inline(opened, lambda: 0.0)
    children = root_children(opened.strategy.tree, mover)
    visits = np.zeros(game.max_moves)
    visits[[child.move for child in children]] = [child.visits for child in children]
    return visits / visits.sum(), sum(child.visits * child.value for child in children) / simulations


def play_game(game: Game, simulations: int, draw: np.random.Generator) -> list[tuple[Floats, Floats, float]]:
    """Play a game; returns planes, policy and value of each searched position."""
    state, found, movers = game.initial_state(), [], []
    for ply in range(game.max_plies):
        if game.calls.is_terminal(state):
            break
        if ply < RANDOM_PLIES:
            game.calls.play(state, int(draw.choice(game.legal_moves(state))))
            continue
        mover = int(game.calls.current_player(state))
        visits, value = searched(game, state, simulations, int(draw.integers(2**31)))
        owners = game.owners(state[None])[0]
        found.append((np.stack([owners == mover + 1, owners == 2 - mover]), visits, value))
        movers.append(mover)
        move = draw.choice(len(visits), p=visits) if ply < SAMPLED_PLIES else visits.argmax()
        game.calls.play(state, int(move))
    result = float(game.calls.returns(state))
    return [
        (planes, visits, (value + (result if mover == 0 else -result)) / 2)
        for (planes, visits, value), mover in zip(found, movers, strict=True)
    ]


def play_games(game: Game, num_games: int, simulations: int, draw: np.random.Generator) -> Data:
    """Play games; returns the data of all their positions."""
    found = []
    for number in range(num_games):
        found += play_game(game, simulations, draw)
        if number % 50 == 49:
            print(f"{number + 1} games, {len(found)} positions", flush=True)
    planes, policies, values = zip(*found, strict=True)
    return np.array(planes, dtype=np.float32), np.array(policies, dtype=np.float32), np.array(values)


def new_weights(draw: np.random.Generator) -> Weights:
    """Small random weights, and biases of 0."""
    inputs = 3 * len(STEPS)
    shapes: dict[str, tuple[int, ...]] = {
        "line": (inputs, HIDDEN),
        "line_bias": (HIDDEN,),
        "cell": (HIDDEN, HIDDEN),
        "cell_bias": (HIDDEN,),
        "policy": (HIDDEN,),
        "value": (2 * HIDDEN,),
        "value_bias": (),
    }
    return {
        name: np.asarray(
            draw.normal(size=shape) * (len(shape) > 0 and "bias" not in name) / np.sqrt((shape or (1,))[0]),
            dtype=np.float32,
        )
        for name, shape in shapes.items()
    }


def gradients(
    w: Weights, planes: Floats, policies: Floats, values: Floats
) -> tuple[tuple[float, float], Weights]:
    """The losses of policy and value, and the gradient by name, of one batch."""
    size = len(planes)
    seen = windows(planes)
    a = seen @ w["line"] + w["line_bias"]
    lines = np.maximum(a, 0).sum(axis=2)
    b = lines @ w["cell"] + w["cell_bias"]
    empty = 1 - planes.sum(axis=1).reshape(size, -1, 1)
    found = np.maximum(b, 0) * empty
    logits = np.where(empty[:, :, 0] > 0, found @ w["policy"], -np.inf)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    best = found.argmax(axis=1)
    highest = np.take_along_axis(found, best[:, None], axis=1)[:, 0]
    pooled = np.concatenate([highest, found.mean(axis=1)], axis=1)
    said = np.tanh(pooled @ w["value"] + w["value_bias"])
    losses = (float(-(policies * np.log(shares + 1e-9)).sum() / size), float(((said - values) ** 2).mean()))

    d_logits = (shares - policies) / size
    d_said = (2 * (said - values) * (1 - said**2) / size).astype(np.float32)
    d_pooled = d_said[:, None] * w["value"]
    d_found = d_logits[:, :, None] * w["policy"] + d_pooled[:, None, HIDDEN:] / found.shape[1]
    at_best = np.take_along_axis(d_found, best[:, None], axis=1) + d_pooled[:, None, :HIDDEN]
    np.put_along_axis(d_found, best[:, None], at_best, axis=1)
    d_b = d_found * empty * (b > 0)
    d_a = (d_b @ w["cell"].T)[:, :, None] * (a > 0)
    return losses, {
        "line": np.tensordot(seen, d_a, axes=([0, 1, 2], [0, 1, 2])),
        "line_bias": d_a.sum(axis=(0, 1, 2)),
        "cell": np.tensordot(lines, d_b, axes=([0, 1], [0, 1])),
        "cell_bias": d_b.sum(axis=(0, 1)),
        "policy": np.tensordot(found, d_logits, axes=([0, 1], [0, 1])),
        "value": pooled.T @ d_said,
        "value_bias": d_said.sum(),
    }


def train(
    w: Weights, data: Data, epochs: int, draw: np.random.Generator, batch: int = 128, rate: float = 0.003
) -> None:
    """Train with Adam; ``w`` is modified in place.

    Each batch has a random one of the board's eight orientations.
    """
    planes, policies, values = data
    side = planes.shape[2]
    means, squares = ({name: np.zeros_like(each) for name, each in w.items()} for _ in range(2))
    step, batches = 0, max(1, len(values) // batch)
    for epoch in range(epochs):
        totals = np.zeros(2)
        for chosen in np.array_split(draw.permutation(len(values)), batches):
            turns, flip = int(draw.integers(4)), draw.integers(2)
            turned = [
                np.rot90(each[:, :, ::-1] if flip else each, turns, axes=(-2, -1))
                for each in (planes[chosen].reshape(-1, side, side), policies[chosen].reshape(-1, side, side))
            ]
            losses, by_name = gradients(
                w, turned[0].reshape(-1, 2, side, side), turned[1].reshape(len(chosen), -1), values[chosen]
            )
            step += 1
            totals += losses
            for name, gradient in by_name.items():
                means[name] += 0.1 * (gradient - means[name])
                squares[name] += 0.001 * (gradient**2 - squares[name])
                mean, square = means[name] / (1 - 0.9**step), squares[name] / (1 - 0.999**step)
                w[name] -= rate * (1 - epoch / epochs) * mean / (np.sqrt(square) + 1e-8)
        policy_loss, value_loss = totals / batches
        print(f"epoch {epoch + 1}: policy {policy_loss:.3f}, value {value_loss:.3f}", flush=True)


def main() -> None:
    """Play games, train the network, and write its weights."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--out", default=str(Path(__file__).with_name("gomoku_net.npz")))
    options.add_argument("--games", type=int, default=160)
    options.add_argument("--simulations", type=int, default=2000)
    options.add_argument("--epochs", type=int, default=6)
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    draw = np.random.default_rng(asked.seed)
    data = play_games(games.load("gomoku:size=9"), asked.games, asked.simulations, draw)
    weights = new_weights(draw)
    train(weights, data, asked.epochs, draw)
    stored: dict[str, Any] = {name: each.astype(np.float16) for name, each in weights.items()}
    np.savez_compressed(asked.out, **stored)
    print(f"{asked.out}: {Path(asked.out).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
