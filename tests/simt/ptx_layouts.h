/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_layouts.h - where the elements of a matrix stand in the registers of a warp,
 * written from the PTX ISA manual alone and not from the kernels' headers, so that the
 * two are two readings of one page. The names are the manual's: `i` counts a lane's
 * elements from register to register, low bits first. Sections: "Matrix Fragments for
 * mma.m8n8k4 with .f64", "... mma.m8n8k16", "... mma.m16n8k8", "... mma.m16n8k16 with floating point type",
 * "... mma.m16n8k32", and "Warp-level matrix load instruction: ldmatrix". */
#ifndef RUNG_PTX_LAYOUTS_H
#define RUNG_PTX_LAYOUTS_H

enum { WARP = 32 };

typedef struct ptx_element {
    int row, col;
} ptx_place_t;

typedef ptx_place_t ptx_rule_t(int lane, int i);

/* One form of mma.sync: D (m x n) = A (m x k) * B (k x n) + C. */
typedef struct ptx_mma {
    const char *name;
    int m, n, k;
    int in_register;               /* elements of A and B that a register holds; an f64 takes two */
    int a_count, b_count, c_count; /* elements that a lane holds */
    ptx_rule_t *a, *b, *c;
} ptx_mma_t;

static inline int ptx_group_id(int lane)
{
    return lane >> 2;
}

static inline int ptx_thread_in_group(int lane)
{
    return lane % 4;
}

/* ---- Sums: the same in all forms of 16 rows, and the upper half in those of 8 ----- */

static inline ptx_place_t ptx_c_m16n8(int lane, int i)
{
    return (ptx_place_t){.row = i < 2 ? ptx_group_id(lane) : ptx_group_id(lane) + 8,
                         .col = ptx_thread_in_group(lane) * 2 + (i & 1)};
}

static inline ptx_place_t ptx_c_m8n8(int lane, int i)
{
    return (ptx_place_t){.row = ptx_group_id(lane), .col = ptx_thread_in_group(lane) * 2 + i};
}

/* ---- m16n8k16, f16 and bf16 ------------------------------------------------------- */

static inline ptx_place_t ptx_a_m16n8k16(int lane, int i)
{
    bool upper = (0 <= i && i < 2) || (4 <= i && i < 6);
    int col = ptx_thread_in_group(lane) * 2 + (i & 1);
    return (ptx_place_t){.row = upper ? ptx_group_id(lane) : ptx_group_id(lane) + 8, .col = i < 4 ? col : col + 8};
}

static inline ptx_place_t ptx_b_m16n8k16(int lane, int i)
{
    int row = ptx_thread_in_group(lane) * 2 + (i & 1);
    return (ptx_place_t){.row = i < 2 ? row : row + 8, .col = ptx_group_id(lane)};
}

/* ---- m16n8k8, f16 ----------------------------------------------------------------- */

static inline ptx_place_t ptx_a_m16n8k8(int lane, int i)
{
    return (ptx_place_t){.row = i < 2 ? ptx_group_id(lane) : ptx_group_id(lane) + 8,
                         .col = ptx_thread_in_group(lane) * 2 + (i & 1)};
}

static inline ptx_place_t ptx_b_m16n8k8(int lane, int i)
{
    return (ptx_place_t){.row = ptx_thread_in_group(lane) * 2 + i, .col = ptx_group_id(lane)};
}

/* ---- m16n8k8, tf32 ---------------------------------------------------------------- */

static inline ptx_place_t ptx_a_m16n8k8_tf32(int lane, int i)
{
    int row = ptx_group_id(lane), col = ptx_thread_in_group(lane);
    return (ptx_place_t){.row = i == 0 || i == 2 ? row : row + 8, .col = i == 0 || i == 1 ? col : col + 4};
}

static inline ptx_place_t ptx_b_m16n8k8_tf32(int lane, int i)
{
    int row = ptx_thread_in_group(lane);
    return (ptx_place_t){.row = i == 0 ? row : row + 4, .col = ptx_group_id(lane)};
}

/* ---- m16n8k32, s8 ----------------------------------------------------------------- */

static inline ptx_place_t ptx_a_m16n8k32(int lane, int i)
{
    bool upper = (0 <= i && i < 4) || (8 <= i && i < 12);
    int col = ptx_thread_in_group(lane) * 4 + (i & 3);
    return (ptx_place_t){.row = upper ? ptx_group_id(lane) : ptx_group_id(lane) + 8, .col = i < 8 ? col : col + 16};
}

static inline ptx_place_t ptx_b_m16n8k32(int lane, int i)
{
    int row = ptx_thread_in_group(lane) * 4 + (i & 3);
    return (ptx_place_t){.row = i < 4 ? row : row + 16, .col = ptx_group_id(lane)};
}

/* ---- m8n8k16, s8 ------------------------------------------------------------------ */

static inline ptx_place_t ptx_a_m8n8k16(int lane, int i)
{
    return (ptx_place_t){.row = ptx_group_id(lane), .col = ptx_thread_in_group(lane) * 4 + i};
}

static inline ptx_place_t ptx_b_m8n8k16(int lane, int i)
{
    return (ptx_place_t){.row = ptx_thread_in_group(lane) * 4 + i, .col = ptx_group_id(lane)};
}

/* ---- m8n8k4, f64 ------------------------------------------------------------------ */

static inline ptx_place_t ptx_a_m8n8k4_f64(int lane, int i)
{
    (void)i;
    return (ptx_place_t){.row = ptx_group_id(lane), .col = ptx_thread_in_group(lane)};
}

static inline ptx_place_t ptx_b_m8n8k4_f64(int lane, int i)
{
    (void)i;
    return (ptx_place_t){.row = ptx_thread_in_group(lane), .col = ptx_group_id(lane)};
}

static const ptx_mma_t ptx_m16n8k16_f16 = {"m16n8k16 of 16 bits", 16,         8, 16, 2, 8, 4, 4, ptx_a_m16n8k16,
                                           ptx_b_m16n8k16,        ptx_c_m16n8};
static const ptx_mma_t ptx_m16n8k8_f16 = {"m16n8k8 of f16", 16,         8, 8, 2, 4, 2, 4, ptx_a_m16n8k8,
                                          ptx_b_m16n8k8,    ptx_c_m16n8};
static const ptx_mma_t ptx_m16n8k8_tf32 = {"m16n8k8 of tf32",  16,         8, 8, 1, 4, 2, 4, ptx_a_m16n8k8_tf32,
                                           ptx_b_m16n8k8_tf32, ptx_c_m16n8};
static const ptx_mma_t ptx_m16n8k32_s8 = {"m16n8k32 of s8", 16,         8, 32, 4, 16, 8, 4, ptx_a_m16n8k32,
                                          ptx_b_m16n8k32,   ptx_c_m16n8};
static const ptx_mma_t ptx_m8n8k16_s8 = {"m8n8k16 of s8", 8,         8, 16, 4, 4, 4, 2, ptx_a_m8n8k16,
                                         ptx_b_m8n8k16,   ptx_c_m8n8};
static const ptx_mma_t ptx_m8n8k4_f64 = {"m8n8k4 of f64",  8,         8, 4, 1, 1, 1, 2, ptx_a_m8n8k4_f64,
                                         ptx_b_m8n8k4_f64, ptx_c_m8n8};

/* ---- ldmatrix.x4 of 8 x 8 matrices of 16 bits -------------------------------------- */

/* Which of the four matrices, and which row of it, the address of a lane is for. */
static inline int ptx_ldmatrix_matrix(int lane)
{
    return lane / 8;
}

static inline int ptx_ldmatrix_row(int lane)
{
    return lane % 8;
}

/* Which element of matrix r is half i (low first) of a lane's register r. */
static inline ptx_place_t ptx_ldmatrix_element(int lane, int i, bool trans)
{
    ptx_place_t plain = {.row = lane / 4, .col = lane % 4 * 2 + i};
    return trans ? (ptx_place_t){.row = plain.col, .col = plain.row} : plain;
}

#endif /* RUNG_PTX_LAYOUTS_H */
