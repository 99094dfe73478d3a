/* SPDX-License-Identifier: Apache-2.0 */
/* async.h - asynchronous copies from global to shared memory, for 10_pipeline and 12_matrix.
 *
 *   copies_t               the copies that a thread has in flight; one per kernel
 *   copy_async(...)        copies one element, or stores zero if `inside` is 0
 *   copy4_async(...)       copies four adjacent elements
 *   copy16_async(...)      copies 16 bytes; elements from number `inside` on become zero
 *   copies_commit(...)     makes a group of the copies since the last commit
 *   copies_wait(...)       waits until at most the newest `pending` groups are in flight
 *
 * A thread may use a copied element only after a wait, and other threads only after a
 * barrier that follows the wait. On sm_80 and later the copies are cp.async, which moves 4,
 * 8 or 16 bytes; a single smaller element is copied through a register. Elsewhere a copy
 * completes when it is issued. That is correct, but would hide a wrong wait. With CHECKED=1
 * a copy therefore stores garbage when it is issued, and the elements only in the wait: the
 * latest moment that the rules allow.
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

/* Copies 4, 8 or 16 bytes, or stores zeros if `inside` is 0. */
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

#define copies_wait(copies, pending) asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory")

#elif CHECKED && defined(__OPENCL_C_VERSION__)

#define COPIES_MAX 256
#define GROUPS_MAX 8

typedef struct {
    SHARED in_t       *to[COPIES_MAX];
    GLOBAL const in_t *from[COPIES_MAX];
    int                inside[COPIES_MAX];
    uint               issued, completed_copies; /* numbers of copies */
    uint               ends[GROUPS_MAX];         /* number of copies issued when a group was committed */
    uint               committed, completed;     /* numbers of groups */
} copies_t;

DEVICE void copies_init(copies_t *copies)
{
    copies->issued = copies->completed_copies = copies->committed = copies->completed = 0;
}

DEVICE void copy_async(copies_t *copies, SHARED in_t *to, GLOBAL const in_t *from, int inside)
{
    const uint slot = copies->issued++ % COPIES_MAX;
    copies->to[slot] = to;
    copies->from[slot] = from;
    copies->inside[slot] = inside;
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

DEVICE void copies_wait(copies_t *copies, uint pending)
{
    while (copies->committed - copies->completed > pending) {
        const uint end = copies->ends[copies->completed++ % GROUPS_MAX];
        for (; copies->completed_copies != end; copies->completed_copies++) {
            const uint slot = copies->completed_copies % COPIES_MAX;
            *copies->to[slot] = copies->inside[slot] ? *copies->from[slot] : (in_t)0;
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

DEVICE void copies_wait(copies_t *copies, uint pending)
{
    (void)copies;
    (void)pending;
}

#endif

#endif /* RUNG_ASYNC_H */
