/* SPDX-License-Identifier: Apache-2.0 */
/* line_sums_body.h - the functions of rungi_line_sums for one type of elements and one instruction set. line_sums.c includes it
 * several times, with ELEMENT (float or double), NAME(function), TARGET and VECTOR_BYTES. */

typedef double NAME(vector) __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef uint64_t NAME(bits) __attribute__((vector_size(VECTOR_BYTES)));
typedef ELEMENT NAME(raw)
    __attribute__((vector_size(VECTOR_BYTES / 8 * sizeof(ELEMENT)), aligned(sizeof(ELEMENT)), may_alias));

#define LANES (VECTOR_BYTES / 8)
#define LOAD(address) __builtin_convertvector(*(const NAME(raw) *)(address), NAME(vector))
#define AT(array, index) (*(const NAME(vector) *)&(array)[index])
#define TO(array, index) (*(NAME(vector) *)&(array)[index])
#define MAGNITUDE(x) ((NAME(vector))((NAME(bits))(x)&INT64_MAX))

/* Begins to read a part of the next rows, a cache line of each row in turn. The processor does not expect them: a panel is a
 * narrow part of a matrix. */
TARGET static inline void NAME(prefetch)(const ELEMENT *first, int64_t stride, int64_t j)
{
    enum {
        LINE = 64,
        COUNT = RUNGI_PANEL_ROWS * LANES * (int)sizeof(ELEMENT) / LINE, /* rows per vector */
        TURNS = RUNGI_PANEL_ROWS / COUNT
    };
    const ELEMENT *next = first + (RUNGI_PANEL_ROWS + j / LANES % TURNS * COUNT) * stride + j;
    for (int i = 0; i < COUNT; i++)
        __builtin_prefetch(next + i * stride);
}

TARGET static double NAME(total)(const NAME(vector) * vector)
{
    double sum = 0;
    for (int lane = 0; lane < LANES; lane++)
        sum += (*vector)[lane];
    return sum;
}

TARGET static void NAME(dot)(const void *first, int64_t stride, int64_t cols, const double *weights,
                             const double *sizes_of, double sums[RUNGI_PANEL_ROWS], double sizes[RUNGI_PANEL_ROWS])
{
    for (int row = 0; row < RUNGI_PANEL_ROWS; row += 4) {
        const ELEMENT *rows = (const ELEMENT *)first + row * stride;
        NAME(vector) sum[4] = {{0}}, size[4] = {{0}};
        for (int64_t j = 0; j < cols; j += LANES) {
            NAME(vector) weight = AT(weights, j), size_of = AT(sizes_of, j);
            for (int i = 0; i < 4; i++) {
                NAME(vector) x = LOAD(rows + i * stride + j);
                sum[i] += x * weight;
                size[i] += MAGNITUDE(x) * size_of;
            }
        }
        for (int i = 0; i < 4; i++) {
            sums[row + i] += NAME(total)(&sum[i]);
            sizes[row + i] += NAME(total)(&size[i]);
        }
    }
}

TARGET static void NAME(combine)(const void *first, int64_t stride, int64_t cols,
                                 const double weights[RUNGI_PANEL_ROWS], const double sizes_of[RUNGI_PANEL_ROWS],
                                 double *sums, double *sizes)
{
    const ELEMENT *rows = first;
    for (int64_t j = 0; j < cols; j += LANES) {
        NAME(vector) sum = {0}, size = AT(sizes, j);
        NAME(prefetch)(rows, stride, j);
        for (int row = 0; row < RUNGI_PANEL_ROWS; row++) {
            NAME(vector) x = LOAD(rows + row * stride + j);
            sum += x * weights[row];
            size += MAGNITUDE(x) * sizes_of[row];
        }
        TO(sums, j) = AT(sums, j) + sum;
        TO(sizes, j) = size;
    }
}

TARGET static void NAME(sum_both)(const void *first, int64_t stride, int64_t cols, const double *col_weights,
                                  const double row_weights[RUNGI_PANEL_ROWS], double row_sums[RUNGI_PANEL_ROWS],
                                  double *col_sums)
{
    const ELEMENT *rows = first;
    NAME(vector) row_sum[RUNGI_PANEL_ROWS] = {{0}};
    for (int64_t j = 0; j < cols; j += LANES) {
        NAME(vector) sum = AT(col_sums, j), weights = AT(col_weights, j);
        NAME(prefetch)(rows, stride, j);
        for (int row = 0; row < RUNGI_PANEL_ROWS; row++) {
            NAME(vector) x = LOAD(rows + row * stride + j);
            sum += x * row_weights[row];
            row_sum[row] += x * weights;
        }
        TO(col_sums, j) = sum;
    }
    for (int row = 0; row < RUNGI_PANEL_ROWS; row++)
        row_sums[row] += NAME(total)(&row_sum[row]);
}

TARGET static void NAME(row_sizes)(const void *first, int64_t stride, int64_t cols, double sizes[RUNGI_PANEL_ROWS])
{
    const ELEMENT *rows = first;
    NAME(vector) size[RUNGI_PANEL_ROWS] = {{0}};
    for (int64_t j = 0; j < cols; j += LANES)
        for (int row = 0; row < RUNGI_PANEL_ROWS; row++)
            size[row] += MAGNITUDE(LOAD(rows + row * stride + j));
    for (int row = 0; row < RUNGI_PANEL_ROWS; row++)
        sizes[row] += NAME(total)(&size[row]);
}

TARGET static void NAME(col_sizes)(const void *first, int64_t stride, int64_t cols, double *sizes)
{
    const ELEMENT *rows = first;
    for (int64_t j = 0; j < cols; j += LANES) {
        NAME(vector) size = AT(sizes, j);
        for (int row = 0; row < RUNGI_PANEL_ROWS; row++)
            size += MAGNITUDE(LOAD(rows + row * stride + j));
        TO(sizes, j) = size;
    }
}

TARGET static void NAME(row_spread)(const void *first, int64_t stride, int64_t cols,
                                    const double weights[RUNGI_PANEL_ROWS], double sizes[RUNGI_PANEL_ROWS],
                                    double squares[RUNGI_PANEL_ROWS])
{
    for (int row = 0; row < RUNGI_PANEL_ROWS; row += 4) {
        const ELEMENT *rows = (const ELEMENT *)first + row * stride;
        NAME(vector) size[4] = {{0}}, square[4] = {{0}};
        for (int64_t j = 0; j < cols; j += LANES)
            for (int i = 0; i < 4; i++) {
                NAME(vector) x = LOAD(rows + i * stride + j) * weights[row + i];
                size[i] += MAGNITUDE(x);
                square[i] += x * x;
            }
        for (int i = 0; i < 4; i++) {
            sizes[row + i] += NAME(total)(&size[i]);
            squares[row + i] += NAME(total)(&square[i]);
        }
    }
}

TARGET static void NAME(col_spread)(const void *first, int64_t stride, int64_t cols, const double *weights,
                                    double *sizes, double *squares)
{
    const ELEMENT *rows = first;
    for (int64_t j = 0; j < cols; j += LANES) {
        NAME(vector) size = AT(sizes, j), square = AT(squares, j), weight = AT(weights, j);
        for (int row = 0; row < RUNGI_PANEL_ROWS; row++) {
            NAME(vector) x = LOAD(rows + row * stride + j) * weight;
            size += MAGNITUDE(x);
            square += x * x;
        }
        TO(sizes, j) = size;
        TO(squares, j) = square;
    }
}

static const rungi_line_sums NAME(sums) = {NAME(dot),       NAME(combine),    NAME(sum_both),  NAME(row_sizes),
                                           NAME(col_sizes), NAME(row_spread), NAME(col_spread)};

#undef LANES
#undef LOAD
#undef AT
#undef TO
#undef MAGNITUDE
#undef NAME
#undef ELEMENT
