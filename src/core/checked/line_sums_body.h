/* SPDX-License-Identifier: Apache-2.0 */
/* line_sums_body.h - the functions of rungi_line_sums for one type of elements and one instruction set. line_sums.c includes it
 * several times, with ELEMENT (float or double), NAME(function), TARGET and VECTOR_BYTES. WIDEN(address) reads a vector of ELEMENT
 * and converts it to double. */

typedef double NAME(vector) __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef uint64_t NAME(bits) __attribute__((vector_size(VECTOR_BYTES)));
typedef ELEMENT NAME(raw)
    __attribute__((vector_size(VECTOR_BYTES / 8 * sizeof(ELEMENT)), aligned(sizeof(ELEMENT)), may_alias));

#define LANES (VECTOR_BYTES / 8)
#define LOAD(address) WIDEN(address, NAME(raw), NAME(vector))
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

/* Rows that are read together: as many as leave registers for their sums. */
enum { NAME(height) = VECTOR_BYTES == 64 ? 8 : 4, NAME(pair_height) = VECTOR_BYTES == 64 ? 4 : 2 };

/* Computes `dot` for `height` rows. The compiler makes a version for each number of sets. */
TARGET static inline __attribute__((always_inline)) void NAME(dot_sets)(const ELEMENT *rows, int64_t stride,
                                                                        int64_t cols, int sets, int height, int row,
                                                                        const rungi_weighted_sums *to)
{
    NAME(vector) sum[2][4] = {{{0}}}, size[2][4] = {{{0}}};
    for (int64_t j = 0; j < cols; j += LANES)
        for (int i = 0; i < height; i++) {
            NAME(vector) x = LOAD(rows + i * stride + j), magnitude = MAGNITUDE(x);
            for (int set = 0; set < sets; set++) {
                sum[set][i] += x * AT(to[set].weights, j);
                size[set][i] += magnitude * AT(to[set].sizes_of, j);
            }
        }
    for (int set = 0; set < sets; set++)
        for (int i = 0; i < height; i++) {
            to[set].sums[row + i] += NAME(total)(&sum[set][i]);
            to[set].sizes[row + i] += NAME(total)(&size[set][i]);
        }
}

TARGET static void NAME(dot)(const void *first, int64_t stride, int64_t cols, int sets, const rungi_weighted_sums *to)
{
    enum { SINGLE_HEIGHT = 4, PAIR_HEIGHT = NAME(pair_height) };
    const ELEMENT *rows = first;
    for (int row = 0; row < RUNGI_PANEL_ROWS && sets == 1; row += SINGLE_HEIGHT)
        NAME(dot_sets)(rows + row * stride, stride, cols, 1, SINGLE_HEIGHT, row, to);
    for (int row = 0; row < RUNGI_PANEL_ROWS && sets == 2; row += PAIR_HEIGHT)
        NAME(dot_sets)(rows + row * stride, stride, cols, 2, PAIR_HEIGHT, row, to);
}

/* Computes `combine`. The compiler makes a version for each number of sets. */
TARGET static inline __attribute__((always_inline)) void
NAME(combine_sets)(const ELEMENT *rows, int64_t stride, int64_t cols, int sets, const rungi_weighted_sums *to)
{
    for (int64_t j = 0; j < cols; j += LANES) {
        NAME(vector) sum[2] = {{0}}, size[2];
        NAME(prefetch)(rows, stride, j);
        for (int set = 0; set < sets; set++)
            size[set] = AT(to[set].sizes, j);
        for (int row = 0; row < RUNGI_PANEL_ROWS; row++) {
            NAME(vector) x = LOAD(rows + row * stride + j), magnitude = MAGNITUDE(x);
            for (int set = 0; set < sets; set++) {
                sum[set] += x * to[set].weights[row];
                size[set] += magnitude * to[set].sizes_of[row];
            }
        }
        for (int set = 0; set < sets; set++) {
            TO(to[set].sums, j) = AT(to[set].sums, j) + sum[set];
            TO(to[set].sizes, j) = size[set];
        }
    }
}

TARGET static void NAME(combine)(const void *first, int64_t stride, int64_t cols, int sets,
                                 const rungi_weighted_sums *to)
{
    if (sets == 1)
        NAME(combine_sets)(first, stride, cols, 1, to);
    else
        NAME(combine_sets)(first, stride, cols, 2, to);
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

TARGET static void NAME(weigh_rows)(const void *first, int64_t stride, int64_t cols,
                                    const double weights[RUNGI_PANEL_ROWS], double *col_sums, double *col_sizes,
                                    double row_sizes[RUNGI_PANEL_ROWS], double row_squares[RUNGI_PANEL_ROWS])
{
    enum { HEIGHT = NAME(height) };
    for (int row = 0; row < RUNGI_PANEL_ROWS; row += HEIGHT) {
        const ELEMENT *rows = (const ELEMENT *)first + row * stride;
        NAME(vector) row_size[HEIGHT] = {{0}}, row_square[HEIGHT] = {{0}};
        for (int64_t j = 0; j < cols; j += LANES) {
            NAME(vector) sum = {0}, size = {0};
            if (row == 0)
                NAME(prefetch)(rows, stride, j);
            for (int i = 0; i < HEIGHT; i++) {
                NAME(vector) x = LOAD(rows + i * stride + j) * weights[row + i], magnitude = MAGNITUDE(x);
                sum += x;
                size += magnitude;
                row_size[i] += magnitude;
                row_square[i] += x * x;
            }
            TO(col_sums, j) = AT(col_sums, j) + sum;
            TO(col_sizes, j) = AT(col_sizes, j) + size;
        }
        for (int i = 0; i < HEIGHT; i++) {
            row_sizes[row + i] += NAME(total)(&row_size[i]);
            row_squares[row + i] += NAME(total)(&row_square[i]);
        }
    }
}

TARGET static void NAME(weigh_cols)(const void *first, int64_t stride, int64_t cols, const double *weights,
                                    double row_sums[RUNGI_PANEL_ROWS], double row_sizes[RUNGI_PANEL_ROWS],
                                    double *col_sizes, double *col_squares)
{
    enum { HEIGHT = NAME(height) };
    for (int row = 0; row < RUNGI_PANEL_ROWS; row += HEIGHT) {
        const ELEMENT *rows = (const ELEMENT *)first + row * stride;
        NAME(vector) row_sum[HEIGHT] = {{0}}, row_size[HEIGHT] = {{0}};
        for (int64_t j = 0; j < cols; j += LANES) {
            NAME(vector) weight = AT(weights, j), size = AT(col_sizes, j), square = AT(col_squares, j);
            if (row == 0)
                NAME(prefetch)(rows, stride, j);
            for (int i = 0; i < HEIGHT; i++) {
                NAME(vector) x = LOAD(rows + i * stride + j) * weight, magnitude = MAGNITUDE(x);
                row_sum[i] += x;
                row_size[i] += magnitude;
                size += magnitude;
                square += x * x;
            }
            TO(col_sizes, j) = size;
            TO(col_squares, j) = square;
        }
        for (int i = 0; i < HEIGHT; i++) {
            row_sums[row + i] += NAME(total)(&row_sum[i]);
            row_sizes[row + i] += NAME(total)(&row_size[i]);
        }
    }
}

static const rungi_line_sums NAME(sums) = {NAME(dot),       NAME(combine),    NAME(sum_both),  NAME(row_sizes),
                                           NAME(col_sizes), NAME(weigh_rows), NAME(weigh_cols)};

#undef LANES
#undef WIDEN
#undef LOAD
#undef AT
#undef TO
#undef MAGNITUDE
#undef NAME
#undef ELEMENT
