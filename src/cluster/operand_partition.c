/* SPDX-License-Identifier: Apache-2.0 */
/* operand_partition.c - see operand_partition.h. */
#include "cluster/operand_partition.h"

#include "base/checked_arithmetic.h"

/* Each operand has two of the directions m, n and k; the ranks along the third one own its chunks together. The number of rank
 * (i, j, l) is (i * pn + j) * pk + l: ranks that add up the same block of C are adjacent, because partial sums are the largest
 * part of the traffic. */
rungi_partition rungi_partition_of(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                                   rung_cluster_operand operand, int64_t rank)
{
    bool is_idle = rank < 0 || rank >= rungi_grid_ranks(grid);
    if (is_idle)
        rank = 0; /* the parts of an idle rank are not used, and must not overflow */
    const rungi_partition_axis m = {cluster->m, grid->pm, grid->a_chunks, rank / grid->pk / grid->pn};
    const rungi_partition_axis n = {cluster->n, grid->pn, grid->b_chunks, rank / grid->pk % grid->pn};
    const rungi_partition_axis k = {cluster->k, grid->pk, 1, rank % grid->pk};
    const rungi_partition_axis *owners = operand == RUNG_CLUSTER_OPERAND_A ? &n : &m;
    if (operand == RUNG_CLUSTER_OPERAND_C)
        owners = &k;
    rungi_partition partition = {
        .operand = operand, .grid = grid, .owners = owners->parts, .owner = owners->part, .is_idle = is_idle};
    partition.rows = operand == RUNG_CLUSTER_OPERAND_B ? k : m;
    partition.cols = operand == RUNG_CLUSTER_OPERAND_A ? k : n;
    const rungi_partition_axis *rows = &partition.rows, *cols = &partition.cols;
    partition.part = (rungi_rectangle){rungi_part_start(rows->extent, rows->parts, rows->part),
                                       rungi_part_start(cols->extent, cols->parts, cols->part),
                                       rungi_part_size(rows->extent, rows->parts, rows->part),
                                       rungi_part_size(cols->extent, cols->parts, cols->part)};
    partition.chunks = rows->chunks * cols->chunks;
    return partition;
}

int64_t rungi_partition_rank(const rungi_partition *partition, int64_t row_part, int64_t col_part, int64_t owner)
{
    const rung_cluster_grid *grid = partition->grid;
    int64_t i = row_part, j = col_part, l = owner; /* along m, n and k */
    if (partition->operand == RUNG_CLUSTER_OPERAND_A) {
        j = owner;
        l = col_part;
    } else if (partition->operand == RUNG_CLUSTER_OPERAND_B) {
        i = owner;
        l = row_part;
    }
    return (i * grid->pn + j) * grid->pk + l;
}

/* Returns the index of the part that contains a line. */
static int64_t part_index_at(int64_t extent, int64_t parts, int64_t line)
{
    int64_t low = 0, high = parts;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (rungi_part_start(extent, parts, middle) <= line)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A chunk along rows or columns. */
typedef struct axis_chunk {
    int64_t part, chunk, start, end;
} axis_chunk_t;

static axis_chunk_t axis_chunk_at(const rungi_partition_axis *axis, int64_t line)
{
    axis_chunk_t found = {.part = part_index_at(axis->extent, axis->parts, line)};
    int64_t first = rungi_part_start(axis->extent, axis->parts, found.part),
            size = rungi_part_size(axis->extent, axis->parts, found.part);
    found.chunk = part_index_at(size, axis->chunks, line - first);
    found.start = first + rungi_part_start(size, axis->chunks, found.chunk);
    found.end = first + rungi_part_start(size, axis->chunks, found.chunk + 1);
    return found;
}

/* Arguments of rungi_partition_visit(). */
typedef struct partition_visit {
    const rungi_partition *partition;
    bool only_own;
    rungi_share_rectangle_function visit;
    void *user;
} partition_visit_t;

/* Visits the elements of `of` that one owner has: a part of the first row, whole rows, and a part of the last row. */
static void visit_owner(const partition_visit_t *args, const axis_chunk_t *rows, const axis_chunk_t *cols,
                        rungi_rectangle of, int64_t owner)
{
    int64_t width = cols->end - cols->start, elements = (rows->end - rows->start) * width;
    int64_t low = rungi_part_start(elements, args->partition->owners, owner);
    int64_t high = rungi_part_start(elements, args->partition->owners, owner + 1);
    int64_t first = of.col - cols->start, last = first + of.cols, end = of.row - rows->start + of.rows;
    rungi_share_rectangle rectangle = {.rank = rungi_partition_rank(args->partition, rows->part, cols->part, owner),
                                       .stride = width,
                                       .chunk = rows->chunk * args->partition->cols.chunks + cols->chunk};
    for (int64_t row = rungi_max(of.row - rows->start, low / width); row < end && row * width + first < high;) {
        int64_t from = rungi_max(first, low - row * width), to = rungi_min(last, high - row * width), count = 1;
        if (from == first && to == last)
            count = rungi_min(end, (high - last) / width + 1) - row;
        if (from < to) {
            rectangle.rectangle = (rungi_rectangle){rows->start + row, cols->start + from, count, to - from};
            rectangle.offset = row * width + from - low;
            args->visit(args->user, &rectangle);
        }
        row += count;
    }
}

/* Visits a rectangle within one chunk. */
static void visit_chunk(const partition_visit_t *args, const axis_chunk_t *rows, const axis_chunk_t *cols,
                        rungi_rectangle of)
{
    const rungi_partition *partition = args->partition;
    int64_t width = cols->end - cols->start, elements = (rows->end - rows->start) * width;
    int64_t begin = (of.row - rows->start) * width + of.col - cols->start;
    int64_t end = (of.row + of.rows - 1 - rows->start) * width + of.col + of.cols - 1 - cols->start;
    if (args->only_own) {
        if (!partition->is_idle && partition->rows.part == rows->part && partition->cols.part == cols->part)
            visit_owner(args, rows, cols, of, partition->owner);
        return;
    }
    for (int64_t owner = part_index_at(elements, partition->owners, begin);
         owner < partition->owners && rungi_part_start(elements, partition->owners, owner) <= end; owner++)
        visit_owner(args, rows, cols, of, owner);
}

void rungi_partition_visit(const rungi_partition *partition, rungi_rectangle of, bool only_own,
                           rungi_share_rectangle_function visit, void *user)
{
    partition_visit_t args = {partition, only_own, visit, user};
    for (int64_t row = of.row; of.cols > 0 && row < of.row + of.rows;) {
        axis_chunk_t rows = axis_chunk_at(&partition->rows, row);
        int64_t row_end = rungi_min(rows.end, of.row + of.rows);
        for (int64_t col = of.col; col < of.col + of.cols;) {
            axis_chunk_t cols = axis_chunk_at(&partition->cols, col);
            int64_t col_end = rungi_min(cols.end, of.col + of.cols);
            visit_chunk(&args, &rows, &cols, (rungi_rectangle){row, col, row_end - row, col_end - col});
            col = col_end;
        }
        row = row_end;
    }
}

rung_cluster_piece rungi_partition_piece(const rungi_partition *partition, int64_t index)
{
    const rungi_rectangle *part = &partition->part;
    int64_t row_chunks = partition->rows.chunks, col_chunks = partition->cols.chunks;
    int64_t s = index / col_chunks, t = index % col_chunks;
    rung_cluster_piece piece = {.row = part->row + rungi_part_start(part->rows, row_chunks, s),
                                .col = part->col + rungi_part_start(part->cols, col_chunks, t),
                                .rows = rungi_part_size(part->rows, row_chunks, s),
                                .cols = rungi_part_size(part->cols, col_chunks, t)};
    piece.first = rungi_part_start(piece.rows * piece.cols, partition->owners, partition->owner);
    piece.count = rungi_part_size(piece.rows * piece.cols, partition->owners, partition->owner);
    return piece;
}
