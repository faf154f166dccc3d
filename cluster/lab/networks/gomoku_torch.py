"""The network of gomoku_net.py in torch, with the same weights: an example of an evaluator on a GPU.

    banyan search gomoku:size=9 --strategy leaf --evaluator ./gomoku_torch.py --batch 64 --gpus-per-worker 1

For another network replace `Network`, and what GomokuTorch loads.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cluster.lab.networks.gomoku_net import neighbours
from games.errors import InvalidInput
from games.game import Game
from search.evaluator import Evaluator

try:
    import torch
    from torch import nn
except ModuleNotFoundError:
    accepted = "torch to be installed: pip install torch"
    raise InvalidInput("evaluator", Path(__file__).name, accepted) from None

Floats = npt.NDArray[Any]


class Network(nn.Module):  # type: ignore[misc]
    """From planes [B, 2, rows, columns] to values [B] and policies [B, cells]."""

    def __init__(self, rows: int, columns: int, w: dict[str, Floats]) -> None:
        """``w``: the arrays of gomoku_net.npz as float32, by name."""
        super().__init__()
        self.register_buffer("neighbours", torch.tensor(neighbours(rows, columns)))
        self.line = linear(w["line"], w["line_bias"])
        self.cell = linear(w["cell"], w["cell_bias"])
        self.policy = linear(w["policy"][:, None], np.zeros(1))
        self.value = linear(w["value"][:, None], w["value_bias"][None])

    def forward(self, planes: Any) -> tuple[Any, Any]:
        cells = planes.flatten(2).transpose(1, 2)
        # One more plane and one more cell: what is off the board.
        padded = nn.functional.pad(cells, (0, 1, 0, 1))
        padded[:, -1, 2] = 1
        lines = self.line(padded[:, self.neighbours].flatten(3)).relu().sum(2)
        found = self.cell(lines).relu() * (1 - cells.sum(2, keepdim=True))
        pooled = torch.cat([found.amax(1), found.mean(1)], dim=1)
        return self.value(pooled).squeeze(1).tanh(), self.policy(found).squeeze(2)


def linear(weights: Floats, bias: Floats) -> Any:
    """A layer with these weights [inputs, outputs] and bias [outputs]."""
    layer = nn.Linear(*weights.shape)
    layer.load_state_dict({"weight": torch.tensor(weights.T), "bias": torch.tensor(bias)})
    return layer


class GomokuTorch(Evaluator):
    """The network with weights from a file in the folder of this module.

    ``device`` is a name that torch knows, such as cpu, cuda or cuda:1; auto: the GPU, if torch finds one.
    ``threads`` is how many CPU threads torch uses. It is fixed because it could change how sums are rounded,
    and because torch's default, all cores, is slow where each core has a worker.
    """

    def __init__(
        self, game: Game, weights: str = "gomoku_net.npz", device: str = "auto", threads: int = 1
    ) -> None:
        super().__init__(game)
        self.threads, self.place = threads, place_of(device)
        is_cuda = self.place.type == "cuda"
        self.device = torch.cuda.get_device_name(self.place) if is_cuda else self.place.type
        stored = np.load(Path(__file__).with_name(weights))
        rows, columns = self.planes(game.initial_state()[None]).shape[2:]
        network = Network(rows, columns, {name: stored[name].astype(np.float32) for name in stored})
        self.network = network.eval().to(self.place)

    def evaluate(self, states: Floats) -> tuple[Floats, Floats]:
        """Values [B] of the player to move, and policies [B, cells] as logits."""
        torch.set_num_threads(self.threads)  # of the whole process, where others may have set it
        with torch.inference_mode():
            values, policies = self.network(torch.tensor(self.planes(states), device=self.place))
            return values.cpu().numpy(), policies.cpu().numpy()


def place_of(device: str) -> Any:
    """The torch.device of a name, tried out. Raises InvalidInput (evaluator option device)."""
    name = device if device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    try:
        place = torch.device(name)
        torch.zeros(1, device=place).cpu()
    except Exception as error:
        reason = str(error).partition("\n")[0].partition(". ")[0]
        accepted = f"auto, cpu, or another device that torch can use here ({reason})"
        raise InvalidInput("evaluator option device", device, accepted) from None
    return place
