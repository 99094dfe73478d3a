/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_layout.c - see cluster_layout.h. */
#include "cluster/mpi/cluster_layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/fnv1a.h"
#include "base/try.h"

/* ---- Axes ---------------------------------------------------------------------------- */

int64_t rungi_cluster_layout_axis_start(const rungi_cluster_layout_axis *axis, int64_t block)
{
    if (axis->splits)
        return axis->splits[block];
    if (block == 0)
        return 0;
    if (block == axis->blocks)
        return axis->extent;
    return block * axis->block_size - axis->offset % axis->block_size;
}

int64_t rungi_cluster_layout_axis_block(const rungi_cluster_layout_axis *axis, int64_t line)
{
    if (!axis->splits)
        return (line + axis->offset % axis->block_size) / axis->block_size;
    int64_t low = 0, high = axis->blocks; /* find the last block that begins at or before the line */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (axis->splits[middle] <= line)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Cyclic axis: returns the process that owns a block, and the block's index in the memory of that process. */
static int64_t block_process(const rungi_cluster_layout_axis *axis, int64_t block)
{
    return (axis->source + axis->offset / axis->block_size + block) % axis->processes;
}

static int64_t local_index(const rungi_cluster_layout_axis *axis, int64_t block)
{
    int64_t line = axis->offset + rungi_cluster_layout_axis_start(axis, block);
    return line / axis->block_size / axis->processes * axis->block_size + line % axis->block_size;
}

static rungi_cluster_layout_axis cyclic_axis(int64_t extent, int64_t block, int64_t first, int64_t processes,
                                             int64_t source)
{
    rungi_cluster_layout_axis axis = {
        .extent = extent, .block_size = block, .offset = first, .processes = processes, .source = source};
    axis.blocks = extent == 0 ? 0 : (first % block + extent - 1) / block + 1;
    return axis;
}

/* ---- Blocks ----------------------------------------------------------------------------------- */

static bool is_transposed(const rungi_cluster_layout *layout)
{
    return layout->matrix->transposed != 0;
}

rungi_rectangle rungi_cluster_layout_block(const rungi_cluster_layout *layout, int64_t i, int64_t j)
{
    int64_t row = rungi_cluster_layout_axis_start(&layout->rows, i),
            col = rungi_cluster_layout_axis_start(&layout->cols, j);
    return (rungi_rectangle){row, col, rungi_cluster_layout_axis_start(&layout->rows, i + 1) - row,
                             rungi_cluster_layout_axis_start(&layout->cols, j + 1) - col};
}

/* Returns the index of a block in the caller's order. */
static int64_t caller_index(const rungi_cluster_layout *layout, int64_t i, int64_t j)
{
    return is_transposed(layout) ? j * layout->rows.blocks + i : i * layout->cols.blocks + j;
}

int64_t rungi_cluster_layout_owner(const rungi_cluster_layout *layout, int64_t i, int64_t j)
{
    const rung_cluster_matrix *matrix = layout->matrix;
    if (matrix->layout == RUNG_CLUSTER_LAYOUT_BLOCKS)
        return matrix->blocks.owners[caller_index(layout, i, j)];
    int64_t first = block_process(&layout->rows, i), second = block_process(&layout->cols, j);
    int64_t row = is_transposed(layout) ? second : first, col = is_transposed(layout) ? first : second;
    const rung_cluster_cyclic *cyclic = &matrix->cyclic;
    return cyclic->col_major_ranks ? col * cyclic->process_rows + row : row * cyclic->process_cols + col;
}

rung_matrix rungi_cluster_layout_view(const rungi_cluster_layout *layout, int64_t i, int64_t j)
{
    const rung_cluster_matrix *matrix = layout->matrix;
    if (matrix->layout == RUNG_CLUSTER_LAYOUT_BLOCKS) {
        rung_matrix view = matrix->blocks.views[layout->views[caller_index(layout, i, j)]];
        return is_transposed(layout) ? rung_matrix_transpose(view) : view;
    }
    rungi_rectangle block = rungi_cluster_layout_block(layout, i, j);
    int64_t row = local_index(&layout->rows, i), col = local_index(&layout->cols, j), leading = matrix->cyclic.ld;
    rung_matrix view = {.type = matrix->type, .rows = block.rows, .cols = block.cols, .data = matrix->data};
    view.row_stride = is_transposed(layout) ? leading : 1;
    view.col_stride = is_transposed(layout) ? 1 : leading;
    view.offset = row * view.row_stride + col * view.col_stride;
    return view;
}

/* ---- Validation ------------------------------------------------------------------------ */

static rung_status check_splits(const char *name, const char *lines, int64_t extent, int64_t parts,
                                const int64_t *splits)
{
    if (parts < 0 || (parts == 0 && extent > 0) || (parts > 0 && !splits))
        return rungi_invalid("%s: %lld %s are split into %lld parts; give at least one part, and its splits", name,
                             (long long)extent, lines, (long long)parts);
    for (int64_t i = 0; i < parts; i++)
        if (splits[i] > splits[i + 1])
            return rungi_invalid("%s: %s are split at %lld and then at %lld; splits must ascend", name, lines,
                                 (long long)splits[i], (long long)splits[i + 1]);
    if (parts > 0 && (splits[0] != 0 || splits[parts] != extent))
        return rungi_invalid("%s: the splits of %s go from %lld to %lld; they must go from 0 to %lld", name, lines,
                             (long long)splits[0], (long long)splits[parts], (long long)extent);
    return RUNG_OK;
}

/* Checks that a view fits its block and lies in memory. Views of C must not have overlapping elements either:
 * checking a multiply with k = 0 detects them. */
static rung_status check_view(const char *name, const rungi_cluster_layout *layout, rungi_rectangle block,
                              const rung_matrix *view)
{
    const rung_cluster_matrix *matrix = layout->matrix;
    if (view->rows != block.rows || view->cols != block.cols || view->type != matrix->type)
        return rungi_invalid("%s: a block is %lld x %lld %s and its view is %lld x %lld %s; they must be equal", name,
                             (long long)block.rows, (long long)block.cols, rung_type_name(matrix->type),
                             (long long)view->rows, (long long)view->cols, rung_type_name(view->type));
    if (view->buffer || (!view->data && block.rows > 0 && block.cols > 0))
        return rungi_invalid("%s: the view of a block has no memory of this process; set its data, and no buffer",
                             name);
    if (view->row_stride < 0 || view->col_stride < 0 || view->offset < 0)
        return rungi_invalid("%s: a view has a negative stride or offset", name);
    rung_problem problem = rung_problem_of(rung_matrix_of(matrix->type, view->rows, 0, NULL),
                                           rung_matrix_of(matrix->type, 0, view->cols, NULL), *view);
    return layout->operand == RUNG_CLUSTER_OPERAND_C ? rung_problem_check(&problem) : RUNG_OK;
}

static rung_status open_views(const char *name, int64_t ranks, rungi_cluster_layout *layout)
{
    const rung_cluster_blocks *blocks = &layout->matrix->blocks;
    int64_t count, own = 0;
    if (!rungi_checked_multiply(blocks->row_parts, blocks->col_parts, &count) || count > INT64_MAX / 16)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s: %lld x %lld blocks are too many", name,
                          (long long)blocks->row_parts, (long long)blocks->col_parts);
    if (blocks->view_count > 0 && !blocks->views)
        return rungi_invalid("%s: view_count is %lld and views is NULL", name, (long long)blocks->view_count);
    layout->views = malloc((size_t)(count + 1) * sizeof *layout->views);
    if (!layout->views)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "%s: no memory to list %lld blocks", name, (long long)count);
    if (count > 0 && !blocks->owners)
        return rungi_invalid("%s: there are %lld blocks and owners is NULL", name, (long long)count);
    for (int64_t i = 0; i < count; i++) {
        bool is_own = blocks->owners[i] == layout->rank;
        if (blocks->owners[i] < 0 || blocks->owners[i] >= ranks)
            return rungi_invalid("%s: a block belongs to rank %d; there are %lld ranks", name, blocks->owners[i],
                                 (long long)ranks);
        layout->views[i] = is_own ? own++ : -1;
        int64_t row = i / blocks->col_parts, col = i % blocks->col_parts;
        rungi_rectangle block = {.rows = blocks->row_splits[row + 1] - blocks->row_splits[row],
                                 .cols = blocks->col_splits[col + 1] - blocks->col_splits[col]};
        if (is_own && own <= blocks->view_count)
            TRY(check_view(name, layout, block, &blocks->views[own - 1]));
    }
    if (own != blocks->view_count)
        return rungi_invalid("%s: this rank has %lld blocks and view_count is %lld; give one view per block", name,
                             (long long)own, (long long)blocks->view_count);
    return RUNG_OK;
}

static rung_status open_blocks(const char *name, int64_t ranks, rungi_cluster_layout *layout)
{
    const rung_cluster_matrix *matrix = layout->matrix;
    const rung_cluster_blocks *blocks = &matrix->blocks;
    TRY(check_splits(name, "rows", matrix->rows, blocks->row_parts, blocks->row_splits));
    TRY(check_splits(name, "columns", matrix->cols, blocks->col_parts, blocks->col_splits));
    layout->rows = (rungi_cluster_layout_axis){
        .extent = matrix->rows, .blocks = blocks->row_parts, .splits = blocks->row_splits, .own_step = 1};
    layout->cols = (rungi_cluster_layout_axis){
        .extent = matrix->cols, .blocks = blocks->col_parts, .splits = blocks->col_splits, .own_step = 1};
    return open_views(name, ranks, layout);
}

/* Returns the number of rows or columns in the memory of a process. */
static int64_t local_extent(const rungi_cluster_layout_axis *axis, int64_t process)
{
    for (int64_t i = axis->blocks - 1; i >= 0 && i >= axis->blocks - axis->processes; i--)
        if (block_process(axis, i) == process)
            return local_index(axis, i) + rungi_cluster_layout_axis_start(axis, i + 1) -
                   rungi_cluster_layout_axis_start(axis, i);
    return 0;
}

/* Sets the first block and the step of this rank; there is no block if the process is outside the grid. */
static void set_own_blocks(rungi_cluster_layout_axis *axis, int64_t process)
{
    axis->own_step = axis->processes;
    axis->first_own = process >= axis->processes || axis->blocks == 0
                          ? axis->blocks
                          : (process - block_process(axis, 0) + axis->processes) % axis->processes;
}

/* Checks this rank's memory and its leading dimension. */
static rung_status check_memory(const char *name, rungi_cluster_layout *layout)
{
    const rung_cluster_cyclic *cyclic = &layout->matrix->cyclic;
    int64_t row = cyclic->col_major_ranks ? layout->rank % cyclic->process_rows : layout->rank / cyclic->process_cols;
    int64_t col = cyclic->col_major_ranks ? layout->rank / cyclic->process_rows : layout->rank % cyclic->process_cols;
    int64_t elements, bytes;
    set_own_blocks(&layout->rows, row);
    set_own_blocks(&layout->cols, col);
    if (row >= cyclic->process_rows || col >= cyclic->process_cols)
        return RUNG_OK;
    int64_t rows = local_extent(&layout->rows, row), cols = local_extent(&layout->cols, col);
    if (rows == 0 || cols == 0)
        return RUNG_OK;
    if (cyclic->ld < rows)
        return rungi_invalid(
            "%s: this rank has %lld rows and cyclic.ld is %lld; it must be at least the number of rows", name,
            (long long)rows, (long long)cyclic->ld);
    if (!rungi_checked_multiply(cyclic->ld, cols, &elements) ||
        !rungi_checked_multiply(elements, rung_type_size(layout->matrix->type), &bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "%s: %lld columns with the leading dimension %lld exceed the address space", name,
                          (long long)cols, (long long)cyclic->ld);
    if (!layout->matrix->data)
        return rungi_invalid("%s: this rank has %lld x %lld elements and data is NULL", name, (long long)rows,
                             (long long)cols);
    return RUNG_OK;
}

static rung_status open_cyclic(const char *name, int64_t ranks, rungi_cluster_layout *layout)
{
    const rung_cluster_matrix *matrix = layout->matrix;
    const rung_cluster_cyclic *cyclic = &matrix->cyclic;
    int64_t processes, end;
    if (cyclic->process_rows < 1 || cyclic->process_cols < 1 ||
        !rungi_checked_multiply(cyclic->process_rows, cyclic->process_cols, &processes) || processes > ranks)
        return rungi_invalid("%s: the process grid is %lld x %lld and there are %lld ranks; it must fit them", name,
                             (long long)cyclic->process_rows, (long long)cyclic->process_cols, (long long)ranks);
    if (cyclic->row_block < 1 || cyclic->col_block < 1 || cyclic->row_offset < 0 || cyclic->col_offset < 0 ||
        !rungi_checked_add(cyclic->row_offset, matrix->rows, &end) ||
        !rungi_checked_add(end, cyclic->row_block, &end) ||
        !rungi_checked_add(cyclic->col_offset, matrix->cols, &end) || !rungi_checked_add(end, cyclic->col_block, &end))
        return rungi_invalid("%s: blocks are %lld x %lld and the matrix begins at (%lld, %lld); block sizes must be "
                             "at least 1 and offsets at least 0",
                             name, (long long)cyclic->row_block, (long long)cyclic->col_block,
                             (long long)cyclic->row_offset, (long long)cyclic->col_offset);
    if (cyclic->row_source < 0 || cyclic->row_source >= cyclic->process_rows || cyclic->col_source < 0 ||
        cyclic->col_source >= cyclic->process_cols)
        return rungi_invalid("%s: the first block is on process (%lld, %lld), outside the process grid of %lld x %lld",
                             name, (long long)cyclic->row_source, (long long)cyclic->col_source,
                             (long long)cyclic->process_rows, (long long)cyclic->process_cols);
    layout->rows = cyclic_axis(matrix->rows, cyclic->row_block, cyclic->row_offset, cyclic->process_rows,
                               cyclic->row_source);
    layout->cols = cyclic_axis(matrix->cols, cyclic->col_block, cyclic->col_offset, cyclic->process_cols,
                               cyclic->col_source);
    return check_memory(name, layout);
}

rung_status rungi_cluster_layout_open(const rung_cluster_matrix *matrix, rung_cluster_operand operand, int64_t rank,
                                      int64_t ranks, rungi_cluster_layout *layout)
{
    const char name[] = {"ABC"[operand], 0};
    rung_status status = RUNG_OK;
    *layout = (rungi_cluster_layout){.matrix = matrix, .operand = operand, .rank = rank};
    if (matrix->rows < 0 || matrix->cols < 0)
        return rungi_invalid("%s is %lld x %lld; sizes must not be negative", name, (long long)matrix->rows,
                             (long long)matrix->cols);
    switch (matrix->layout) {
    case RUNG_CLUSTER_LAYOUT_SHARES:
        if (matrix->transposed)
            return rungi_invalid("%s: shares cannot be transposed; describe the matrix as it is multiplied", name);
        layout->rows.extent = matrix->rows;
        layout->cols.extent = matrix->cols;
        break;
    case RUNG_CLUSTER_LAYOUT_CYCLIC: status = open_cyclic(name, ranks, layout); break;
    case RUNG_CLUSTER_LAYOUT_BLOCKS: status = open_blocks(name, ranks, layout); break;
    default: status = rungi_invalid("%s: layout is %d; see rung_cluster_layout", name, (int)matrix->layout);
    }
    if (matrix->transposed) {
        rungi_cluster_layout_axis rows = layout->rows;
        layout->rows = layout->cols;
        layout->cols = rows;
    }
    return status;
}

void rungi_cluster_layout_close(rungi_cluster_layout *layout)
{
    free(layout->views);
    layout->views = NULL;
}

/* ---- Fingerprints ----------------------------------------------------------------- */

static uint64_t axis_fingerprint(const rungi_cluster_layout_axis *axis, uint64_t fingerprint)
{
    int64_t numbers[] = {axis->extent, axis->blocks, axis->block_size, axis->offset, axis->processes, axis->source};
    fingerprint = rungi_fnv1a(fingerprint, numbers, sizeof numbers);
    if (axis->splits)
        fingerprint = rungi_fnv1a(fingerprint, axis->splits, (size_t)(axis->blocks + 1) * sizeof *axis->splits);
    return fingerprint;
}

uint64_t rungi_cluster_layout_fingerprint(const rungi_cluster_layout *layout, uint64_t seed)
{
    const rung_cluster_matrix *matrix = layout->matrix;
    int64_t numbers[] = {
        matrix->type,   matrix->rows,
        matrix->cols,   matrix->transposed != 0,
        matrix->layout, matrix->layout == RUNG_CLUSTER_LAYOUT_CYCLIC && matrix->cyclic.col_major_ranks != 0};
    uint64_t fingerprint = rungi_fnv1a(seed, numbers, sizeof numbers);
    fingerprint = axis_fingerprint(&layout->cols, axis_fingerprint(&layout->rows, fingerprint));
    if (matrix->layout == RUNG_CLUSTER_LAYOUT_BLOCKS && layout->views)
        fingerprint = rungi_fnv1a(fingerprint, matrix->blocks.owners,
                                  (size_t)(layout->rows.blocks * layout->cols.blocks) * sizeof *matrix->blocks.owners);
    return fingerprint;
}
