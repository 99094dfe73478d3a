/* SPDX-License-Identifier: Apache-2.0 */
/* async.h - copies from global to shared memory that go on while the thread works.
 *
 *   copies_t               what a thread has under way; one at a kernel's top
 *   copy_async(...)        one element, or zero where it is outside
 *   copy4_async(...)       four neighbours
 *   copy16_async(...)      16 bytes, of which the first so many elements are inside
 *   copies_commit(...)     those since the last commit become a group
 *   copies_wait(...)       until all but the newest `left` groups have arrived
 *
 * A copy may be used only after a wait, and by other threads only after a barrier
 * behind it. On sm_80 and later these are cp.async, which moves 4, 8 or 16 bytes; a
 * single element of fewer goes through a register. Elsewhere a copy is done as it is
 * issued, which is right, but hides a wrong wait; so with CHECKED=1 a copy writes
 * garbage as it is issued and the elements only as it is waited for, the
 * latest that the rules allow.
 */
#ifndef RUNG_ASYNC_H
#define RUNG_ASYNC_H

#ifndef CHECKED
#define CHECKED 0
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

typedef struct {
    int nothing;
} copies_t;

DEVICE void copies_init(copies_t *copies)
{
    (void)copies;
}

/* As numbers of 4, 8 or 16 bytes; of fewer than `bytes`, where `inside` is 0, zeros. */
#define CP_ASYNC(cache, bytes, to, from, inside)                                        \
    asm volatile("cp.async." cache ".shared.global [%0], [%1], %2, %3;" ::"r"(          \
                     (uint)__cvta_generic_to_shared(to)),                               \
                 "l"(from), "n"(bytes), "r"((inside) ? (bytes) : 0)                     \
                 : "memory")

DEVICE void copy_async(copies_t *copies, in_t *to, const in_t *from, int inside)
{
    (void)copies;
#if IN_BYTES < 4
    *to = inside ? *from : (in_t)0;
#else
    CP_ASYNC("ca", IN_BYTES, to, from, inside);
#endif
}

DEVICE void copy4_async(copies_t *copies, in_t *to, const in_t *from)
{
    (void)copies;
#if IN_BYTES < 4
    CP_ASYNC("ca", 4 * IN_BYTES, to, from, 1);
#elif IN_BYTES == 4
    CP_ASYNC("cg", 16, to, from, 1);
#else
    CP_ASYNC("cg", 16, to, from, 1);
    CP_ASYNC("cg", 16, to + 2, from + 2, 1);
#endif
}

DEVICE void copy16_async(copies_t *copies, in_t *to, const in_t *from, int inside)
{
    (void)copies;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(inside * IN_BYTES)
                 : "memory");
}

DEVICE void copies_commit(copies_t *copies)
{
    (void)copies;
    asm volatile("cp.async.commit_group;" ::: "memory");
}

#define copies_wait(copies, left) asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory")

#elif CHECKED && defined(__OPENCL_C_VERSION__)

#define COPIES_MAX 256
#define GROUPS_MAX 8

typedef struct {
    SHARED in_t       *to[COPIES_MAX];
    GLOBAL const in_t *from[COPIES_MAX];
    int                inside[COPIES_MAX];
    uint               issued, arrived;       /* copies */
    uint               ends[GROUPS_MAX];      /* of groups, in copies */
    uint               committed, completed;  /* groups */
} copies_t;

DEVICE void copies_init(copies_t *copies)
{
    copies->issued = copies->arrived = copies->committed = copies->completed = 0;
}

DEVICE void copy_async(copies_t *copies, SHARED in_t *to, GLOBAL const in_t *from, int inside)
{
    const uint place = copies->issued++ % COPIES_MAX;
    copies->to[place] = to;
    copies->from[place] = from;
    copies->inside[place] = inside;
    *to = (in_t)-777777;
}

DEVICE void copy4_async(copies_t *copies, SHARED in_t *to, GLOBAL const in_t *from)
{
    for (uint i = 0; i < 4; i++)
        copy_async(copies, to + i, from + i, 1);
}

DEVICE void copy16_async(copies_t *copies, SHARED in_t *to, GLOBAL const in_t *from, int inside)
{
    for (int i = 0; i < 16 / IN_BYTES; i++)
        copy_async(copies, to + i, from + i, i < inside);
}

DEVICE void copies_commit(copies_t *copies)
{
    copies->ends[copies->committed++ % GROUPS_MAX] = copies->issued;
}

DEVICE void copies_wait(copies_t *copies, uint left)
{
    while (copies->committed - copies->completed > left) {
        const uint end = copies->ends[copies->completed++ % GROUPS_MAX];
        for (; copies->arrived != end; copies->arrived++) {
            const uint place = copies->arrived % COPIES_MAX;
            *copies->to[place] = copies->inside[place] ? *copies->from[place] : (in_t)0;
        }
    }
}

#else

typedef struct {
    int nothing;
} copies_t;

DEVICE void copies_init(copies_t *copies)
{
    copies->nothing = 0;
}

DEVICE void copy_async(copies_t *copies, SHARED in_t *to, GLOBAL const in_t *from, int inside)
{
    (void)copies;
    *to = inside ? *from : (in_t)0;
}

DEVICE void copy4_async(copies_t *copies, SHARED in_t *to, GLOBAL const in_t *from)
{
    (void)copies;
    *(SHARED in4_t *)to = *(GLOBAL const in4_t *)from;
}

DEVICE void copy16_async(copies_t *copies, SHARED in_t *to, GLOBAL const in_t *from, int inside)
{
    (void)copies;
    if (inside == 16 / IN_BYTES)
        *(SHARED uint4 *)to = *(GLOBAL const uint4 *)from;
    else
        for (int i = 0; i < 16 / IN_BYTES; i++)
            to[i] = i < inside ? from[i] : (in_t)0;
}

DEVICE void copies_commit(copies_t *copies)
{
    (void)copies;
}

DEVICE void copies_wait(copies_t *copies, uint left)
{
    (void)copies;
    (void)left;
}

#endif

/* Brings the tile_l x tile_k elements from (l, k) on into a tile that stands k by k,
 * all threads of the block together. Without an edge along k, k_end is not looked
 * at. A piece along k is scattered element by element: the tile is transposed. */
DEVICE void bring_async(copies_t *copies, SHARED in_t *tile, uint ld, uint tile_l, uint tile_k,
                        uint threads, GLOBAL const in_t *memory, view_t view, index_t l, index_t k,
                        index_t l_end, index_t k_end, int along_l, int has_k_edge)
{
    EACH_PIECE
    for (uint i = 0; i < tile_l * tile_k / 4; i += threads) {
        const uint dl = piece_l(i + threadIdx.x, tile_l, tile_k, along_l);
        const uint dk = piece_k(i + threadIdx.x, tile_l, tile_k, along_l);
        SHARED in_t *to = &tile[dk * ld + dl];
        const int guard_k = GUARDED && has_k_edge;
        if (WIDE && along_l && ld % 4 == 0 &&
            ((!GUARDED || l + dl + 3 < l_end) && (!guard_k || k + dk < k_end))) {
            copy4_async(copies, to, &memory[at(view, l + dl, k + dk)]);
            continue;
        }
#pragma unroll
        for (uint j = 0; j < 4; j++) {
            const index_t l_at = l + dl + (along_l ? j : 0), k_at = k + dk + (along_l ? 0 : j);
            const int inside = (!GUARDED || l_at < l_end) && (!guard_k || k_at < k_end);
            copy_async(copies, to + (along_l ? j : j * ld),
                       inside ? &memory[at(view, l_at, k_at)] : memory, inside);
        }
    }
}

#endif /* RUNG_ASYNC_H */
