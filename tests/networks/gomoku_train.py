"""Makes the weights of gomoku_net.py from nothing but this project's own search: three minutes on one core.

    python tests/networks/gomoku_train.py --out tests/networks/gomoku_net.npz

Games of 9x9 gomoku are played by a search that evaluates leaves by the game's pattern table. For each
position the network learns how often the search visited each move (cross-entropy), and the mean of
what the search thought of it and how the game ended (squared error).
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import games
from search.opening import open_view
from search.request import SearchRequest
from search.run_here import run_here
from search.summary import root_children

sys.path.insert(0, str(Path(__file__).parent))
from gomoku_net import STEPS, windows

HIDDEN = 32
RANDOM_PLIES = 4
SAMPLED_PLIES = 12
"""Plies whose move is drawn by its visits: games should not be alike."""


def play_games(game, num_games, simulations, draw):
    """(planes [N, 2, rows, columns], policies [N, cells], values [N]), values those of the player to move."""
    planes, policies, values = [], [], []
    for number in range(num_games):
        state, first = game.initial_state(), len(values)
        movers = []
        for ply in range(game.max_plies):
            if game.calls.is_terminal(state):
                break
            legal = game.legal_moves(state)
            if ply < RANDOM_PLIES:
                game.calls.play(state, int(draw.choice(legal)))
                continue
            mover = int(game.calls.current_player(state))
            request = SearchRequest(
                game.spec,
                strategy="root",
                lanes=1,
                simulations=simulations,
                playout_plies=0,
                widening=8,
                seed=int(draw.integers(2**31)),
            )
            context, plan, strategy = open_view(request, game, state.copy(), mover, len(legal))
            run_here(context, plan, strategy, game.nominal_simulations_per_s, lambda: 0.0)
            children = root_children(strategy.tree, mover)
            visits = np.zeros(game.max_moves)
            visits[[child.move for child in children]] = [child.visits for child in children]
            visits /= visits.sum()
            owners = game.owners(state[None])[0]
            planes.append(np.stack([owners == mover + 1, owners == 2 - mover]))
            policies.append(visits)
            values.append(sum(child.visits * child.value for child in children) / simulations)
            movers.append(mover)
            move = draw.choice(len(visits), p=visits) if ply < SAMPLED_PLIES else visits.argmax()
            game.calls.play(state, int(move))
        result = game.calls.returns(state)
        for place, mover in enumerate(movers, start=first):
            values[place] = (values[place] + (result if mover == 0 else -result)) / 2
        if number % 50 == 49:
            print(f"{number + 1} games, {len(values)} positions", flush=True)
    return np.array(planes, dtype=np.float32), np.array(policies, dtype=np.float32), np.array(values)


def new_weights(draw):
    """Small random weights."""
    inputs = 3 * len(STEPS)
    shapes = {
        "line": (inputs, HIDDEN),
        "line_bias": (HIDDEN,),
        "cell": (HIDDEN, HIDDEN),
        "cell_bias": (HIDDEN,),
        "policy": (HIDDEN,),
        "value": (2 * HIDDEN,),
        "value_bias": (),
    }
    return {
        name: (
            draw.normal(size=shape) * (len(shape) > 0 and "bias" not in name) / np.sqrt((shape or (1,))[0])
        ).astype(np.float32)
        for name, shape in shapes.items()
    }


def gradients(w, planes, policies, values):
    """(losses of policy and value, gradient by name) of one batch."""
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
    losses = (-(policies * np.log(shares + 1e-9)).sum() / size, ((said - values) ** 2).mean())

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


def train(w, data, epochs, draw, batch=128, rate=0.003):
    """Adam, in place; each batch is seen in one of the board's eight orientations."""
    planes, policies, values = data
    side = planes.shape[2]
    means, squares = ({name: np.zeros_like(each) for name, each in w.items()} for _ in range(2))
    step, batches = 0, max(1, len(values) // batch)
    for epoch in range(epochs):
        totals = np.zeros(2)
        for chosen in np.array_split(draw.permutation(len(values)), batches):
            turns, flip = draw.integers(4), draw.integers(2)
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


def main():
    """Play, train, write."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
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
    np.savez_compressed(asked.out, **{name: each.astype(np.float16) for name, each in weights.items()})
    print(f"{asked.out}: {Path(asked.out).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
