# SPDX-License-Identifier: Apache-2.0
"""cub.py [write | NAME ...] - writes the inputs and the expected results of tests/check/cub/*.cu to .npy files."""
import sys
import numpy as np

rng = np.random.default_rng(7)
values = rng.integers(-100, 101, 1024).astype(np.int32)
small = rng.integers(0, 32, 1024).astype(np.uint8)
blocks = values.reshape(2, 512)


def sorted_parts(size):
    return np.sort(values.reshape(-1, size), axis=1)


def heads():
    result = np.ones(1024, np.int32)
    result[1:] = small[1:] != small[:-1]
    result[512] = 1
    return result


def differences():
    result = blocks.copy()
    result[:, 1:] -= blocks[:, :-1]
    return result


def segments():
    """Sums from each head to the next one, which is also the end of a warp."""
    result = np.zeros(64, np.int32)
    for lane in range(64):
        if lane % 5 == 0 or lane % 32 == 0:
            end = lane + 1
            while end % 5 != 0 and end % 32 != 0:
                end += 1
            result[lane] = values[lane:end].sum()
    return result


def histogram():
    return np.stack([np.bincount(part, minlength=32) for part in small.reshape(2, 512)])


first = values[:256].reshape(2, 128)
warps = values.reshape(8, 4, 32)
# By kernel: length of the input, and the results by array.
cases = {
    "block_reduce": (1024, {"out": blocks.sum(axis=1)}),
    "block_reduce_raking": (256, {"out": first[:, :100].max(axis=1)}),
    "block_scan": (1024, {"out": np.cumsum(blocks, axis=1) - blocks}),
    "block_radix_sort": (1024, {"out": sorted_parts(512)}),
    "block_merge_sort": (1024, {"out": sorted_parts(512)}),
    "block_load_store": (1000, {"out": 3 * values[:1000] + 1}),
    "block_exchange": (1024, {"out": blocks.reshape(2, 4, 128).transpose(0, 2, 1)}),
    "block_histogram": (1024, {"out": histogram()}),
    "block_histogram_sort": (1024, {"out": histogram()}),
    "block_discontinuity": (1024, {"out": heads()}),
    "block_adjacent_difference": (1024, {"out": differences()}),
    "block_shuffle": (256, {"out": np.roll(first, -5, axis=1)}),
    "warp_reduce": (256, {"out": values[:256].reshape(8, 32).sum(axis=1)}),
    "warp_reduce_16": (64, {"out": values[:64].reshape(4, 16).sum(axis=1), "segments": segments()}),
    "warp_scan": (256, {"out": np.cumsum(values[:256].reshape(8, 32), axis=1)}),
    "warp_merge_sort": (1024, {"out": sorted_parts(128)}),
    "warp_exchange": (1024, {"out": None}),
    "warp_load_store": (1024, {"out": values - 7}),
}
# Items (lane, i) hold element 4 * lane + i; striped order is item i of lane l at i * 32 + l.
items = values.reshape(8, 32, 4)
striped = items.transpose(0, 2, 1).reshape(8, 128)
cases["warp_exchange"] = (1024, {"out": striped})

name = sys.argv[1]
length, results = cases[name]
np.save("in.npy", values[:length])
np.save("bytes.npy", small)
for array, result in results.items():
    np.save(array + ".npy", np.ascontiguousarray(result))
print(",".join(f"{array}={array}.npy" for array in results))
