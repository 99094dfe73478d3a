/* SPDX-License-Identifier: Apache-2.0 */
/* execute_matrix.c - ldmatrix, stmatrix, movmatrix and mma.sync.
 *
 * With E elements per 32-bit register, g = lane / 4 and t = lane % 4, the fragments of mma.sync are:
 *     A, register i:  row g + 8 * (i % (M / 8)),  column t * E + e + 4 * E * (i / (M / 8))
 *     B, register i:  row t * E + e + 4 * E * i,  column g
 *     C, element i:   row g + 8 * (i / 2),        column 2 * t + i % 2
 * Floating-point sums are fused multiply-adds in single precision (.f64: double), from C on, in the order of k. */
#include <math.h>

#include "emulator/execute/execute.h"
#include "emulator/execute/float_bits.h"
#include "emulator/ptx/matrix_shape.h"

/* ---- Matrices of 8 x 8 halves -------------------------------------------------------------------------------------- */

/* Where lane `lane` keeps the halves of matrix `matrix`: row and column of the lower one; the upper one is one further. */
typedef struct half_place {
    int row, column;
} half_place_t;

static inline half_place_t place_of(int lane, int half, bool transposes)
{
    half_place_t place = {lane / 4, lane % 4 * 2 + half};
    return transposes ? (half_place_t){place.column, place.row} : place;
}

/* Transposes a matrix of 8 x 8 halves. The matrices may be the same. */
static inline void transpose_halves(uint16_t to[64], const uint16_t from[64])
{
#ifdef __AVX512BW__
    uint16_t order[64];
    for (int i = 0; i < 64; i++)
        order[i] = (uint16_t)(i % 8 * 8 + i / 8);
    __m512i low = _mm512_loadu_si512(from), high = _mm512_loadu_si512(from + 32);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(low, _mm512_loadu_si512(order), high));
    _mm512_storeu_si512(to + 32, _mm512_permutex2var_epi16(low, _mm512_loadu_si512(order + 32), high));
#else
    uint16_t copy[64];
    memcpy(copy, from, sizeof copy);
    for (int i = 0; i < 64; i++)
        to[i] = copy[i % 8 * 8 + i / 8];
#endif
}

/* Loads matrices from shared memory without checks. Row r of a matrix is in lanes 4 * r to 4 * r + 3. Returns false if an
 * address is not valid. */
static bool load_matrices(ptx_warp_t *warp, const ptx_instruction_t *instruction,
                          const uint64_t address[PTX_WARP_LANES])
{
    const unsigned char *shared = warp->block->shared;
    uint64_t last = (uint64_t)warp->block->shared_bytes - 16, bad = 0;
    int rows = 8 * instruction->vector_length;
    for (int row = 0; row < rows; row++)
        bad |= (address[row] > last ? 1 : 0) | (address[row] & 15);
    if (bad || warp->block->shared_bytes < 16)
        return false;
    for (int row = 0; row < rows; row += 8) {
        uint16_t *d = rungi_ptx_lanes(warp, instruction->list[row / 8]);
        for (int i = 0; i < 8; i++)
            memcpy(d + 8 * i, shared + address[row + i], 16);
        if (instruction->flags & PTX_FLAG_TRANSPOSE)
            transpose_halves(d, d);
    }
    return true;
}

/* Lane 8 * j + r holds the address of row r of matrix j. */
static void move_matrices(ptx_warp_t *warp, const ptx_instruction_t *instruction, ptx_access_t kind)
{
    uint64_t address[PTX_WARP_LANES];
    unsigned char *row[PTX_WARP_LANES];
    int count = instruction->vector_length;
    uint32_t needed = count == 4 ? ~0u : (1u << 8 * count) - 1;
    bool transposes = instruction->flags & PTX_FLAG_TRANSPOSE;
    rungi_ptx_read_addresses(warp, instruction, 0, address);
    if (kind == PTX_READ && !warp->is_observed && instruction->space == PTX_SPACE_SHARED &&
        load_matrices(warp, instruction, address))
        return;
    uint32_t valid = rungi_ptx_access(warp, instruction, needed, address, 16, (ptx_space_t)instruction->space, kind,
                                      row);
    for (int j = 0; j < count; j++) {
        uint16_t *halves = rungi_ptx_lanes(warp, instruction->list[j]);
        for (int i = 0; i < 2 * PTX_WARP_LANES; i++) {
            half_place_t place = place_of(i / 2, i % 2, transposes);
            int line = 8 * j + place.row;
            if (!(valid >> line & 1))
                continue;
            if (kind == PTX_READ)
                memcpy(&halves[i], row[line] + 2 * place.column, 2);
            else
                memcpy(row[line] + 2 * place.column, &halves[i], 2);
        }
    }
}

EXECUTOR(ldmatrix)
{
    (void)mask;
    move_matrices(warp, instruction, PTX_READ);
}

EXECUTOR(stmatrix)
{
    (void)mask;
    move_matrices(warp, instruction, PTX_WRITE);
}

EXECUTOR(movmatrix)
{
    uint16_t *d = OPERAND(0), matrix[8][8];
    const uint16_t *a = OPERAND(1);
    (void)mask;
    for (int i = 0; i < 2 * PTX_WARP_LANES; i++)
        matrix[i / 8][i % 8] = a[i];
    for (int i = 0; i < 2 * PTX_WARP_LANES; i++)
        d[i] = matrix[i % 8][i / 8];
}

/* ---- Elements ------------------------------------------------------------------------------------------------------ */

static float e4m3_to_f32(uint32_t bits)
{
    int exponent = (int)(bits >> 3 & 15), fraction = (int)(bits & 7);
    float value = exponent ? ldexpf((float)(8 + fraction), exponent - 10) : ldexpf((float)fraction, -9);
    if ((bits & 0x7f) == 0x7f)
        value = NAN;
    return bits & 0x80 ? -value : value;
}

static float e5m2_to_f32(uint32_t bits)
{
    return f16_to_f32((uint16_t)(bits << 8));
}

/* Element e of a 32-bit register, as a float; of integers exact. */
static inline float element_f32(uint32_t word, int e, ptx_type_t type)
{
    switch (type) {
    case PTX_F16: return f16_to_f32((uint16_t)(word >> 16 * e));
    case PTX_BF16: return bf16_to_f32((uint16_t)(word >> 16 * e));
    case PTX_TF32: return f32_of_bits(word & ~0x1fffu);
    case PTX_E4M3: return e4m3_to_f32(word >> 8 * e & 0xff);
    default: return e5m2_to_f32(word >> 8 * e & 0xff);
    }
}

static inline int32_t element_integer(uint32_t word, int e, ptx_type_t type)
{
    switch (type) {
    case PTX_S8: return (int8_t)(word >> 8 * e);
    case PTX_U8: return (uint8_t)(word >> 8 * e);
    case PTX_S4: return (int32_t)(word >> 4 * e << 28) >> 28;
    default: return (int32_t)(word >> 4 * e & 15);
    }
}

/* ---- mma ----------------------------------------------------------------------------------------------------------- */

/* First registers of the fragments in the instruction's list. */
typedef struct fragments {
    const ptx_operand_t *d, *a, *b, *c;
    int a_count, b_count;
} fragments_t;

static fragments_t find_fragments(const ptx_instruction_t *instruction, const ptx_matrix_shape_t *shape)
{
    int bits = rungi_ptx_type_bits((ptx_type_t)shape->a_type), word = bits == 64 ? 64 : 32;
    int c_bits = rungi_ptx_type_bits((ptx_type_t)shape->d_type), c_word = c_bits == 64 ? 64 : 32;
    int d_count = shape->m * shape->n * c_bits / c_word / PTX_WARP_LANES;
    fragments_t fragments = {.d = instruction->list,
                             .a_count = shape->m * shape->k * bits / word / PTX_WARP_LANES,
                             .b_count = shape->k * shape->n * bits / word / PTX_WARP_LANES};
    fragments.a = fragments.d + d_count;
    fragments.b = fragments.a + fragments.a_count;
    fragments.c = fragments.b + fragments.b_count;
    return fragments;
}

enum { M_MAX = 16, N = 8, K_MAX = 64 };

/* Calls of this macro unpack A and B into matrices of T. */
#define UNPACK(T, READ)                                                                                               \
    int per_word = 32 / rungi_ptx_type_bits((ptx_type_t)shape.a_type), row_groups = shape.m / 8;                      \
    for (int i = 0; i < fragments.a_count; i++) {                                                                     \
        const uint32_t *words = rungi_ptx_lanes(warp, fragments.a[i]);                                                \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)                                                             \
            for (int e = 0; e < per_word; e++)                                                                        \
                a[lane / 4 + 8 * (i % row_groups)][lane % 4 * per_word + e + 4 * per_word * (i / row_groups)] = READ( \
                    words[lane], e, (ptx_type_t)shape.a_type);                                                        \
    }                                                                                                                 \
    for (int i = 0; i < fragments.b_count; i++) {                                                                     \
        const uint32_t *words = rungi_ptx_lanes(warp, fragments.b[i]);                                                \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)                                                             \
            for (int e = 0; e < per_word; e++)                                                                        \
                b[lane % 4 * per_word + e + 4 * per_word * i][lane / 4] = READ(words[lane], e,                        \
                                                                               (ptx_type_t)shape.b_type);             \
    }

/* Converts 64 halves. */
static inline void widen_halves(float to[64], const uint16_t from[64], ptx_type_t type)
{
    if (type == PTX_BF16) {
        for (int i = 0; i < 64; i++)
            to[i] = bf16_to_f32(from[i]);
        return;
    }
#if defined(__AVX512F__)
    for (int i = 0; i < 64; i += 16)
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(from + i))));
#elif defined(__F16C__)
    for (int i = 0; i < 64; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i))));
#else
    for (int i = 0; i < 64; i++)
        to[i] = f16_to_f32(from[i]);
#endif
}

/* Copies the accumulator from or to the registers. Two registers, or one of halves, are 8 rows. */
static void read_accumulator(const ptx_warp_t *warp, const ptx_operand_t *registers, const ptx_matrix_shape_t *shape,
                             float *sum)
{
    for (int group = 0; group < shape->m / 8; group++, sum += 64) {
        if (shape->c_type == PTX_F16) {
            widen_halves(sum, rungi_ptx_lanes(warp, registers[group]), PTX_F16);
            continue;
        }
        const float *even = rungi_ptx_lanes(warp, registers[2 * group]);
        const float *odd = rungi_ptx_lanes(warp, registers[2 * group + 1]);
        PTX_INDEPENDENT
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            sum[2 * lane] = even[lane];
            sum[2 * lane + 1] = odd[lane];
        }
    }
}

static void write_accumulator(const ptx_warp_t *warp, const ptx_operand_t *registers, const ptx_matrix_shape_t *shape,
                              const float *sum)
{
    for (int group = 0; group < shape->m / 8; group++, sum += 64) {
        if (shape->d_type == PTX_F16) {
            uint16_t *halves = rungi_ptx_lanes(warp, registers[group]);
            for (int i = 0; i < 64; i++)
                halves[i] = f32_to_f16(sum[i]);
            continue;
        }
        float *even = rungi_ptx_lanes(warp, registers[2 * group]),
              *odd = rungi_ptx_lanes(warp, registers[2 * group + 1]);
        PTX_INDEPENDENT
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            even[lane] = canonical_f32(sum[2 * lane]);
            odd[lane] = canonical_f32(sum[2 * lane + 1]);
        }
    }
}

/* Adds A * B to the sums. Eight rows at a time stay in registers. */
static inline void multiply_add(int m, int depth, const float a[M_MAX][K_MAX], const float b[K_MAX][N],
                                float sum[M_MAX][N])
{
    for (int first = 0; first < m; first += 8) {
#ifdef __FMA__
        __m256 total[8];
        for (int row = 0; row < 8; row++)
            total[row] = _mm256_loadu_ps(sum[first + row]);
        for (int k = 0; k < depth; k++)
            for (int row = 0; row < 8; row++)
                total[row] = _mm256_fmadd_ps(_mm256_set1_ps(a[first + row][k]), _mm256_loadu_ps(b[k]), total[row]);
        for (int row = 0; row < 8; row++)
            _mm256_storeu_ps(sum[first + row], total[row]);
#else
        for (int row = first; row < first + 8; row++)
            for (int k = 0; k < depth; k++)
                for (int column = 0; column < N; column++)
                    sum[row][column] = fmaf(a[row][k], b[k][column], sum[row][column]);
#endif
    }
}

/* Unpacks A and B of halves: a register of the warp is a matrix of 8 x 8 halves, that of B transposed. */
static void unpack_halves(const ptx_warp_t *warp, const fragments_t *fragments, const ptx_matrix_shape_t *shape,
                          float a[M_MAX][K_MAX], float b[K_MAX][N])
{
    int row_groups = shape->m / 8;
    float block[64];
    uint16_t transposed[64];
    for (int i = 0; i < fragments->a_count; i++) {
        widen_halves(block, rungi_ptx_lanes(warp, fragments->a[i]), (ptx_type_t)shape->a_type);
        for (int row = 0; row < 8; row++)
            memcpy(&a[row + 8 * (i % row_groups)][8 * (i / row_groups)], &block[8 * row], 8 * sizeof *block);
    }
    for (int i = 0; i < fragments->b_count; i++) {
        transpose_halves(transposed, rungi_ptx_lanes(warp, fragments->b[i]));
        widen_halves(block, transposed, (ptx_type_t)shape->b_type);
        memcpy(b[8 * i], block, sizeof block);
    }
}

/* Unpacks A and B of TF32: a register of the warp is a matrix of 8 x 4 numbers, that of B transposed. */
static void unpack_tf32(const ptx_warp_t *warp, const fragments_t *fragments, const ptx_matrix_shape_t *shape,
                        float a[M_MAX][K_MAX], float b[K_MAX][N])
{
    int row_groups = shape->m / 8;
    for (int i = 0; i < fragments->a_count; i++) {
        const uint32_t *words = rungi_ptx_lanes(warp, fragments->a[i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            a[lane / 4 + 8 * (i % row_groups)][lane % 4 + 4 * (i / row_groups)] = f32_of_bits(words[lane] & ~0x1fffu);
    }
    for (int i = 0; i < fragments->b_count; i++) {
        const uint32_t *words = rungi_ptx_lanes(warp, fragments->b[i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            b[lane % 4 + 4 * i][lane / 4] = f32_of_bits(words[lane] & ~0x1fffu);
    }
}

EXECUTOR(mma_float)
{
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    fragments_t fragments = find_fragments(instruction, &shape);
    float a[M_MAX][K_MAX], b[K_MAX][N], sum[M_MAX][N];
    bool has_halves = shape.a_type == shape.b_type && (shape.a_type == PTX_F16 || shape.a_type == PTX_BF16);
    (void)mask;
    if (has_halves) {
        unpack_halves(warp, &fragments, &shape, a, b);
    } else if (shape.a_type == PTX_TF32) {
        unpack_tf32(warp, &fragments, &shape, a, b);
    } else {
        UNPACK(float, element_f32)
    }
    read_accumulator(warp, fragments.c, &shape, sum[0]);
    multiply_add(shape.m, shape.k, (const float(*)[K_MAX])a, (const float(*)[N])b, sum);
    write_accumulator(warp, fragments.d, &shape, sum[0]);
}

EXECUTOR(mma_integer)
{
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    fragments_t fragments = find_fragments(instruction, &shape);
    int32_t a[M_MAX][K_MAX], b[K_MAX][N];
    (void)mask;
    UNPACK(int32_t, element_integer)
    for (int i = 0; i < shape.m * N / PTX_WARP_LANES; i++) {
        uint32_t *d = rungi_ptx_lanes(warp, fragments.d[i]);
        const int32_t *c = rungi_ptx_lanes(warp, fragments.c[i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            int64_t sum = c[lane];
            for (int k = 0; k < shape.k; k++)
                sum += a[lane / 4 + 8 * (i / 2)][k] * b[k][lane % 4 * 2 + i % 2];
            if (instruction->flags & PTX_FLAG_SAT)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            d[lane] = (uint32_t)sum;
        }
    }
}

EXECUTOR(mma_f64)
{
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    fragments_t fragments = find_fragments(instruction, &shape);
    double a[M_MAX][16], b[16][N];
    int row_groups = shape.m / 8;
    (void)mask;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        for (int i = 0; i < fragments.a_count; i++)
            a[lane / 4 + 8 * (i % row_groups)][lane % 4 + 4 * (i / row_groups)] = ((const double *)rungi_ptx_lanes(
                warp, fragments.a[i]))[lane];
        for (int i = 0; i < fragments.b_count; i++)
            b[lane % 4 + 4 * i][lane / 4] = ((const double *)rungi_ptx_lanes(warp, fragments.b[i]))[lane];
    }
    for (int i = 0; i < shape.m * N / PTX_WARP_LANES; i++) {
        double *d = rungi_ptx_lanes(warp, fragments.d[i]);
        const double *c = rungi_ptx_lanes(warp, fragments.c[i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            double sum = c[lane];
            for (int k = 0; k < shape.k; k++)
                sum = fma(a[lane / 4 + 8 * (i / 2)][k], b[k][lane % 4 * 2 + i % 2], sum);
            d[lane] = sum;
        }
    }
}

PTX_EXECUTORS(matrix) = {E(ldmatrix),    E(stmatrix), E(movmatrix), E(mma_float),
                         E(mma_integer), E(mma_f64),  {NULL, NULL}};
