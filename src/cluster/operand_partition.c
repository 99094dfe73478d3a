/* SPDX-License-Identifier: Apache-2.0 */
/* operand_partition.c - see operand_partition.h. */
#include "cluster/operand_partition.h"

#include "base/checked_arithmetic.h"

rungi_operand_partition rungi_operand_partition_of(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                                                   rung_cluster_operand operand)
{
    rungi_operand_partition partition = {.operand = operand, .grid = grid, .row_chunks = 1, .col_chunks = 1};
    partition.rows = operand == RUNG_CLUSTER_OPERAND_B ? cluster->k : cluster->m;
    partition.cols = operand == RUNG_CLUSTER_OPERAND_A ? cluster->k : cluster->n;
    partition.row_parts = operand == RUNG_CLUSTER_OPERAND_B ? grid->pk : grid->pm;
    partition.col_parts = operand == RUNG_CLUSTER_OPERAND_A ? grid->pk : grid->pn;
    partition.owners = operand == RUNG_CLUSTER_OPERAND_A   ? grid->pn
                       : operand == RUNG_CLUSTER_OPERAND_B ? grid->pm
                                                           : grid->pk;
    if (operand != RUNG_CLUSTER_OPERAND_B)
        partition.row_chunks = grid->a_chunks;
    if (operand != RUNG_CLUSTER_OPERAND_A)
        partition.col_chunks = grid->b_chunks;
    return partition;
}

int rungi_operand_partition_find_rank(const rungi_operand_partition *partition, int64_t rank,
                                      rungi_operand_partition_coords *coords)
{
    rungi_grid_position position = rungi_grid_position_of(partition->grid, rank);
    switch (partition->operand) {
    case RUNG_CLUSTER_OPERAND_A: *coords = (rungi_operand_partition_coords){position.i, position.l, position.j}; break;
    case RUNG_CLUSTER_OPERAND_B: *coords = (rungi_operand_partition_coords){position.l, position.j, position.i}; break;
    default: *coords = (rungi_operand_partition_coords){position.i, position.j, position.l};
    }
    return rank < rungi_grid_ranks(partition->grid);
}

static int64_t rank_of_coords(const rungi_operand_partition *partition, rungi_operand_partition_coords coords)
{
    rungi_grid_position position = {coords.row_part, coords.col_part, coords.owner};
    if (partition->operand == RUNG_CLUSTER_OPERAND_A)
        position = (rungi_grid_position){coords.row_part, coords.owner, coords.col_part};
    else if (partition->operand == RUNG_CLUSTER_OPERAND_B)
        position = (rungi_grid_position){coords.owner, coords.col_part, coords.row_part};
    return rungi_grid_rank_at(partition->grid, position);
}

rungi_rectangle rungi_operand_partition_part(const rungi_operand_partition *partition,
                                             rungi_operand_partition_coords coords)
{
    return (rungi_rectangle){rungi_part_start(partition->rows, partition->row_parts, coords.row_part),
                             rungi_part_start(partition->cols, partition->col_parts, coords.col_part),
                             rungi_part_size(partition->rows, partition->row_parts, coords.row_part),
                             rungi_part_size(partition->cols, partition->col_parts, coords.col_part)};
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

static axis_chunk_t axis_chunk_at(int64_t extent, int64_t parts, int64_t chunks, int64_t line)
{
    axis_chunk_t found = {.part = part_index_at(extent, parts, line)};
    int64_t first = rungi_part_start(extent, parts, found.part), size = rungi_part_size(extent, parts, found.part);
    found.chunk = part_index_at(size, chunks, line - first);
    found.start = first + rungi_part_start(size, chunks, found.chunk);
    found.end = first + rungi_part_start(size, chunks, found.chunk + 1);
    return found;
}

/* Arguments of rungi_operand_partition_visit(). */
typedef struct partition_visit {
    const rungi_operand_partition *partition;
    int64_t only_rank;
    rungi_share_rectangle_function visit;
    void *user;
} partition_visit_t;

/* Visits the elements of `of` that one owner has: a part of the first row, whole rows, and a part of the last row. */
static void visit_owner(const partition_visit_t *args, const axis_chunk_t *rows, const axis_chunk_t *cols,
                        rungi_rectangle of, rungi_operand_partition_coords coords)
{
    int64_t width = cols->end - cols->start, elements = (rows->end - rows->start) * width;
    int64_t low = rungi_part_start(elements, args->partition->owners, coords.owner);
    int64_t high = rungi_part_start(elements, args->partition->owners, coords.owner + 1);
    int64_t first = of.col - cols->start, last = first + of.cols, end = of.row - rows->start + of.rows;
    rungi_share_rectangle rectangle = {.rank = rank_of_coords(args->partition, coords),
                                       .stride = width,
                                       .chunk = rows->chunk * args->partition->col_chunks + cols->chunk};
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
    const rungi_operand_partition *partition = args->partition;
    int64_t width = cols->end - cols->start, elements = (rows->end - rows->start) * width;
    int64_t begin = (of.row - rows->start) * width + of.col - cols->start;
    int64_t end = (of.row + of.rows - 1 - rows->start) * width + of.col + of.cols - 1 - cols->start;
    rungi_operand_partition_coords coords = {.row_part = rows->part, .col_part = cols->part};
    if (args->only_rank >= 0) {
        rungi_operand_partition_coords own;
        if (rungi_operand_partition_find_rank(partition, args->only_rank, &own) && own.row_part == rows->part &&
            own.col_part == cols->part)
            visit_owner(args, rows, cols, of, own);
        return;
    }
    for (coords.owner = part_index_at(elements, partition->owners, begin);
         coords.owner < partition->owners && rungi_part_start(elements, partition->owners, coords.owner) <= end;
         coords.owner++)
        visit_owner(args, rows, cols, of, coords);
}

void rungi_operand_partition_visit(const rungi_operand_partition *partition, rungi_rectangle of, int64_t only_rank,
                                   rungi_share_rectangle_function visit, void *user)
{
    partition_visit_t args = {partition, only_rank, visit, user};
    for (int64_t row = of.row; of.cols > 0 && row < of.row + of.rows;) {
        axis_chunk_t rows = axis_chunk_at(partition->rows, partition->row_parts, partition->row_chunks, row);
        int64_t row_end = rungi_min(rows.end, of.row + of.rows);
        for (int64_t col = of.col; col < of.col + of.cols;) {
            axis_chunk_t cols = axis_chunk_at(partition->cols, partition->col_parts, partition->col_chunks, col);
            int64_t col_end = rungi_min(cols.end, of.col + of.cols);
            visit_chunk(&args, &rows, &cols, (rungi_rectangle){row, col, row_end - row, col_end - col});
            col = col_end;
        }
        row = row_end;
    }
}

rung_cluster_piece rungi_operand_partition_piece(const rungi_operand_partition *partition,
                                                 rungi_operand_partition_coords coords, int64_t index)
{
    rungi_rectangle part = rungi_operand_partition_part(partition, coords);
    int64_t s = index / partition->col_chunks, t = index % partition->col_chunks;
    rung_cluster_piece piece = {.row = part.row + rungi_part_start(part.rows, partition->row_chunks, s),
                                .col = part.col + rungi_part_start(part.cols, partition->col_chunks, t),
                                .rows = rungi_part_size(part.rows, partition->row_chunks, s),
                                .cols = rungi_part_size(part.cols, partition->col_chunks, t)};
    piece.first = rungi_part_start(piece.rows * piece.cols, partition->owners, coords.owner);
    piece.count = rungi_part_size(piece.rows * piece.cols, partition->owners, coords.owner);
    return piece;
}
