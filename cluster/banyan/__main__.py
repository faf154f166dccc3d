"""The entry point of `python -m banyan` and of the command `banyan`."""

from __future__ import annotations

import gc
import sys

from . import PACKAGES, check


def main() -> None:
    """Run the command line; ends the process."""
    # What imports and compilers make mostly stays: to look for garbage in it takes a sixth of a first search.
    gc.set_threshold(50_000, 1, 1)
    try:
        for name in PACKAGES:
            check(name)
    except ImportError as error:
        sys.exit(f"banyan: error: {error}")
    from cluster.cli import main as run

    run()


if __name__ == "__main__":
    main()
