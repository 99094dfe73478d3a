# SPDX-License-Identifier: Apache-2.0
# numpy_products.py - products of floating-point matrices of all kinds, held to the same products
# of whole numbers, which NumPy multiplies without a BLAS. The numbers are so small that
# both are exact.
import itertools
import os
import sys
import threading

import numpy as np

random = np.random.default_rng(7)
checked = 0


def check(what, got, wanted):
    global checked
    checked += 1
    if got.shape != wanted.shape or not np.array_equal(got, wanted.astype(got.dtype)):
        sys.exit(f"{what}: {got.dtype} {got.shape} is wrong")


def whole(*shape):
    return random.integers(-4, 5, shape)


# The same values, in each way that they may stand in memory.
def dense(x):
    return np.ascontiguousarray(x)


def fortran(x):
    return np.asfortranarray(x)


def block(x):
    room = np.full((x.shape[0] + 3, x.shape[1] + 5), np.nan, x.dtype)
    room[1:-2, 2:-3] = x
    return room[1:-2, 2:-3]


def block_transposed(x):
    return block(x.T).T


def every_second(x):
    room = np.full((2 * x.shape[0], 2 * x.shape[1]), np.nan, x.dtype)
    room[::2, ::2] = x
    return room[::2, ::2]


def backwards(x):
    return np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]


def shifted(x):
    memory = np.zeros(x.nbytes + 16, np.uint8)
    place = memory[4 if x.itemsize == 4 else 8:][:x.nbytes].view(x.dtype).reshape(x.shape)
    place[...] = x
    return place


def unaligned(x):
    memory = np.zeros(x.nbytes + 16, np.uint8)
    place = memory[1:][:x.nbytes].view(x.dtype).reshape(x.shape)
    place[...] = x
    return place


layouts = [dense, fortran, block, block_transposed, every_second, backwards, shifted, unaligned]
sizes = [0, 1, 2, 3, 8, 17, 33]


def products_of_two(dtype):
    for m, n, k in itertools.product(sizes, sizes, sizes):
        a, b = whole(m, k), whole(k, n)
        check("dense", a.astype(dtype) @ b.astype(dtype), a @ b)
    for (first, second), (m, n, k) in itertools.product(
            itertools.product(layouts, layouts), [(1, 5, 3), (7, 1, 4), (9, 10, 11), (16, 32, 24), (5, 6, 1)]):
        a, b = whole(m, k), whole(k, n)
        x, y = first(a.astype(dtype)), second(b.astype(dtype))
        what = f"{first.__name__} by {second.__name__}, {m} x {n} x {k}"
        check(what, x @ y, a @ b)
        check("dot of " + what, np.dot(x, y), a @ b)
        for place in (dense, fortran, block, every_second):
            out = place(np.full((m, n), np.nan, dtype))
            check(f"into {place.__name__}, {what}", np.matmul(x, y, out=out), a @ b)
            check(f"in {place.__name__}, {what}", out, a @ b)


def products_with_itself(dtype):
    a = whole(12, 7)
    x = a.astype(dtype)
    check("x @ x.T", x @ x.T, a @ a.T)
    check("x.T @ x", x.T @ x, a.T @ a)
    square = whole(9, 9)
    y = square.astype(dtype)
    check("y @ y", y @ y, square @ square)
    y = y @ y @ y
    check("y cubed", y, square @ square @ square)


def batches(dtype):
    for lead_a, lead_b in [((5,), (5,)), ((2, 3), (3,)), ((4, 1), (1, 3)), ((), (6,)), ((0,), (0,))]:
        a, b = whole(*lead_a, 4, 6), whole(*lead_b, 6, 5)
        check(f"batch {lead_a} {lead_b}", np.matmul(a.astype(dtype), b.astype(dtype)), np.matmul(a, b))
    a, b = whole(3, 4, 6), whole(3, 5, 6)
    check("batch, b transposed", np.matmul(a.astype(dtype), b.astype(dtype).transpose(0, 2, 1)),
          np.matmul(a, b.transpose(0, 2, 1)))
    one = np.broadcast_to(whole(6, 5), (3, 6, 5))
    check("one b for all", np.matmul(a.astype(dtype), one.astype(dtype)), np.matmul(a, one))
    check("tensordot", np.tensordot(a.astype(dtype), b.astype(dtype), ([0, 2], [0, 2])),
          np.tensordot(a, b, ([0, 2], [0, 2])))
    check("einsum", np.einsum("bij,bkj->ik", a.astype(dtype), b.astype(dtype), optimize=True),
          np.einsum("bij,bkj->ik", a, b))


def in_threads(dtype):
    wrong = []

    def work(m):
        a, b = np.full((m, 8), 2, dtype), np.full((8, m), 3, dtype)
        for _ in range(50):
            if not (a @ b == 48).all():
                wrong.append(m)

    threads = [threading.Thread(target=work, args=(m,)) for m in (3, 4, 5, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        sys.exit(f"threads: sizes {wrong} were wrong")


def after_fork(dtype):
    a = np.full((20, 20), 1, dtype)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os._exit(0 if (a @ a == 20).all() else 1)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("a child's product was wrong")


for element in (np.float32, np.float64):
    products_of_two(element)
    products_with_itself(element)
    batches(element)
    in_threads(element)
    after_fork(element)
print(f"{checked} products are right, with NumPy {np.__version__}")
