# SPDX-License-Identifier: Apache-2.0
"""Finds the package in the source tree unless it is installed."""

import importlib.util
import pathlib
import sys

if importlib.util.find_spec("rung") is None:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
