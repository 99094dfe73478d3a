/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel_avx512.c - micro-kernels for AVX-512. Packed tiles have 9 rows of three vectors: 27 of 32 registers hold sums,
 * three B and one A. They need fewer instructions per multiply-add than any other shape, which counts while another thread runs
 * on the same core (docs/internals/cpu-performance.md). Tiles with B in place have 14 rows of two vectors: fewer reads of B. */
#include "cpu/microkernels/microkernel.h"

#include <immintrin.h>

#define ISA avx512
#define VECTOR_BYTES 64
#define MASK __mmask16
#define MASK_OF(count) ((__mmask16)((1u << (count)) - 1))
#define PACKED_VECTORS 3
#define IN_PLACE_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define PACKED_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)
#define PACKING_ROWS(X) X(7) X(8) X(9)
#define PACKED_A_ROWS(X) X(8) X(9)

/* Otherwise the compiler keeps the addresses of all rows of C during the loop, and has no registers for them. */
#define HIDE_POINTER(pointer) __asm__("" : "+r"(pointer))

/* Broadcasts and multiply-adds are assembly, in the order of the source: compilers choose forms of the instructions that need
 * another register, or broadcast early, and spill sums in the loop. */
static inline __attribute__((always_inline)) __m512 broadcast_f32(const float *address)
{
    __m512 vector;
    __asm__ volatile("vbroadcastss %1, %0" : "=v"(vector) : "m"(*address));
    return vector;
}

static inline __attribute__((always_inline)) __m512d broadcast_f64(const double *address)
{
    __m512d vector;
    __asm__ volatile("vbroadcastsd %1, %0" : "=v"(vector) : "m"(*address));
    return vector;
}

/* ---- The loop over k of large tiles ------------------------------------------------------------------------
 *
 * Whole tiles of 7 to 9 rows of three vectors, and of 8 to 14 rows of two, are assembly, because compilers move or spill sums in
 * every iteration: up to 28 sums, the vectors of B and one or two elements of A need all registers. The sums of row r are in
 * registers 3 r to 3 r + 2, or 2 r and 2 r + 1; B in 27 to 29, or 28 and 29; elements of A in 30 and 31. `type` is "s" or "d",
 * the last letter of instructions. */

/* clang-format off */
#define MULTIPLY_ELEMENT(type, address, element, s0, s1, s2)             \
    "vbroadcasts" type " " address ", %%zmm" #element "\n"               \
    "vfmadd231p" type " %%zmm" #element ", %%zmm27, %%zmm" #s0 "\n"      \
    "vfmadd231p" type " %%zmm" #element ", %%zmm28, %%zmm" #s1 "\n"      \
    "vfmadd231p" type " %%zmm" #element ", %%zmm29, %%zmm" #s2 "\n"

/* The element of row r, in rows or packed. Four rows share a pointer. */
#define ROW_0(offset) offset "(%[a])"
#define ROW_1(offset) offset "(%[a],%[row])"
#define ROW_2(offset) offset "(%[a],%[row],2)"
#define ROW_3(offset) offset "(%[a],%[row3])"
#define ROW_4(offset) offset "(%[a4])"
#define ROW_5(offset) offset "(%[a4],%[row])"
#define ROW_6(offset) offset "(%[a4],%[row],2)"
#define ROW_7(offset) offset "(%[a4],%[row3])"
#define ROW_8(offset) offset "(%[a8])"
#define ROW_9(offset) offset "(%[a8],%[row])"
#define ROW_10(offset) offset "(%[a8],%[row],2)"
#define ROW_11(offset) offset "(%[a8],%[row3])"
#define ROW_12(offset) offset "(%[a12])"
#define ROW_13(offset) offset "(%[a12],%[row])"
#define PACKED_ELEMENT(bytes, rows, step, r) #bytes "*(" #rows "*" #step "+" #r ")(%[packed])"

#define FROM_ROWS(type, bytes, rows, step, r, element, s0, s1, s2) \
    MULTIPLY_ELEMENT(type, ROW_##r(#bytes "*" #step), element, s0, s1, s2)
#define FROM_PACKED(type, bytes, rows, step, r, element, s0, s1, s2) \
    MULTIPLY_ELEMENT(type, PACKED_ELEMENT(bytes, rows, step, r), element, s0, s1, s2)
#define FROM_ROWS_AND_PACK(type, bytes, rows, step, r, element, s0, s1, s2) \
    FROM_ROWS(type, bytes, rows, step, r, element, s0, s1, s2)              \
    "vmovs" type " %%xmm" #element ", " PACKED_ELEMENT(bytes, rows, step, r) "\n"

#define MULTIPLY_7(X, type, bytes, rows, step)      \
    X(type, bytes, rows, step, 0, 30, 0, 1, 2)      \
    X(type, bytes, rows, step, 1, 31, 3, 4, 5)      \
    X(type, bytes, rows, step, 2, 30, 6, 7, 8)      \
    X(type, bytes, rows, step, 3, 31, 9, 10, 11)    \
    X(type, bytes, rows, step, 4, 30, 12, 13, 14)   \
    X(type, bytes, rows, step, 5, 31, 15, 16, 17)   \
    X(type, bytes, rows, step, 6, 30, 18, 19, 20)
#define MULTIPLY_8(X, type, bytes, rows, step) \
    MULTIPLY_7(X, type, bytes, rows, step) X(type, bytes, rows, step, 7, 31, 21, 22, 23)
#define MULTIPLY_9(X, type, bytes, rows, step) \
    MULTIPLY_8(X, type, bytes, rows, step) X(type, bytes, rows, step, 8, 30, 24, 25, 26)

/* The same for two vectors. */
#define FROM_ROWS_TWO(type, bytes, step, r, element, s0, s1)                              \
    "vbroadcasts" type " " ROW_##r(#bytes "*" #step) ", %%zmm" #element "\n"              \
    "vfmadd231p" type " %%zmm" #element ", %%zmm28, %%zmm" #s0 "\n"                       \
    "vfmadd231p" type " %%zmm" #element ", %%zmm29, %%zmm" #s1 "\n"
#define TWO_8(type, bytes, step)                    \
    FROM_ROWS_TWO(type, bytes, step, 0, 30, 0, 1)   \
    FROM_ROWS_TWO(type, bytes, step, 1, 31, 2, 3)   \
    FROM_ROWS_TWO(type, bytes, step, 2, 30, 4, 5)   \
    FROM_ROWS_TWO(type, bytes, step, 3, 31, 6, 7)   \
    FROM_ROWS_TWO(type, bytes, step, 4, 30, 8, 9)   \
    FROM_ROWS_TWO(type, bytes, step, 5, 31, 10, 11) \
    FROM_ROWS_TWO(type, bytes, step, 6, 30, 12, 13) \
    FROM_ROWS_TWO(type, bytes, step, 7, 31, 14, 15)
#define TWO_9(type, bytes, step) TWO_8(type, bytes, step) FROM_ROWS_TWO(type, bytes, step, 8, 30, 16, 17)
#define TWO_10(type, bytes, step) TWO_9(type, bytes, step) FROM_ROWS_TWO(type, bytes, step, 9, 31, 18, 19)
#define TWO_11(type, bytes, step) TWO_10(type, bytes, step) FROM_ROWS_TWO(type, bytes, step, 10, 30, 20, 21)
#define TWO_12(type, bytes, step) TWO_11(type, bytes, step) FROM_ROWS_TWO(type, bytes, step, 11, 31, 22, 23)
#define TWO_13(type, bytes, step) TWO_12(type, bytes, step) FROM_ROWS_TWO(type, bytes, step, 12, 30, 24, 25)
#define TWO_14(type, bytes, step) TWO_13(type, bytes, step) FROM_ROWS_TWO(type, bytes, step, 13, 31, 26, 27)
#define IN_ROWS_TWO(X, type, bytes, rows, step) TWO_##rows(type, bytes, step)

/* The last vector of a row may be partial: lanes that are 0 in k1 become 0, or keep their value in memory. A masked load needs a
 * port of the multiply-adds, therefore whole tiles have loops of their own. */
#define NO_MASK
#define MASK_ZERO "%{%%k1%}%{z%}"
#define MASK_KEEP "%{%%k1%}"

/* One step of B. The prefetches are far enough ahead for L2, and for most of L3. */
#define LOAD_PACKED_B(step)                         \
    "vmovups 192*" #step "(%[b]), %%zmm27\n"        \
    "vmovups 192*" #step "+64(%[b]), %%zmm28\n"     \
    "vmovups 192*" #step "+128(%[b]), %%zmm29\n"    \
    "prefetcht0 192*(" #step "+16)(%[b])\n"         \
    "prefetcht0 192*(" #step "+16)+64(%[b])\n"      \
    "prefetcht0 192*(" #step "+16)+128(%[b])\n"
#define STEP_0(pointer) "(%[" pointer "])"
#define STEP_1(pointer) "(%[" pointer "],%[b_row])"
#define STEP_2(pointer) "(%[" pointer "],%[b_row],2)"
#define STEP_3(pointer) "(%[" pointer "],%[b_row3])"
#define LOAD_AND_PACK_B(step) LOAD_AND_PACK(step, NO_MASK)
#define LOAD_AND_PACK_MASKED_B(step) LOAD_AND_PACK(step, MASK_ZERO)
#define LOAD_AND_PACK(step, mask)                          \
    "vmovups " STEP_##step("b") ", %%zmm27\n"              \
    "vmovups 64" STEP_##step("b") ", %%zmm28\n"            \
    "vmovups 128" STEP_##step("b") ", %%zmm29" mask "\n"   \
    "vmovups %%zmm27, 192*" #step "(%[pack_to])\n"         \
    "vmovups %%zmm28, 192*" #step "+64(%[pack_to])\n"      \
    "vmovups %%zmm29, 192*" #step "+128(%[pack_to])\n"     \
    "prefetcht0 " STEP_##step("b_prefetch") "\n"           \
    "prefetcht0 64" STEP_##step("b_prefetch") "\n"         \
    "prefetcht0 128" STEP_##step("b_prefetch") "\n"

#define LOAD_TWO(step) LOAD_TWO_VECTORS(step, NO_MASK)
#define LOAD_TWO_MASKED(step) LOAD_TWO_VECTORS(step, MASK_ZERO)
#define LOAD_TWO_VECTORS(step, mask)               \
    "vmovups " STEP_##step("b") ", %%zmm28\n"      \
    "vmovups 64" STEP_##step("b") ", %%zmm29" mask "\n" \
    "prefetcht0 " STEP_##step("b_prefetch") "\n"   \
    "prefetcht0 64" STEP_##step("b_prefetch") "\n"

/* What advances by a number of steps. */
#define ADVANCE_TWO(count)                                     \
    "lea " ADVANCE_B_##count("b") ", %[b]\n"                   \
    "lea " ADVANCE_B_##count("b_prefetch") ", %[b_prefetch]\n"
#define ADVANCE_ROWS_TWO(bytes, rows, count) \
    ADVANCE_ROWS(bytes, rows, count) "add $" #bytes "*" #count ", %[a12]\n"
#define ADVANCE_PACKED_B(count) "add $192*" #count ", %[b]\n"
#define ADVANCE_B(count)                      \
    "lea " ADVANCE_B_##count("b") ", %[b]\n"  \
    "lea " ADVANCE_B_##count("b_prefetch") ", %[b_prefetch]\n" \
    "add $192*" #count ", %[pack_to]\n"
#define ADVANCE_B_1(pointer) "(%[" pointer "],%[b_row])"
#define ADVANCE_B_4(pointer) "(%[" pointer "],%[b_row],4)"
#define ADVANCE_ROWS(bytes, rows, count)         \
    "add $" #bytes "*" #count ", %[a]\n"         \
    "add $" #bytes "*" #count ", %[a4]\n"        \
    "add $" #bytes "*" #count ", %[a8]\n"
#define ADVANCE_PACKED(bytes, rows, count) "add $" #bytes "*" #rows "*" #count ", %[packed]\n"
#define ADVANCE_BOTH(bytes, rows, count) ADVANCE_ROWS(bytes, rows, count) ADVANCE_PACKED(bytes, rows, count)

#define CLEAR(s) "vpxord %%zmm" #s ", %%zmm" #s ", %%zmm" #s "\n"
#define STORE_SUM(s) "vmovups %%zmm" #s ", 64*" #s "+%[sums]\n"
#define ALL_SUMS(X)                                                                                     \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17)   \
    X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27)
/* Rows of sums to C. */
#define STORE_THREE(s0, s1, s2)                   \
    "vmovups %%zmm" #s0 ", (%[c])\n"              \
    "vmovups %%zmm" #s1 ", 64(%[c])\n"            \
    "vmovups %%zmm" #s2 ", 128(%[c])" MASK_KEEP "\n" \
    "add %[c_row], %[c]\n"
#define STORE_C_7                                                                      \
    STORE_THREE(0, 1, 2) STORE_THREE(3, 4, 5) STORE_THREE(6, 7, 8) STORE_THREE(9, 10, 11)  \
    STORE_THREE(12, 13, 14) STORE_THREE(15, 16, 17) STORE_THREE(18, 19, 20)
#define STORE_C_8 STORE_C_7 STORE_THREE(21, 22, 23)
#define STORE_C_9 STORE_C_8 STORE_THREE(24, 25, 26)
#define STORE_TWO(s0, s1)                         \
    "vmovups %%zmm" #s0 ", (%[c])\n"              \
    "vmovups %%zmm" #s1 ", 64(%[c])" MASK_KEEP "\n" \
    "add %[c_row], %[c]\n"
#define STORE_TWO_8                                                                    \
    STORE_TWO(0, 1) STORE_TWO(2, 3) STORE_TWO(4, 5) STORE_TWO(6, 7) STORE_TWO(8, 9)      \
    STORE_TWO(10, 11) STORE_TWO(12, 13) STORE_TWO(14, 15)
#define STORE_TWO_9 STORE_TWO_8 STORE_TWO(16, 17)
#define STORE_TWO_10 STORE_TWO_9 STORE_TWO(18, 19)
#define STORE_TWO_11 STORE_TWO_10 STORE_TWO(20, 21)
#define STORE_TWO_12 STORE_TWO_11 STORE_TWO(22, 23)
#define STORE_TWO_13 STORE_TWO_12 STORE_TWO(24, 25)
#define STORE_TWO_14 STORE_TWO_13 STORE_TWO(26, 27)

#define VECTOR_REGISTERS                                                                                \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",   \
    "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22",  \
    "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31"

#define PACKED_A_OPERANDS [packed] "+r"(at.packed_a)
#define ROWS_OPERANDS [a] "+r"(at.a), [a4] "+r"(at.a4), [a8] "+r"(at.a8)
#define BOTH_OPERANDS PACKED_A_OPERANDS, ROWS_OPERANDS
#define PACKED_B_OPERANDS [b] "+r"(at.b)
#define PACKING_B_OPERANDS [b] "+r"(at.b), [pack_to] "+r"(at.pack_to), [b_prefetch] "+r"(at.b_prefetch)
#define ROWS_TWO_OPERANDS ROWS_OPERANDS, [a12] "+r"(at.a12)
#define IN_PLACE_B_OPERANDS [b] "+r"(at.b), [b_prefetch] "+r"(at.b_prefetch)
#define NO_STRIDES
#define ROW_STRIDES , [row] "r"(at.row), [row3] "r"(3 * at.row)
#define ROW_AND_B_STRIDES ROW_STRIDES, [b_row] "r"(at.b_row), [b_row3] "r"(3 * at.b_row)

#define DEFINE_LOOP(name, rows, type, bytes, multiply, X, store_c, load_b, advance_a, advance_b, a_kind, b_kind, strides)     \
    static inline __attribute__((always_inline)) void name##_##rows(                                       \
        rungi_microkernel_loop at, int64_t k, sums_t *sums)                                                \
    {                                                                                                      \
        int64_t fours = k / 4, rest = k % 4;                                                               \
        __mmask16 mask = MASK_OF(at.last_columns * (bytes) / 4); /* vmovups has a bit per four bytes */     \
        __asm__ volatile(ALL_SUMS(CLEAR)                                                                   \
                         "kmovw %[mask], %%k1\n"                                                           \
                         "test %[fours], %[fours]\n"                                                       \
                         "jz 2f\n"                                                                         \
                         ".p2align 5\n"                                                                    \
                         "1:\n"                                                                            \
                         load_b(0) multiply(X, type, bytes, rows, 0)                                \
                         load_b(1) multiply(X, type, bytes, rows, 1)                                \
                         "prefetcht1 (%[next_a])\n"                                                        \
                         load_b(2) multiply(X, type, bytes, rows, 2)                                \
                         load_b(3) multiply(X, type, bytes, rows, 3)                                \
                         advance_a(bytes, rows, 4) advance_b(4)                                            \
                         "add $4*" #bytes ", %[next_a]\n"                                                  \
                         "dec %[fours]\n"                                                                  \
                         "jnz 1b\n"                                                                        \
                         "2: cmpq $0, %[rest]\n"                                                           \
                         "jz 4f\n"                                                                         \
                         "3:\n"                                                                            \
                         load_b(0) multiply(X, type, bytes, rows, 0)                                \
                         advance_a(bytes, rows, 1) advance_b(1)                                            \
                         "decq %[rest]\n"                                                                  \
                         "jnz 3b\n"                                                                        \
                         "4:\n"                                                                            \
                         "test %[c], %[c]\n"                                                               \
                         "jz 5f\n"                                                                         \
                         store_c                                                                           \
                         "jmp 6f\n"                                                                        \
                         "5:\n"                                                                            \
                         ALL_SUMS(STORE_SUM)                                                               \
                         "6:\n"                                                                            \
                         : a_kind##_OPERANDS, b_kind##_OPERANDS, [next_a] "+r"(at.next_a),                 \
                           [fours] "+r"(fours), [rest] "+m"(rest), [sums] "=m"(*sums), [c] "+r"(at.c)      \
                         : [c_row] "m"(at.c_row), [mask] "m"(mask) strides                              \
                         : VECTOR_REGISTERS, "k1", "memory", "cc");                                              \
    }
#define DEFINE_ROWS_LOOPS(rows, name, type, bytes)                                                         \
    DEFINE_LOOP(name##_rows, rows, type, bytes, MULTIPLY_##rows, FROM_ROWS, STORE_C_##rows, LOAD_PACKED_B, ADVANCE_ROWS, ADVANCE_PACKED_B,  \
                ROWS, PACKED_B, ROW_STRIDES)                                                                          \
    DEFINE_LOOP(name##_packing, rows, type, bytes, MULTIPLY_##rows, FROM_ROWS, STORE_C_##rows, LOAD_AND_PACK_B, ADVANCE_ROWS, ADVANCE_B,    \
                ROWS, PACKING_B, ROW_AND_B_STRIDES)                                                                   \
    DEFINE_LOOP(name##_packing_masked, rows, type, bytes, MULTIPLY_##rows, FROM_ROWS, STORE_C_##rows, LOAD_AND_PACK_MASKED_B, ADVANCE_ROWS, \
                ADVANCE_B, ROWS, PACKING_B, ROW_AND_B_STRIDES)
#define DEFINE_PACKED_A_LOOPS(rows, name, type, bytes)                                                     \
    DEFINE_LOOP(name##_packed, rows, type, bytes, MULTIPLY_##rows, FROM_PACKED, STORE_C_##rows, LOAD_PACKED_B, ADVANCE_PACKED,              \
                ADVANCE_PACKED_B, PACKED_A, PACKED_B, NO_STRIDES)                                                    \
    DEFINE_LOOP(name##_packing_a, rows, type, bytes, MULTIPLY_##rows, FROM_ROWS_AND_PACK, STORE_C_##rows, LOAD_PACKED_B, ADVANCE_BOTH,      \
                ADVANCE_PACKED_B, BOTH, PACKED_B, ROW_STRIDES)
#define DEFINE_IN_PLACE_LOOP(rows, name, type, bytes)                                                      \
    DEFINE_LOOP(name##_in_place, rows, type, bytes, IN_ROWS_TWO, , STORE_TWO_##rows, LOAD_TWO, ADVANCE_ROWS_TWO, ADVANCE_TWO, \
                ROWS_TWO, IN_PLACE_B, ROW_AND_B_STRIDES)                                                                   \
    DEFINE_LOOP(name##_in_place_masked, rows, type, bytes, IN_ROWS_TWO, , STORE_TWO_##rows, LOAD_TWO_MASKED, ADVANCE_ROWS_TWO, ADVANCE_TWO, \
                ROWS_TWO, IN_PLACE_B, ROW_AND_B_STRIDES)
/* clang-format on */

typedef struct sums {
    _Alignas(64) char bytes[28 * 64];
} sums_t;

/* ISO C requires compilers to support literals of 4095 characters only. Those that compile this file support longer ones. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#define DEFINE_LOOPS(name, type, bytes)         \
    DEFINE_ROWS_LOOPS(7, name, type, bytes)     \
    DEFINE_ROWS_LOOPS(8, name, type, bytes)     \
    DEFINE_ROWS_LOOPS(9, name, type, bytes)     \
    DEFINE_PACKED_A_LOOPS(8, name, type, bytes) \
    DEFINE_PACKED_A_LOOPS(9, name, type, bytes) \
    DEFINE_IN_PLACE_LOOP(8, name, type, bytes)  \
    DEFINE_IN_PLACE_LOOP(9, name, type, bytes)  \
    DEFINE_IN_PLACE_LOOP(10, name, type, bytes) \
    DEFINE_IN_PLACE_LOOP(11, name, type, bytes) \
    DEFINE_IN_PLACE_LOOP(12, name, type, bytes) \
    DEFINE_IN_PLACE_LOOP(13, name, type, bytes) \
    DEFINE_IN_PLACE_LOOP(14, name, type, bytes)
DEFINE_LOOPS(f32, "s", 4)
DEFINE_LOOPS(f64, "d", 8)
#pragma GCC diagnostic pop

/* Runs the loop for constant numbers of rows and modes. */
#define RUN_IN_PLACE(type, rows)                        \
    case rows:                                          \
        if (is_whole)                                   \
            type##_in_place_##rows(at, k, sums);        \
        else                                            \
            type##_in_place_masked_##rows(at, k, sums); \
        break;
#define DEFINE_RUN_LOOP(type, lanes)                                                                       \
    static inline __attribute__((always_inline)) void type##_run_loop(                                     \
        const int rows, const rungi_microkernel_a_mode a_mode, const rungi_microkernel_b_mode b_mode,      \
        rungi_microkernel_loop at, int64_t k, void *sums)                                                  \
    {                                                                                                      \
        const bool is_whole = at.last_columns == (lanes);                                                  \
        if (b_mode == RUNGI_B_IN_PLACE)                                                                    \
            switch (rows) {                                                                                \
                RUN_IN_PLACE(type, 8)                                                                      \
                RUN_IN_PLACE(type, 9)                                                                      \
                RUN_IN_PLACE(type, 10)                                                                     \
                RUN_IN_PLACE(type, 11)                                                                     \
                RUN_IN_PLACE(type, 12)                                                                     \
                RUN_IN_PLACE(type, 13)                                                                     \
                RUN_IN_PLACE(type, 14)                                                                     \
            }                                                                                              \
        else if (b_mode == RUNGI_B_PACK_ON_THE_FLY && is_whole)                                            \
            (rows == 9 ? type##_packing_9 : rows == 8 ? type##_packing_8 : type##_packing_7)(at, k, sums); \
        else if (b_mode == RUNGI_B_PACK_ON_THE_FLY)                                                        \
            (rows == 9   ? type##_packing_masked_9                                                         \
             : rows == 8 ? type##_packing_masked_8                                                         \
                         : type##_packing_masked_7)(at, k, sums);                                          \
        else if (a_mode == RUNGI_A_IN_ROWS)                                                                \
            (rows == 9 ? type##_rows_9 : rows == 8 ? type##_rows_8 : type##_rows_7)(at, k, sums);          \
        else if (a_mode == RUNGI_A_PACKED)                                                                 \
            (rows == 9 ? type##_packed_9 : type##_packed_8)(at, k, sums);                                  \
        else                                                                                               \
            (rows == 9 ? type##_packing_a_9 : type##_packing_a_8)(at, k, sums);                            \
    }
DEFINE_RUN_LOOP(f32, 16)
DEFINE_RUN_LOOP(f64, 8)

/* ---- F32 ---------------------------------------------------------------------------------- */

#define TYPE f32
#define ACC float
#define LOAD_MASKED(address, mask) _mm512_maskz_loadu_ps(mask, address)
#define STORE_MASKED(address, mask, value) _mm512_mask_storeu_ps(address, mask, value)
#define STORE_STREAMING(address, value) _mm512_stream_ps(address, value)
#define PLUS_TIMES(x, y, z) _mm512_fmadd_ps(x, y, z)
#define BROADCAST(address) (VECTOR) broadcast_f32(address)
#define RUN_LOOP f32_run_loop
#define SUM_LANES(vector) _mm512_reduce_add_ps(vector)
#define ACCUMULATE(sum, x, y) __asm__ volatile("vfmadd231ps %1, %2, %0" : "+v"(sum) : "v"(x), "v"(y))
#include "cpu/microkernels/microkernel_instances.h"

/* ---- F64 ---------------------------------------------------------------------------------- */

#define TYPE f64
#define ACC double
#define LOAD_MASKED(address, mask) _mm512_maskz_loadu_pd((__mmask8)(mask), address)
#define STORE_MASKED(address, mask, value) _mm512_mask_storeu_pd(address, (__mmask8)(mask), value)
#define STORE_STREAMING(address, value) _mm512_stream_pd(address, value)
#define PLUS_TIMES(x, y, z) _mm512_fmadd_pd(x, y, z)
#define BROADCAST(address) (VECTOR) broadcast_f64(address)
#define RUN_LOOP f64_run_loop
#define SUM_LANES(vector) _mm512_reduce_add_pd(vector)
#define ACCUMULATE(sum, x, y) __asm__ volatile("vfmadd231pd %1, %2, %0" : "+v"(sum) : "v"(x), "v"(y))
#include "cpu/microkernels/microkernel_instances.h"

#undef PACKED_VECTORS
#undef IN_PLACE_ROWS
#undef PACKED_ROWS
#undef PACKING_ROWS
#undef PACKED_A_ROWS
#define PACKED_VECTORS 2
#define IN_PLACE_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define PACKED_ROWS(X) IN_PLACE_ROWS(X)
#define PACKING_ROWS(X) X(4) X(5) X(6)
#define PACKED_A_ROWS(X)

/* ---- I32, modulo 2^32 ------------------------------------------------------------------------ */

#define TYPE i32
#define ACC uint32_t
#define LOAD_MASKED(address, mask) _mm512_maskz_loadu_epi32(mask, address)
#define STORE_MASKED(address, mask, value) _mm512_mask_storeu_epi32(address, mask, (__m512i)(value))
#define STORE_STREAMING(address, value) _mm512_stream_si512((void *)(address), (__m512i)(value))
#define SCALAR(value) (uint32_t)(int64_t)(value)
#include "cpu/microkernels/microkernel_instances.h"
