/* SPDX-License-Identifier: Apache-2.0 */
/* conform.c - rung_cluster_gemm against sums of its own, on problems drawn by number: any sizes, products, scalars, grids,
 * layouts and lengths of messages.
 *
 *     mpirun -n 4 conform CASES [SEED]
 *
 * Numbers are small and whole, so that every result is known to the last bit. Where elements lie is worked out here by
 * counting them one by one, and so are the bytes that a rank must receive. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "rung/cluster.h"

enum { PARTS_MAX = 5, EXTENT_MAX = 61 };

static int rank, ranks;

/* ---- Drawing ----------------------------------------------------------------------------------- */

/* All ranks draw the same. */
static uint64_t random_state;

static int64_t draw(int64_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)limit);
}

typedef struct test_operand {
    rung_cluster_matrix matrix;
    int64_t splits[2][PARTS_MAX + 1];
    int owners[PARTS_MAX * PARTS_MAX];
    rung_matrix views[PARTS_MAX * PARTS_MAX];
    double *memory; /* enough of any type, and a margin */
    int64_t bytes;
    unsigned char *touched; /* by elements of the matrix: the rest must stay as it is */
} test_operand_t;

typedef struct test_problem {
    int64_t m, n, k;
    rung_type types[3];
    double alpha, beta;
    rung_cluster_grid grid;
    int is_forced;
    int64_t message_bytes;
    rung_cluster_problem cluster;
    test_operand_t operands[3];
} test_problem_t;

static int64_t draw_extent(void)
{
    static const int64_t some[] = {0, 1, 2, 3, 7, 16, 31, 32, 33};
    return draw(3) == 0 ? some[draw(9)] : 1 + draw(EXTENT_MAX - 1);
}

static void draw_grid(test_problem_t *problem)
{
    int64_t left = ranks;
    problem->grid = rung_cluster_grid_of(1, 1, 1);
    problem->grid.pm = 1 + draw(left);
    left /= problem->grid.pm;
    problem->grid.pn = 1 + draw(left);
    left /= problem->grid.pn;
    problem->grid.pk = 1 + draw(left);
    problem->grid.a_chunks = 1 + draw(4);
    problem->grid.b_chunks = 1 + draw(4);
    problem->is_forced = draw(3) > 0;
}

static void draw_splits(int64_t extent, int64_t parts, int64_t *splits)
{
    splits[0] = 0;
    for (int64_t i = 1; i < parts; i++)
        splits[i] = splits[i - 1] + draw(extent - splits[i - 1] + 1);
    splits[parts] = extent;
}

static void draw_layout(int64_t rows, int64_t cols, rung_type type, test_operand_t *operand)
{
    rung_cluster_matrix *matrix = &operand->matrix;
    *matrix = rung_cluster_matrix_of_shares(type, rows, cols, NULL);
    matrix->layout = (rung_cluster_layout)draw(3);
    matrix->transposed = matrix->layout != RUNG_CLUSTER_LAYOUT_SHARES && draw(2);
    if (matrix->transposed) {
        matrix->rows = cols;
        matrix->cols = rows;
    }
    rung_cluster_cyclic *cyclic = &matrix->cyclic;
    cyclic->process_rows = 1 + draw(ranks);
    cyclic->process_cols = 1 + draw(ranks / cyclic->process_rows);
    cyclic->row_block = 1 + draw(9);
    cyclic->col_block = 1 + draw(9);
    cyclic->row_source = draw(cyclic->process_rows);
    cyclic->col_source = draw(cyclic->process_cols);
    cyclic->col_major_ranks = (int)draw(2);
    cyclic->row_offset = draw(2) * draw(20);
    cyclic->col_offset = draw(2) * draw(20);
    rung_cluster_blocks *blocks = &matrix->blocks;
    blocks->row_parts = 1 + draw(PARTS_MAX);
    blocks->col_parts = 1 + draw(PARTS_MAX);
    blocks->row_splits = operand->splits[0];
    blocks->col_splits = operand->splits[1];
    blocks->owners = operand->owners;
    draw_splits(matrix->rows, blocks->row_parts, operand->splits[0]);
    draw_splits(matrix->cols, blocks->col_parts, operand->splits[1]);
    for (int i = 0; i < PARTS_MAX * PARTS_MAX; i++)
        operand->owners[i] = (int)draw(ranks);
}

static void draw_problem(test_problem_t *problem)
{
    static const rung_type types[][2] = {/* the table of types in rung.h */
                                         {RUNG_F32, RUNG_F32}, {RUNG_F32, RUNG_F16},   {RUNG_F32, RUNG_BF16},
                                         {RUNG_F64, RUNG_F64}, {RUNG_F64, RUNG_F32},   {RUNG_F16, RUNG_F16},
                                         {RUNG_F16, RUNG_F32}, {RUNG_BF16, RUNG_BF16}, {RUNG_BF16, RUNG_F32},
                                         {RUNG_I8, RUNG_I32},  {RUNG_I32, RUNG_I32}};
    static const double alphas[] = {1, 1, 1, -2, 0, 3}, betas[] = {0, 0, 1, -1, 2};
    static const int64_t lengths[] = {0, 0, 7, 64, 1000};
    memset(problem, 0, sizeof *problem);
    problem->m = draw_extent();
    problem->n = draw_extent();
    problem->k = draw_extent();
    const rung_type *drawn_types = types[draw((int64_t)(sizeof types / sizeof *types))];
    problem->types[0] = problem->types[1] = drawn_types[0];
    problem->types[2] = drawn_types[1];
    problem->alpha = alphas[draw(6)];
    problem->beta = betas[draw(5)];
    problem->message_bytes = lengths[draw(5)];
    draw_grid(problem);
    problem->cluster = rung_cluster_problem_of(ranks, problem->m, problem->n, problem->k, problem->types[0],
                                               problem->types[1], problem->types[2]);
    draw_layout(problem->m, problem->k, problem->types[0], &problem->operands[0]);
    draw_layout(problem->k, problem->n, problem->types[1], &problem->operands[1]);
    draw_layout(problem->m, problem->n, problem->types[2], &problem->operands[2]);
}

/* ---- Elements ---------------------------------------------------------------------------------- */

/* Element (row, col) of operand 0, 1 or 2 (C of before), -4 to 4. */
static double value_of(int which, int64_t row, int64_t col)
{
    uint64_t mixed = (uint64_t)(which + 1) * 0x9e3779b97f4a7c15u + (uint64_t)row * 1000003u + (uint64_t)col * 7919u;
    mixed ^= mixed >> 29;
    mixed *= 0xbf58476d1ce4e5b9u;
    return (double)((mixed >> 40) % 9) - 4.0;
}

static void store(rung_type type, void *memory, int64_t index, double value)
{
    switch (type) {
    case RUNG_F64: ((double *)memory)[index] = value; break;
    case RUNG_F32: ((float *)memory)[index] = (float)value; break;
    case RUNG_F16: ((uint16_t *)memory)[index] = rung_f16_from_f32((float)value); break;
    case RUNG_BF16: ((uint16_t *)memory)[index] = rung_bf16_from_f32((float)value); break;
    case RUNG_I8: ((int8_t *)memory)[index] = (int8_t)value; break;
    default: ((int32_t *)memory)[index] = (int32_t)value;
    }
}

static double load(rung_type type, const void *memory, int64_t index)
{
    switch (type) {
    case RUNG_F64: return ((const double *)memory)[index];
    case RUNG_F32: return ((const float *)memory)[index];
    case RUNG_F16: return rung_f16_to_f32(((const uint16_t *)memory)[index]);
    case RUNG_BF16: return rung_bf16_to_f32(((const uint16_t *)memory)[index]);
    case RUNG_I8: return ((const int8_t *)memory)[index];
    default: return ((const int32_t *)memory)[index];
    }
}

/* ---- Where they lie, one by one ----------------------------------------------------------------- */

static int64_t process_of(int64_t line, int64_t block, int64_t source, int64_t processes)
{
    return (line / block + source) % processes;
}

/* How many lines before this one its process has. */
static int64_t lines_before(int64_t line, int64_t block, int64_t source, int64_t processes)
{
    int64_t count = 0;
    for (int64_t i = 0; i < line; i++)
        count += process_of(i, block, source, processes) == process_of(line, block, source, processes);
    return count;
}

static int64_t part_of(const int64_t *splits, int64_t line)
{
    int64_t part = 0;
    while (splits[part + 1] <= line)
        part++;
    return part;
}

/* The rank that has the element of the matrix as it lies. */
static int owner_of(const test_operand_t *operand, int64_t row, int64_t col)
{
    const rung_cluster_matrix *matrix = &operand->matrix;
    const rung_cluster_cyclic *cyclic = &matrix->cyclic;
    if (matrix->layout == RUNG_CLUSTER_LAYOUT_BLOCKS)
        return operand
            ->owners[part_of(operand->splits[0], row) * matrix->blocks.col_parts + part_of(operand->splits[1], col)];
    int64_t i = process_of(cyclic->row_offset + row, cyclic->row_block, cyclic->row_source, cyclic->process_rows);
    int64_t j = process_of(cyclic->col_offset + col, cyclic->col_block, cyclic->col_source, cyclic->process_cols);
    return (int)(cyclic->col_major_ranks ? i + j * cyclic->process_rows : i * cyclic->process_cols + j);
}

/* Where in this rank's memory its own element is. */
static int64_t local_index(const test_operand_t *operand, int64_t row, int64_t col)
{
    const rung_cluster_matrix *matrix = &operand->matrix;
    const rung_cluster_cyclic *cyclic = &matrix->cyclic;
    if (matrix->layout == RUNG_CLUSTER_LAYOUT_BLOCKS) {
        int64_t i = part_of(operand->splits[0], row), j = part_of(operand->splits[1], col), before = 0;
        for (int64_t b = 0; b < i * matrix->blocks.col_parts + j; b++)
            before += operand->owners[b] == rank;
        const rung_matrix *view = &operand->views[before];
        return view->offset + (row - operand->splits[0][i]) * view->row_stride +
               (col - operand->splits[1][j]) * view->col_stride;
    }
    return lines_before(cyclic->row_offset + row, cyclic->row_block, cyclic->row_source, cyclic->process_rows) +
           lines_before(cyclic->col_offset + col, cyclic->col_block, cyclic->col_source, cyclic->process_cols) *
               cyclic->ld;
}

/* ---- Memory ------------------------------------------------------------------------------------- */

/* Views of this rank's blocks, one behind the other in one memory, by rows or by columns, with gaps. */
static int64_t make_views(test_operand_t *operand)
{
    rung_cluster_blocks *blocks = &operand->matrix.blocks;
    int64_t used = 0;
    blocks->view_count = 0;
    blocks->views = operand->views;
    for (int64_t b = 0; b < blocks->row_parts * blocks->col_parts; b++) {
        int64_t i = b / blocks->col_parts, j = b % blocks->col_parts;
        int64_t rows = operand->splits[0][i + 1] - operand->splits[0][i];
        int64_t cols = operand->splits[1][j + 1] - operand->splits[1][j];
        if (operand->owners[b] != rank)
            continue;
        rung_matrix view = {.type = operand->matrix.type, .rows = rows, .cols = cols, .offset = used};
        view.row_stride = b % 2 ? cols + 2 : 1;
        view.col_stride = b % 2 ? 1 : rows + 3;
        used += (rows + 4) * (cols + 4);
        operand->views[blocks->view_count++] = view;
    }
    return used;
}

static void make_memory(const test_problem_t *problem, int which, test_operand_t *operand)
{
    rung_cluster_matrix *matrix = &operand->matrix;
    rung_cluster_cyclic *cyclic = &matrix->cyclic;
    int64_t elements = rung_cluster_share_elements(&problem->cluster, &problem->grid, rank,
                                                   (rung_cluster_operand)which);
    if (matrix->layout == RUNG_CLUSTER_LAYOUT_CYCLIC) {
        cyclic->ld = cyclic->row_offset + matrix->rows + 3; /* more than it has */
        elements = cyclic->ld * (cyclic->col_offset + matrix->cols + 1);
    } else if (matrix->layout == RUNG_CLUSTER_LAYOUT_BLOCKS) {
        elements = make_views(operand);
    }
    operand->bytes = (elements + 8) * rung_type_size(matrix->type);
    operand->memory = malloc((size_t)operand->bytes + 8);
    operand->touched = calloc((size_t)elements + 8, 1);
    if (!operand->memory || !operand->touched)
        MPI_Abort(MPI_COMM_WORLD, 2);
    memset(operand->memory, 0xa5, (size_t)operand->bytes);
    matrix->data = operand->memory;
    for (int64_t i = 0; i < PARTS_MAX * PARTS_MAX; i++)
        operand->views[i].data = operand->memory;
}

/* Calls for each element of the operand that this rank has: as multiplied, and where in memory. */
typedef void (*element_function_t)(test_problem_t *problem, int which, int64_t row, int64_t col, int64_t place);

static void for_each_share_element(test_problem_t *problem, int which, element_function_t act)
{
    rung_cluster_piece piece;
    for (int64_t i = 0; rung_cluster_share_piece(&problem->cluster, &problem->grid, rank, (rung_cluster_operand)which,
                                                 i, &piece) == RUNG_OK;
         i++)
        for (int64_t e = 0; e < piece.count; e++) {
            int64_t at = piece.first + e;
            act(problem, which, piece.row + at / piece.cols, piece.col + at % piece.cols, piece.offset + e);
        }
}

static void for_each_own_element(test_problem_t *problem, int which, element_function_t act)
{
    const test_operand_t *operand = &problem->operands[which];
    const rung_cluster_matrix *matrix = &operand->matrix;
    if (matrix->layout == RUNG_CLUSTER_LAYOUT_SHARES) {
        for_each_share_element(problem, which, act);
        return;
    }
    for (int64_t row = 0; row < matrix->rows; row++)
        for (int64_t col = 0; col < matrix->cols; col++)
            if (owner_of(operand, row, col) == rank)
                act(problem, which, matrix->transposed ? col : row, matrix->transposed ? row : col,
                    local_index(operand, row, col));
}

/* What may not be read is NaN, or a number that shows. */
static void fill(test_problem_t *problem, int which, int64_t row, int64_t col, int64_t place)
{
    test_operand_t *operand = &problem->operands[which];
    int is_unread = which == 2 ? problem->beta == 0.0 : problem->alpha == 0.0;
    int is_whole = problem->types[which] == RUNG_I8 || problem->types[which] == RUNG_I32;
    store(problem->types[which], operand->memory, place, !is_unread ? value_of(which, row, col) : is_whole ? 77 : NAN);
    operand->touched[place] = 1;
}

/* ---- Judging ------------------------------------------------------------------------------------ */

static const char *const layout_names[] = {"shares", "cyclic", "blocks"};
static int64_t number; /* of the case */

static void fail(const test_problem_t *problem, const char *what)
{
    const test_operand_t *o = problem->operands;
    printf(
        "case %lld, rank %d of %d: %s\n  %s to %s %lld x %lld x %lld, alpha %g, beta %g, grid %lld x %lld x %lld in %lld, %lld%s, "
        "messages of %lld; A %s%s, B %s%s, C %s%s\n",
        (long long)number, rank, ranks, what, rung_type_name(problem->types[0]), rung_type_name(problem->types[2]),
        (long long)problem->m, (long long)problem->n, (long long)problem->k, problem->alpha, problem->beta,
        (long long)problem->grid.pm, (long long)problem->grid.pn, (long long)problem->grid.pk,
        (long long)problem->grid.a_chunks, (long long)problem->grid.b_chunks, problem->is_forced ? ", forced" : "",
        (long long)problem->message_bytes, layout_names[o[0].matrix.layout], o[0].matrix.transposed ? "^T" : "",
        layout_names[o[1].matrix.layout], o[1].matrix.transposed ? "^T" : "", layout_names[o[2].matrix.layout],
        o[2].matrix.transposed ? "^T" : "");
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check_element(test_problem_t *problem, int which, int64_t row, int64_t col, int64_t place)
{
    double expected = 0, got = load(problem->types[2], problem->operands[2].memory, place);
    char text[160];
    for (int64_t i = 0; problem->alpha != 0.0 && i < problem->k; i++)
        expected += value_of(0, row, i) * value_of(1, i, col);
    expected *= problem->alpha;
    if (problem->beta != 0.0)
        expected += problem->beta * value_of(which, row, col);
    double rounded;
    store(problem->types[2], &rounded, 0, expected);
    if (got == load(problem->types[2], &rounded, 0))
        return;
    snprintf(text, sizeof text, "C(%lld, %lld) is %g, and %g is right", (long long)row, (long long)col, got, expected);
    fail(problem, text);
}

static void check_margins(const test_problem_t *problem)
{
    for (int which = 0; which < 3; which++) {
        const test_operand_t *operand = &problem->operands[which];
        int64_t size = rung_type_size(problem->types[which]);
        for (int64_t i = 0; i < operand->bytes; i++)
            if (!operand->touched[i / size] && ((unsigned char *)operand->memory)[i] != 0xa5)
                fail(problem, "memory between the elements was written");
    }
}

/* Elements of this rank's share that others have in their layouts, or of its layout that others have in shares. */
static int64_t counted;

static void count_foreign(test_problem_t *problem, int which, int64_t row, int64_t col, int64_t place)
{
    const test_operand_t *operand = &problem->operands[which];
    (void)place;
    counted += operand->matrix.transposed ? owner_of(operand, col, row) != rank : owner_of(operand, row, col) != rank;
}

static int64_t own_c_elements;

static void count_own(test_problem_t *problem, int which, int64_t row, int64_t col, int64_t place)
{
    (void)problem;
    (void)which;
    (void)row;
    (void)col;
    (void)place;
    own_c_elements++;
}

/* Bytes of an element of the sums: those of C's accumulator. */
static int64_t sum_bytes(const test_problem_t *problem)
{
    return problem->types[0] == RUNG_F64 ? 8 : 4;
}

/* Of C: all that it has, less what it has in its share too. */
static int64_t expected_redistribution(test_problem_t *problem)
{
    int64_t bytes = 0;
    for (int which = 0; which < 2; which++)
        if (problem->operands[which].matrix.layout != RUNG_CLUSTER_LAYOUT_SHARES) {
            counted = 0;
            for_each_share_element(problem, which, count_foreign);
            bytes += counted * rung_type_size(problem->types[which]);
        }
    if (problem->operands[2].matrix.layout != RUNG_CLUSTER_LAYOUT_SHARES) {
        counted = own_c_elements = 0;
        for_each_share_element(problem, 2, count_foreign);
        int64_t share = rung_cluster_share_elements(&problem->cluster, &problem->grid, rank, RUNG_CLUSTER_OPERAND_C);
        for_each_own_element(problem, 2, count_own);
        bytes += (own_c_elements - (share - counted)) * sum_bytes(problem);
    }
    return bytes;
}

static void check_received_bytes(test_problem_t *problem, const rung_cluster_report *report)
{
    rung_cluster_cost cost = rung_cluster_cost_default();
    long long most = 0, own = (long long)report->received_bytes;
    int is_empty = problem->alpha == 0.0 || problem->m == 0 || problem->n == 0 || problem->k == 0;
    MPI_Allreduce(&own, &most, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (memcmp(report->grid, &problem->grid, sizeof problem->grid) != 0)
        fail(problem, "it took another grid");
    if (rung_cluster_grid_cost(&problem->cluster, &problem->grid, &cost) != RUNG_OK)
        fail(problem, rung_error_text());
    if (most != (is_empty ? 0 : cost.received_bytes))
        fail(problem, "the busiest rank did not receive what was predicted");
    if (report->redistributed_bytes != (is_empty ? 0 : expected_redistribution(problem)))
        fail(problem, "more or less was redistributed than lay on the wrong ranks");
}

static void run_case(void)
{
    static test_problem_t problem;
    rung_cluster_report *report;
    draw_problem(&problem);
    if (!problem.is_forced && rung_cluster_grid_choose(&problem.cluster, &problem.grid) != RUNG_OK)
        fail(&problem, rung_error_text());
    for (int which = 0; which < 3; which++) {
        make_memory(&problem, which, &problem.operands[which]);
        for_each_own_element(&problem, which, fill);
    }
    rung_cluster_options options = rung_cluster_options_default();
    options.grid = problem.is_forced ? &problem.grid : NULL;
    options.timeout_seconds = 60;
    if (problem.message_bytes > 0)
        options.max_message_bytes = problem.message_bytes;
    if (rung_cluster_gemm(MPI_COMM_WORLD, problem.alpha, &problem.operands[0].matrix, &problem.operands[1].matrix,
                          problem.beta, &problem.operands[2].matrix, &options, &report) != RUNG_OK)
        fail(&problem, rung_error_text());
    for_each_own_element(&problem, 2, check_element);
    check_margins(&problem);
    check_received_bytes(&problem, report);
    rung_cluster_report_destroy(report);
    for (int which = 0; which < 3; which++) {
        free(problem.operands[which].memory);
        free(problem.operands[which].touched);
    }
}

int main(int argc, char **argv)
{
    int64_t cases = argc > 1 ? atoll(argv[1]) : 100, seed = argc > 2 ? atoll(argv[2]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (number = 0; number < cases; number++) {
        random_state = (uint64_t)(seed * 1000003 + number);
        draw(2);
        draw(2);
        run_case();
    }
    if (rank == 0)
        printf("%lld cases on %d ranks: all right\n", (long long)cases, ranks);
    MPI_Finalize();
    return 0;
}
