# SPDX-License-Identifier: Apache-2.0
"""The console script `rung`: replaces this process by the command of the package."""

from __future__ import annotations

import os
import sys


def main() -> int:
    from ._library import Error, command_path

    # The command searches NVIDIA's compilers in the virtual environment, which need not be active.
    if sys.prefix != sys.base_prefix:
        os.environ.setdefault("VIRTUAL_ENV", sys.prefix)
    try:
        path = command_path()
        os.execv(path, [path, *sys.argv[1:]])
    except (Error, OSError) as error:
        print(f"rung: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
