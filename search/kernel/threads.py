"""What threads that run kernels side by side need: atomic access to int64 arrays that they share, a lock made
of it, and their CPU time.

Compiled code alone calls these functions, in threads that run without Python's global lock.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from games.jit import inner_njit
from games.rng import GOLDEN, Stream, mix

Marks = npt.NDArray[np.int64]

SPINS = 1_000
"""How often a thread that waits looks before it lets others run: some microseconds."""
YIELDS = 100
"""How often it lets others run before it sleeps."""
SLEEP_US = 20
"""Length of a sleep in microseconds."""

_ONE = np.uint64(1)
MONOTONIC, THREAD_CPU = 1, 3
"""CLOCK_MONOTONIC and CLOCK_THREAD_CPUTIME_ID of Linux."""
_clock_gettime = types.ExternalFunction(
    "clock_gettime", types.int32(types.int32, types.CPointer(types.int64))
)
_sched_yield = types.ExternalFunction("sched_yield", types.int32())
_usleep = types.ExternalFunction("usleep", types.int32(types.uint32))


def _place(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """A pointer to an item; the index is at least 0."""
    items = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, items, [index], wraparound=False)


@intrinsic  # type: ignore[untyped-decorator]
def load(typing_context: Any, array: Any, index: Any) -> Any:
    """Read the item (an acquire); what was written before it was stored can be read then as well."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_place(context, builder, signature.args[0], *args), "acquire", 8)

    return types.int64(array, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write the item (a release), after all that this thread has written before."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], *args[:2])
        builder.store_atomic(args[2], place, "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def take(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write ``value`` to the item if that is 0, in one atomic step; returns whether it was 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], *args[:2])
        nothing = context.get_constant(types.int64, 0)
        pair = builder.cmpxchg(place, nothing, args[2], "acq_rel", "acquire")
        return builder.extract_value(pair, 1)

    return types.boolean(array, types.intp, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def count_up(typing_context: Any, array: Any, index: Any) -> Any:
    """Add 1 to the item, in one atomic step; returns what it was before."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], *args)
        return builder.atomic_rmw("add", place, context.get_constant(types.int64, 1), "acq_rel")

    return types.int64(array, types.intp), generate


@inner_njit
def seconds_by(kind: int, clock: Marks) -> float:
    """The time by MONOTONIC, which is that of `time.monotonic()`, or by THREAD_CPU, the CPU time of this
    thread; ``clock`` ([2]) is scratch."""
    _clock_gettime(np.int32(kind), clock.ctypes)
    return float(clock[0]) + 1e-9 * float(clock[1])


@inner_njit
def pause(looks: int) -> None:
    """What a thread does after it has looked in vain that many times."""
    if looks > SPINS + YIELDS:
        _usleep(np.uint32(SLEEP_US))
    elif looks > SPINS:
        _sched_yield()


@inner_njit
def lock(marks: Marks, index: int, owner: int) -> None:
    """Wait until the item is 0, and make it ``owner``, which is not 0."""
    looks = 0
    while load(marks, index) != 0 or not take(marks, index, owner):
        looks += 1
        pause(looks)


@inner_njit
def unlock(marks: Marks, index: int) -> None:
    """Make the item 0, after all that was written before."""
    store(marks, index, 0)


@inner_njit
def stream_of(stream: Stream, begun: np.uint64, number: int) -> None:
    """Set ``stream`` to the one that `games.rng.new_stream` makes of an identity that ends with ``number``.

    ``begun``: `games.rng.begin_stream` of the numbers before it.
    """
    state = mix(begun ^ np.uint64(number)) + GOLDEN
    stream[0] = mix(state)
    stream[1] = mix(state + GOLDEN) | _ONE
