"""What lies outside an environment's object: names of its modules, attributes of its classes.

Copies of an environment share all of it: a deck in a module is the same for every simulation.
"""

from __future__ import annotations

import pickle
import types
from contextlib import suppress
from io import BytesIO
from typing import Any

from games.gym.generators import GENERATORS, OTHERS, kinds_of, modules_of, path_of


def contents(env: Any) -> dict[str, list[bytes]]:
    """By the text for messages (such as ``deck of my_env.py``): the pickled content of each name of the
    modules and classes, without the states of generators; a list, since a file may have been loaded twice."""
    places: list[tuple[str, Any]] = [(path_of(module).name, module) for module in modules_of(*kinds_of(env))]
    places += [
        (f"class {kind.__name__}", kind)
        for kind in kinds_of(env)
        if OTHERS.isdisjoint(kind.__module__.split(".")[:1])
    ]
    found: dict[str, list[bytes]] = {}
    for place, holder in places:
        for name, value in [*vars(holder).items()]:
            if not name.startswith(("__", "_abc_")):
                written = BytesIO()
                # What was written up to an error, such as of a structure that is too deep, is compared.
                with suppress(Exception):
                    _Writer(written).dump(getattr(value, "__func__", value))
                found.setdefault(f"{name} of {place}", []).append(written.getvalue())
    return found


class _Writer(pickle.Pickler):
    """Writes of functions what they keep, of generators and of what cannot be written its type."""

    def persistent_id(self, value: Any) -> Any:
        if isinstance(value, types.FunctionType):
            # An empty cell is not read. Functions may hold themselves.
            cells = [cell.cell_contents for cell in value.__closure__ or () if cell != types.CellType()]
            kept = [each for each in cells if not isinstance(each, types.FunctionType)]
            return value.__defaults__, value.__kwdefaults__, value.__dict__, kept
        is_named = isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType, *GENERATORS))
        return type(value).__name__ if is_named or type(value).__module__.startswith("numba.") else None

    def reducer_override(self, value: Any) -> Any:
        with suppress(Exception):
            found = value.__reduce_ex__(4)
            # The text is a name by which it should be found, and often is not.
            return found if isinstance(found, tuple) else (str, (found,))
        return list, ()
