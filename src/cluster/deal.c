/* SPDX-License-Identifier: Apache-2.0 */
/* deal.c - see deal.h. */
#include "cluster/deal.h"

#include "core/checked.h"

rungi_deal rungi_deal_of(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                         rung_cluster_operand operand)
{
    rungi_deal deal = {.operand = operand, .grid = grid, .row_chunks = 1, .col_chunks = 1};
    deal.rows = operand == RUNG_CLUSTER_OPERAND_B ? cluster->k : cluster->m;
    deal.cols = operand == RUNG_CLUSTER_OPERAND_A ? cluster->k : cluster->n;
    deal.row_parts = operand == RUNG_CLUSTER_OPERAND_B ? grid->pk : grid->pm;
    deal.col_parts = operand == RUNG_CLUSTER_OPERAND_A ? grid->pk : grid->pn;
    deal.hands = operand == RUNG_CLUSTER_OPERAND_A ? grid->pn : operand == RUNG_CLUSTER_OPERAND_B ? grid->pm : grid->pk;
    if (operand != RUNG_CLUSTER_OPERAND_B)
        deal.row_chunks = grid->a_chunks;
    if (operand != RUNG_CLUSTER_OPERAND_A)
        deal.col_chunks = grid->b_chunks;
    return deal;
}

int rungi_deal_seat(const rungi_deal *deal, int64_t rank, rungi_seat *seat)
{
    rungi_place at = rungi_place_of(deal->grid, rank);
    switch (deal->operand) {
    case RUNG_CLUSTER_OPERAND_A: *seat = (rungi_seat){at.i, at.l, at.j}; break;
    case RUNG_CLUSTER_OPERAND_B: *seat = (rungi_seat){at.l, at.j, at.i}; break;
    default: *seat = (rungi_seat){at.i, at.j, at.l};
    }
    return rank < rungi_grid_ranks(deal->grid);
}

static int64_t rank_at(const rungi_deal *deal, rungi_seat seat)
{
    rungi_place at = {seat.row_part, seat.col_part, seat.hand};
    if (deal->operand == RUNG_CLUSTER_OPERAND_A)
        at = (rungi_place){seat.row_part, seat.hand, seat.col_part};
    else if (deal->operand == RUNG_CLUSTER_OPERAND_B)
        at = (rungi_place){seat.hand, seat.col_part, seat.row_part};
    return rungi_rank_at(deal->grid, at);
}

rungi_rectangle rungi_deal_part(const rungi_deal *deal, rungi_seat seat)
{
    return (rungi_rectangle){rungi_part_start(deal->rows, deal->row_parts, seat.row_part),
                             rungi_part_start(deal->cols, deal->col_parts, seat.col_part),
                             rungi_part_size(deal->rows, deal->row_parts, seat.row_part),
                             rungi_part_size(deal->cols, deal->col_parts, seat.col_part)};
}

/* The part that has this line, of those that have any. */
static int64_t part_with(int64_t extent, int64_t parts, int64_t line)
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

/* A chunk along one direction. */
typedef struct stretch {
    int64_t part, chunk, start, end;
} stretch_t;

static stretch_t stretch_with(int64_t extent, int64_t parts, int64_t chunks, int64_t line)
{
    stretch_t found = {.part = part_with(extent, parts, line)};
    int64_t first = rungi_part_start(extent, parts, found.part), size = rungi_part_size(extent, parts, found.part);
    found.chunk = part_with(size, chunks, line - first);
    found.start = first + rungi_part_start(size, chunks, found.chunk);
    found.end = first + rungi_part_start(size, chunks, found.chunk + 1);
    return found;
}

typedef struct walk {
    const rungi_deal *deal;
    int64_t only;
    rungi_patch_function visit;
    void *user;
} walk_t;

/* What one hand has of some rows and columns of a chunk: parts of a first and of a last row, whole rows between. */
static void visit_hand(const walk_t *walk, const stretch_t *rows, const stretch_t *cols, rungi_rectangle of,
                       rungi_seat seat)
{
    int64_t width = cols->end - cols->start, elements = (rows->end - rows->start) * width;
    int64_t low = rungi_part_start(elements, walk->deal->hands, seat.hand);
    int64_t high = rungi_part_start(elements, walk->deal->hands, seat.hand + 1);
    int64_t first = of.col - cols->start, last = first + of.cols, end = of.row - rows->start + of.rows;
    rungi_patch patch = {.rank = rank_at(walk->deal, seat),
                         .stride = width,
                         .chunk = rows->chunk * walk->deal->col_chunks + cols->chunk};
    for (int64_t row = rungi_larger(of.row - rows->start, low / width); row < end && row * width + first < high;) {
        int64_t from = rungi_larger(first, low - row * width), to = rungi_smaller(last, high - row * width), count = 1;
        if (from == first && to == last)
            count = rungi_smaller(end, (high - last) / width + 1) - row;
        if (from < to) {
            patch.at = (rungi_rectangle){rows->start + row, cols->start + from, count, to - from};
            patch.offset = row * width + from - low;
            walk->visit(walk->user, &patch);
        }
        row += count;
    }
}

/* A rectangle within one chunk. */
static void visit_chunk(const walk_t *walk, const stretch_t *rows, const stretch_t *cols, rungi_rectangle of)
{
    const rungi_deal *deal = walk->deal;
    int64_t width = cols->end - cols->start, elements = (rows->end - rows->start) * width;
    int64_t begin = (of.row - rows->start) * width + of.col - cols->start;
    int64_t end = (of.row + of.rows - 1 - rows->start) * width + of.col + of.cols - 1 - cols->start;
    rungi_seat seat = {.row_part = rows->part, .col_part = cols->part};
    if (walk->only >= 0) {
        rungi_seat own;
        if (rungi_deal_seat(deal, walk->only, &own) && own.row_part == rows->part && own.col_part == cols->part)
            visit_hand(walk, rows, cols, of, own);
        return;
    }
    for (seat.hand = part_with(elements, deal->hands, begin);
         seat.hand < deal->hands && rungi_part_start(elements, deal->hands, seat.hand) <= end; seat.hand++)
        visit_hand(walk, rows, cols, of, seat);
}

void rungi_deal_visit(const rungi_deal *deal, rungi_rectangle of, int64_t only, rungi_patch_function visit, void *user)
{
    walk_t walk = {deal, only, visit, user};
    for (int64_t row = of.row; of.cols > 0 && row < of.row + of.rows;) {
        stretch_t rows = stretch_with(deal->rows, deal->row_parts, deal->row_chunks, row);
        int64_t row_end = rungi_smaller(rows.end, of.row + of.rows);
        for (int64_t col = of.col; col < of.col + of.cols;) {
            stretch_t cols = stretch_with(deal->cols, deal->col_parts, deal->col_chunks, col);
            int64_t col_end = rungi_smaller(cols.end, of.col + of.cols);
            visit_chunk(&walk, &rows, &cols, (rungi_rectangle){row, col, row_end - row, col_end - col});
            col = col_end;
        }
        row = row_end;
    }
}

rung_cluster_piece rungi_deal_piece(const rungi_deal *deal, rungi_seat seat, int64_t index)
{
    rungi_rectangle part = rungi_deal_part(deal, seat);
    int64_t s = index / deal->col_chunks, t = index % deal->col_chunks;
    rung_cluster_piece piece = {.row = part.row + rungi_part_start(part.rows, deal->row_chunks, s),
                                .col = part.col + rungi_part_start(part.cols, deal->col_chunks, t),
                                .rows = rungi_part_size(part.rows, deal->row_chunks, s),
                                .cols = rungi_part_size(part.cols, deal->col_chunks, t)};
    piece.first = rungi_part_start(piece.rows * piece.cols, deal->hands, seat.hand);
    piece.count = rungi_part_size(piece.rows * piece.cols, deal->hands, seat.hand);
    return piece;
}
