/* SPDX-License-Identifier: Apache-2.0 */
/* access_counters.c - the memory access counters against counts made by hand.
 *
 * Each number below follows from the addresses of 32 lanes, as the comment beside it says: how
 * many sectors of 32 bytes and lines of 128 they lie in, and how often the bank that is wanted
 * most is wanted (32 banks of one word, 4 bytes). Lines are found by what stands on them, so
 * that a comment may be added to a kernel. All matrices are dense, and begin at multiples of
 * 128 bytes. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "explain/access_counters.h"

/* ---- Looking ------------------------------------------------------------------------------------- */

typedef struct view {
    lab_access_counters counters;
    char *source;
} view_t;

static char *copy_of(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    assert_non_null(copy);
    return strcpy(copy, text);
}

static char *read_file(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return copy_of(text);
}

static view_t count_kernel(const char *kernel, const char *parameters, lab_type_pair product, int64_t m, int64_t n,
                           int64_t k)
{
    lab_access_request look = {.kernel = kernel,
                               .parameters = parameters,
                               .product = product,
                               .compute = RUNG_COMPUTE_STRICT,
                               .m = m,
                               .n = n,
                               .k = k};
    view_t view;
    char why[1000];
    rung_kernel *found;
    if (!lab_access_counters_collect(&look, &view.counters, why, sizeof why))
        fail_msg("%s", why);
    if (strchr(kernel, '/')) {
        view.source = read_file(kernel);
    } else {
        assert_int_equal(rung_kernel_find(NULL, "opencl", kernel, &found), RUNG_OK);
        view.source = copy_of(rung_kernel_describe(found)->source);
    }
    return view;
}

/* The number of the first line that has this text. */
static int64_t line_of(const view_t *view, const char *text)
{
    const char *found = strstr(view->source, text);
    int64_t line = 1;
    if (!found)
        fail_msg("no line has: %s", text);
    for (const char *at = view->source; at < found; at++)
        line += *at == '\n';
    return line;
}

/* ---- Comparing ----------------------------------------------------------------------------------- */

/* All differences of a kernel are printed before its test fails. */
static int differences;

static void compare(const char *what, const char *where, int64_t seen, int64_t expected)
{
    if (seen == expected)
        return;
    print_error("%s at \"%s\": %lld, expected %lld\n", what, where, (long long)seen, (long long)expected);
    differences++;
}

static void leave(view_t *view)
{
    lab_access_counters_free(&view->counters);
    free(view->source);
    int found = differences;
    differences = 0;
    assert_int_equal(found, 0);
}

/* `requests` of full warps, each with so many sectors and lines, and the fewest sectors. */
static void expect_global(const view_t *view, const char *text, lab_access_kind kind, const char *array, int64_t width,
                          int64_t requests, int64_t sectors, int64_t lines, int64_t ideal)
{
    lab_access_line seen = lab_access_counters_sum(&view->counters, line_of(view, text), kind, array);
    compare("requests", text, seen.requests, requests);
    compare("width", text, seen.width, width);
    compare("lanes", text, seen.lanes, requests * 32);
    compare("partial", text, seen.partial, 0);
    compare("bytes", text, seen.bytes, requests * 32 * width);
    compare("sectors", text, seen.sectors, requests * sectors);
    compare("lines", text, seen.lines, requests * lines);
    compare("sectors_ideal", text, seen.sectors_ideal, requests * ideal);
}

/* ... each with so many wavefronts, and the fewest. */
static void expect_shared(const view_t *view, const char *text, lab_access_kind kind, const char *array, int64_t width,
                          int64_t requests, int64_t wavefronts, int64_t ideal)
{
    lab_access_line seen = lab_access_counters_sum(&view->counters, line_of(view, text), kind, array);
    compare("requests", text, seen.requests, requests);
    compare("width", text, seen.width, width);
    compare("lanes", text, seen.lanes, requests * 32);
    compare("partial", text, seen.partial, 0);
    compare("wavefronts", text, seen.wavefronts, requests * wavefronts);
    compare("wavefronts_ideal", text, seen.wavefronts_ideal, requests * ideal);
}

/* Nothing is counted that no expectation was written for. */
static void expect_all_requests(const view_t *view, int64_t requests)
{
    int64_t seen = 0;
    for (int64_t i = 0; i < view->counters.line_count; i++)
        seen += view->counters.lines[i].requests;
    compare("requests of all lines", view->counters.kernel, seen, requests);
}

static void expect_buffer(const view_t *view, const char *name, int64_t by_blocks, int64_t lines_by_blocks,
                          int64_t at_all)
{
    for (int64_t i = 0; i < view->counters.buffer_count; i++) {
        const lab_access_buffer *buffer = &view->counters.buffers[i];
        if (strcmp(buffer->name, name) != 0)
            continue;
        compare("sectors read by blocks", name, buffer->block_sectors_read, by_blocks);
        compare("lines read by blocks", name, buffer->block_lines_read, lines_by_blocks);
        compare("sectors read", name, buffer->sectors_read, at_all);
        return;
    }
    fail_msg("no buffer is called %s", name);
}

static void expect_barriers(const view_t *view, const char *text, int64_t passed)
{
    for (int64_t i = 0; i < view->counters.barrier_count; i++)
        if (view->counters.barriers[i].line == line_of(view, text)) {
            compare("barriers", text, view->counters.barriers[i].passed, passed);
            return;
        }
    fail_msg("no barrier at %s", text);
}

static lab_access_branch branch_at(const view_t *view, const char *text)
{
    for (int64_t i = 0; i < view->counters.branch_count; i++)
        if (view->counters.branches[i].line == line_of(view, text))
            return view->counters.branches[i];
    fail_msg("no branch at %s", text);
    return (lab_access_branch){0};
}

/* ---- The ladder ----------------------------------------------------------------------------------- */

/* Two blocks of 32 warps, 16 steps. Lane l has row l, and its warp w column w (+ 32 in the
 * second block).
 *   A  a row is 64 bytes: 32 lanes in 32 sectors, two rows a line. 128 bytes would fit 4.
 *   B  one element for all lanes: 1 sector, 1 line, and no less.
 *   C  a row is 256 bytes: 32 sectors in 32 lines, where 4 would do.
 * A is 32 x 64 bytes = 64 sectors, 16 lines, and read by both blocks; of B each reads 16 rows
 * of 128 bytes, 64 sectors and 16 lines. */
static void naive(void **state)
{
    view_t view = count_kernel("01", "BLOCK=32", lab_type_pair_of(RUNG_F32, RUNG_F32), 32, 64, 16);
    (void)state;
    expect_global(&view, "sum += widen(a[at(", LAB_ACCESS_GLOBAL_LOAD, "a", 4, 2 * 32 * 16, 32, 16, 4);
    expect_global(&view, "sum += widen(a[at(", LAB_ACCESS_GLOBAL_LOAD, "b", 4, 2 * 32 * 16, 1, 1, 1);
    expect_global(&view, "store(&c[at(", LAB_ACCESS_GLOBAL_STORE, "c", 4, 2 * 32, 32, 32, 4);
    expect_all_requests(&view, 2 * (32 * 16 + 32 * 16 + 32));
    expect_buffer(&view, "a", 2 * 64, 2 * 16, 64);
    expect_buffer(&view, "b", 2 * 64, 2 * 16, 128);
    assert_int_equal(view.counters.totals.blocks, 2);
    assert_int_equal(view.counters.totals.warps, 64);
    assert_int_equal(view.counters.totals.idle_lanes, 0);
    assert_int_equal(view.counters.totals.barriers, 0);
    assert_int_equal(view.counters.totals.divergent, 0);
    assert_int_equal(view.counters.totals.multiply_adds, 32 * 64 * 16);
    assert_string_equal(view.counters.parameters, "BLOCK=32");
    leave(&view);
}

/* One block of 32 warps, 16 steps, four at a time. Warp w has row w, lane l column l.
 *   A  one element for all lanes. B, C  32 floats side by side: 4 sectors, 1 line. */
static void coalesced(void **state)
{
    view_t view = count_kernel("02", "BLOCK=32,UNROLL=4", lab_type_pair_of(RUNG_F32, RUNG_F32), 32, 32, 16);
    (void)state;
    expect_global(&view, "sum += widen(a[at(a_view, row, i + step", LAB_ACCESS_GLOBAL_LOAD, "a", 4, 32 * 16, 1, 1, 1);
    expect_global(&view, "sum += widen(a[at(a_view, row, i + step", LAB_ACCESS_GLOBAL_LOAD, "b", 4, 32 * 16, 4, 1, 4);
    expect_global(&view, "store(&c[at(", LAB_ACCESS_GLOBAL_STORE, "c", 4, 32, 4, 1, 4);
    expect_all_requests(&view, 32 * 16 * 2 + 32);
    leave(&view);
}

/* One block of 8 warps, 2 tiles. A warp has two rows of 16.
 *   A        two rows of 16 floats, 128 bytes apart: 2 sectors in each of 2 lines
 *   B        two rows of 64 bytes, one behind the other: 4 sectors, 1 line
 *   written  as threads stand: 32 words side by side, 1 wavefront
 *   read     of A four words at once, of two rows: 16 bytes take 2 wavefronts where neighbours
 *            read the same ones; of B 16 words side by side, twice: 1 */
static void shared16(void **state)
{
    view_t view = count_kernel("04", "TILE=16", lab_type_pair_of(RUNG_F32, RUNG_F32), 16, 16, 32);
    (void)state;
    expect_global(&view, "a_tile[tile_row][tile_col] =", LAB_ACCESS_GLOBAL_LOAD, "a", 4, 8 * 2, 4, 2, 4);
    expect_global(&view, "b_tile[tile_row][tile_col] =", LAB_ACCESS_GLOBAL_LOAD, "b", 4, 8 * 2, 4, 1, 4);
    expect_shared(&view, "a_tile[tile_row][tile_col] =", LAB_ACCESS_SHARED_STORE, "a_tile", 4, 8 * 2, 1, 1);
    expect_shared(&view, "b_tile[tile_row][tile_col] =", LAB_ACCESS_SHARED_STORE, "b_tile", 4, 8 * 2, 1, 1);
    expect_shared(&view, "sum += widen(a_tile", LAB_ACCESS_SHARED_LOAD, "a_tile", 16, 8 * 2 * 4, 2, 2);
    expect_shared(&view, "sum += widen(a_tile", LAB_ACCESS_SHARED_LOAD, "b_tile", 4, 8 * 2 * 16, 1, 1);
    expect_global(&view, "store(&c[at(", LAB_ACCESS_GLOBAL_STORE, "c", 4, 8, 4, 1, 4);
    expect_all_requests(&view, 8 * 2 * 4 + 8 * 2 * (4 + 16) + 8);
    expect_barriers(&view, "__syncthreads();\n\n", 2);
    assert_int_equal(view.counters.totals.barriers, 4);
    leave(&view);
}

/* A warp has one row of 32: of A four words at once, of B 32 side by side. */
static void shared32(void **state)
{
    view_t view = count_kernel("04", NULL, lab_type_pair_of(RUNG_F32, RUNG_F32), 32, 32, 32);
    (void)state;
    expect_shared(&view, "a_tile[tile_row][tile_col] =", LAB_ACCESS_SHARED_STORE, "a_tile", 4, 32, 1, 1);
    expect_shared(&view, "sum += widen(a_tile", LAB_ACCESS_SHARED_LOAD, "a_tile", 16, 32 * 8, 2, 2);
    expect_shared(&view, "sum += widen(a_tile", LAB_ACCESS_SHARED_LOAD, "b_tile", 4, 32 * 32, 1, 1);
    assert_string_equal(view.counters.parameters, "TILE=32");
    leave(&view);
}

/* One block of 32 warps, one tile. A warp computes 4 x 8 of C. Lane l: row l % 2 + 2 (l / 16), column c = l / 2 % 8.
 * Rows of the tiles are 36 words, and B's tile is transposed.
 *   A        loaded and written as in 04: 32 floats side by side
 *   B        4 rows of 32 bytes, 128 bytes apart: 4 sectors, 4 lines; written to word 36 c + k, bank 4 c + k, with k
 *            from 0 to 3: 32 banks, 1 wavefront
 *   A read   16 bytes of 4 rows, the same for lanes l and l ^ 2. Half a warp has 2 rows, 4 banks apart: 1 wavefront
 *            each, 2 for the warp
 *   B read   16 bytes of 8 columns, the same for lanes l and l ^ 1. Half a warp has 8 columns, 4 banks apart: 2
 *   C        4 rows of 32 bytes */
static void padded32(void **state)
{
    view_t view = count_kernel("05", NULL, lab_type_pair_of(RUNG_F32, RUNG_F32), 32, 32, 32);
    (void)state;
    expect_global(&view, "in_t a_next =", LAB_ACCESS_GLOBAL_LOAD, "a", 4, 32, 4, 1, 4);
    expect_global(&view, "in_t b_next =", LAB_ACCESS_GLOBAL_LOAD, "b", 4, 32, 4, 4, 4);
    expect_shared(&view, "a_tile[load_row][load_col] =", LAB_ACCESS_SHARED_STORE, "a_tile", 4, 32, 1, 1);
    expect_shared(&view, "b_tile[tile_col][tile_row] =", LAB_ACCESS_SHARED_STORE, "b_tile", 4, 32, 1, 1);
    expect_shared(&view, "sum += widen(a_tile", LAB_ACCESS_SHARED_LOAD, "a_tile", 16, 32 * 8, 2, 2);
    expect_shared(&view, "sum += widen(a_tile", LAB_ACCESS_SHARED_LOAD, "b_tile", 16, 32 * 8, 2, 2);
    expect_global(&view, "store(&c[at(", LAB_ACCESS_GLOBAL_STORE, "c", 4, 32, 4, 4, 4);
    leave(&view);
}

/* Without padding, rows are 32 words: all rows begin in bank 0.
 *   B written  8 columns in each of 4 banks: 8 wavefronts
 *   A read     2 rows per half warp meet: 4; B read: 8 columns per half warp meet: 16 */
static void padded_by_0(void **state)
{
    view_t view = count_kernel("05", "PAD=0", lab_type_pair_of(RUNG_F32, RUNG_F32), 32, 32, 32);
    (void)state;
    expect_shared(&view, "b_tile[tile_col][tile_row] =", LAB_ACCESS_SHARED_STORE, "b_tile", 4, 32, 8, 1);
    expect_shared(&view, "sum += widen(a_tile", LAB_ACCESS_SHARED_LOAD, "a_tile", 16, 32 * 8, 4, 2);
    expect_shared(&view, "sum += widen(a_tile", LAB_ACCESS_SHARED_LOAD, "b_tile", 16, 32 * 8, 16, 2);
    leave(&view);
}

/* Rows of 33 words are not aligned to 16 bytes: one word per load, of rows or columns in adjacent banks. */
static void padded_by_1(void **state)
{
    view_t view = count_kernel("05", "PAD=1", lab_type_pair_of(RUNG_F32, RUNG_F32), 32, 32, 32);
    (void)state;
    expect_shared(&view, "sum += widen(a_tile", LAB_ACCESS_SHARED_LOAD, "a_tile", 4, 32 * 32, 1, 1);
    expect_shared(&view, "sum += widen(a_tile", LAB_ACCESS_SHARED_LOAD, "b_tile", 4, 32 * 32, 1, 1);
    leave(&view);
}

/* Tiles of 16 by 20. A's two rows are written to words 0 to 15 and 20 to 35, and 0 to 3 and 32 to 35 are in the same
 * banks: 2 wavefronts. B's 8 columns are 20 words apart, which are banks 0, 20, 8, 28, 16, 4, 24 and 12: 1 wavefront to
 * write 4 of k, and no conflict to read 16 bytes. */
static void padded16(void **state)
{
    view_t view = count_kernel("05", "tile16", lab_type_pair_of(RUNG_F32, RUNG_F32), 16, 16, 16);
    (void)state;
    expect_shared(&view, "a_tile[load_row][load_col] =", LAB_ACCESS_SHARED_STORE, "a_tile", 4, 8, 2, 1);
    expect_shared(&view, "b_tile[tile_col][tile_row] =", LAB_ACCESS_SHARED_STORE, "b_tile", 4, 8, 1, 1);
    expect_shared(&view, "sum += widen(a_tile", LAB_ACCESS_SHARED_LOAD, "a_tile", 16, 8 * 4, 2, 2);
    expect_shared(&view, "sum += widen(a_tile", LAB_ACCESS_SHARED_LOAD, "b_tile", 16, 8 * 4, 2, 2);
    leave(&view);
}

/* One block of 2 warps, 2 tiles of 64 x 8, each thread 8 x 8 of C. Lane l: g = l / 8, c = l % 8.
 *   A        a warp brings 4 rows of 32 bytes, 64 bytes apart: 4 sectors, 2 lines
 *   B        32 floats side by side
 *   written  as threads stand
 *   A read   words 64 g + 8 i + step, two steps at once, since two are unrolled: half a warp has two g, whose
 *            words are in the same bank: 4 wavefronts, where 2 would do
 *   B read   words 8 c + j, four at once: c and c + 4 meet in each of 4 passes, 8 wavefronts
 *   C        4 rows, 8 floats in each, 32 bytes apart: 32 sectors, a row of 256 bytes is 2 lines */
static void tile2d(void **state)
{
    view_t view = count_kernel("07", "BM=64,BN=64,BK=8,TM=8,TN=8", lab_type_pair_of(RUNG_F32, RUNG_F32), 64, 64, 16);
    (void)state;
    expect_global(&view, "a_tile[row * BK + p] =", LAB_ACCESS_GLOBAL_LOAD, "a", 4, 2 * 8 * 2, 4, 2, 4);
    expect_global(&view, "b_tile[p * BN + col] =", LAB_ACCESS_GLOBAL_LOAD, "b", 4, 2 * 8 * 2, 4, 1, 4);
    expect_shared(&view, "a_tile[row * BK + p] =", LAB_ACCESS_SHARED_STORE, "a_tile", 4, 2 * 8 * 2, 1, 1);
    expect_shared(&view, "b_tile[p * BN + col] =", LAB_ACCESS_SHARED_STORE, "b_tile", 4, 2 * 8 * 2, 1, 1);
    expect_shared(&view, "a_fragment[i] = widen(", LAB_ACCESS_SHARED_LOAD, "a_tile", 8, 2 * 2 * 4 * 8, 4, 2);
    expect_shared(&view, "b_fragment[j] = widen(", LAB_ACCESS_SHARED_LOAD, "b_tile", 16, 2 * 16 * 2, 8, 4);
    expect_global(&view, "epilogue_store(&output,", LAB_ACCESS_GLOBAL_STORE, "c", 4, 2 * 64, 32, 8, 4);
    expect_all_requests(&view, 2 * (8 * 2 * 4 + 32 * 2 + 16 * 2 + 64));
    assert_int_equal(view.counters.totals.multiply_adds, 64 * 64 * 16);
    leave(&view);
}

/* The same tiles by 16 bytes; two pieces of each tile a thread. g and c as before.
 *   A        two pieces a row: 16 rows of 32 bytes, 64 apart: 16 sectors, 8 lines
 *   written  turned, word by word, into rows of 68 words: a lane's word is 68 (4 (l % 2) + e) + l / 2, and 4 * 68
 *            is 16 more than a multiple of 32: even lanes have banks 0 to 15, odd ones 16 to 31: 1 wavefront
 *   B        two rows of 256 bytes, one behind the other: 16 sectors, 4 lines; written 128 bytes
 *            a pass of 8 lanes, 1 wavefront each, 4 for the warp
 *   A read   by 8 lanes the same 16 bytes: pairs of lanes share, 2
 *   B read   16 bytes side by side: 8 lanes have 128 bytes: 4
 *   C        4 rows of 128 bytes side by side: 16 sectors, 4 lines */
static void vector(void **state)
{
    view_t view = count_kernel("08", "BM=64,BN=64,BK=8,TM=8,TN=8", lab_type_pair_of(RUNG_F32, RUNG_F32), 64, 64, 16);
    (void)state;
    expect_global(&view, "load_tile(&a_tile[dk", LAB_ACCESS_GLOBAL_LOAD, "a", 16, 2 * 2 * 2, 16, 8, 16);
    expect_shared(&view, "load_tile(&a_tile[dk", LAB_ACCESS_SHARED_STORE, "a_tile", 4, 4 * 2 * 2 * 2, 1, 1);
    expect_global(&view, "load_tile(b_tile,", LAB_ACCESS_GLOBAL_LOAD, "b", 16, 2 * 2 * 2, 16, 4, 16);
    expect_shared(&view, "load_tile(b_tile,", LAB_ACCESS_SHARED_STORE, "b_tile", 16, 2 * 2 * 2, 4, 4);
    expect_shared(&view, "load4_shared(&a_fragment[i]", LAB_ACCESS_SHARED_LOAD, "a_tile", 16, 2 * 16 * 2, 2, 2);
    expect_shared(&view, "load4_shared(&b_fragment[j]", LAB_ACCESS_SHARED_LOAD, "b_tile", 16, 2 * 16 * 2, 4, 4);
    expect_global(&view, "epilogue_store4(&output,", LAB_ACCESS_GLOBAL_STORE, "c", 16, 2 * 16, 16, 4, 16);
    expect_all_requests(&view, 8 + 32 + 8 + 8 + 64 + 64 + 32);
    leave(&view);
}

/* One block of 2 warps, 2 tiles of 32 x 8, each thread 4 x 4 of C and one piece of each tile.
 *   A        16 rows of 32 bytes, 64 apart: 16 sectors, 8 lines
 *   written  turned into rows of 36 words: a lane's word is 36 (4 (l % 2) + e) + l / 2, and
 *            4 * 36 is 16 more than a multiple of 32: even lanes have banks 0 to 15, odd ones
 *            16 to 31, from 36 e on: 1 wavefront
 *   B        4 rows of 128 bytes: 16 sectors, 4 lines; 4 wavefronts, the fewest for 16 bytes
 *   A read   by 8 lanes the same 16 bytes: 2; B 128 bytes, the same for lanes n and n^2: 2
 *   C        4 rows of 128 bytes, each a line */
static void warptile(void **state)
{
    view_t view = count_kernel("09", "tiny", lab_type_pair_of(RUNG_F32, RUNG_F32), 32, 32, 16);
    (void)state;
    expect_global(&view, "load_tile(&a_tile[dk", LAB_ACCESS_GLOBAL_LOAD, "a", 16, 2 * 2, 16, 8, 16);
    expect_shared(&view, "load_tile(&a_tile[dk", LAB_ACCESS_SHARED_STORE, "a_tile", 4, 4 * 2 * 2, 1, 1);
    expect_global(&view, "load_tile(b_tile,", LAB_ACCESS_GLOBAL_LOAD, "b", 16, 2 * 2, 16, 4, 16);
    expect_shared(&view, "load_tile(b_tile,", LAB_ACCESS_SHARED_STORE, "b_tile", 16, 2 * 2, 4, 4);
    expect_shared(&view, "load4_shared(&a_fragment[i]", LAB_ACCESS_SHARED_LOAD, "a_tile", 16, 2 * 16, 2, 2);
    expect_shared(&view, "load4_shared(&b_fragment[j]", LAB_ACCESS_SHARED_LOAD, "b_tile", 16, 2 * 16, 2, 2);
    expect_global(&view, "epilogue_store4(&output,", LAB_ACCESS_GLOBAL_STORE, "c", 16, 2 * 4, 16, 4, 16);
    expect_all_requests(&view, 4 + 16 + 4 + 4 + 32 + 32 + 8);
    leave(&view);
}

/* With tiles 16 deep, as 09's default has them, a row of A is four pieces. Brought at once, a
 * lane's word would be 36 (4 (l % 4) + e) + l / 4, and 8 * 36 is a multiple of 32: pieces 0 and 2
 * would meet, 1 and 3. In parts of two pieces it is as above. */
static void warptile_deep(void **state)
{
    view_t view = count_kernel("09", "BM=64,BN=64,BK=16,WM=64,WN=64,TM=8,TN=16", lab_type_pair_of(RUNG_F32, RUNG_F32),
                               64, 64, 16);
    (void)state;
    expect_shared(&view, "load_tile(&a_tile[dk", LAB_ACCESS_SHARED_STORE, "a_tile", 4, 4 * 8, 1, 1);
    leave(&view);
}

/* 09's tiny tiles, copied on the way: A word by word, since it is turned. B's tile has rows of
 * 36 words too, of which a pass reads or writes 32 side by side.
 *   A   8 words of 4 rows of a tile, 64 bytes apart: 4 sectors, 2 lines; a lane's word is 36 (l % 8) + l / 8
 * The operands of a step are read one step ahead, the first of a tile before the last step of the tile before. */
static void pipeline(void **state)
{
    view_t view = count_kernel("10", "tiny", lab_type_pair_of(RUNG_F32, RUNG_F32), 32, 32, 16);
    (void)state;
    expect_global(&view, "copy_async(copies, to, from", LAB_ACCESS_GLOBAL_LOAD, "a", 4, 2 * 4 * 2, 4, 2, 4);
    expect_shared(&view, "copy_async(copies, to, from", LAB_ACCESS_SHARED_STORE, "stages", 4, 2 * 4 * 2, 1, 1);
    expect_global(&view, "copy4_async(copies, to, from", LAB_ACCESS_GLOBAL_LOAD, "b", 16, 2 * 2, 16, 4, 16);
    expect_shared(&view, "copy4_async(copies, to, from", LAB_ACCESS_SHARED_STORE, "stages", 16, 2 * 2, 4, 4);
    expect_shared(&view, "load4_shared(&a_fragment[i], &a_row", LAB_ACCESS_SHARED_LOAD, "stages", 16, 2 * 16, 2, 2);
    expect_shared(&view, "load4_shared(&b_fragment[j], &b_row", LAB_ACCESS_SHARED_LOAD, "stages", 16, 2 * 16, 2, 2);
    expect_global(&view, "epilogue_store4(&output,", LAB_ACCESS_GLOBAL_STORE, "c", 16, 2 * 4, 16, 4, 16);
    expect_all_requests(&view, 2 * (8 + 8 + 2 + 2) + 32 + 32 + 8);
    expect_barriers(&view, "__syncthreads();\n                loader_advance", 2);
    assert_int_equal(view.counters.totals.multiply_adds, 32 * 32 * 16);
    leave(&view);
}

/* F16, one block of 2 warps, one tile of 32 deep, which is two steps; a warp has 16 x 16 of C. As ptxas compiles them, wmma.load is one
 * LDSM.x4 of 16 bytes per lane, and wmma.store is four stores of two sums. */
static void wmma(void **state)
{
    view_t view = count_kernel("11", "tiny", lab_type_pair_of(RUNG_F16, RUNG_F16), 16, 32, 32);
    lab_access_line a = lab_access_counters_sum(&view.counters, line_of(&view, "wmma_load(&a_fragment"),
                                                LAB_ACCESS_SHARED_LOAD, "a_tile");
    lab_access_line c = lab_access_counters_sum(&view.counters, line_of(&view, "wmma_store(&c_tile"),
                                                LAB_ACCESS_SHARED_STORE, "c_tile");
    (void)state;
    compare("requests", "wmma_load", a.requests, 2 * 2);
    compare("width", "wmma_load", a.width, 16);
    compare("requests", "wmma_store", c.requests, 2 * 4);
    assert_int_equal(view.counters.totals.multiply_adds, 16 * 32 * 32);
    assert_int_equal(view.counters.totals.barriers, 3);
    leave(&view);
}

/* F16, one block of 2 warps, 32 x 64 of C, stages of 32 deep, of which there is one: two more are
 * zeros, written but not read from anywhere. Chunks are 16 bytes; A's rows have 4 of them, B's,
 * which stand along l, 8.
 *   A         a warp copies 8 rows of 64 bytes, one behind the other: 16 sectors, 4 lines; twice
 *   B         4 rows of 128 bytes: 16 sectors, 4 lines; four times
 *   written   a pass of 8 lanes fills 128 bytes, two rows of A or one of B, in another order: 1
 *   ldmatrix  8 rows of A at one column of chunks, c: row r stands in the four banks of number
 *             4 (r % 2) + (c ^ r / 2), of B in c ^ r: 8 different ones, so 4 wavefronts, one a
 *             matrix. Two fragments each a step; three steps, the first of them ahead, the last
 *             of the stage after.
 *   sums      two by two into rows of 40 words: the 4 rows of a pass begin in banks 0 8 16 24 and
 *             have 8 words each: 2 wavefronts. By fours out of them, 8 words a lane, those of odd
 *             rows from the other half on: 4 lanes have banks 0 8 16 24 and the next three, the
 *             other 4, 40 + 4 words on, 12 20 28 4: 4 wavefronts
 *   C         8 rows of 64 bytes, a row of C is 128: 16 sectors, 8 lines */
static void matrix(void **state)
{
    view_t view = count_kernel("12", "tiny", lab_type_pair_of(RUNG_F16, RUNG_F16), 32, 64, 32);
    (void)state;
    expect_global(&view, "copy16_async(copies,", LAB_ACCESS_GLOBAL_LOAD, "a", 16, 2 * 2, 16, 4, 16);
    expect_global(&view, "copy16_async(copies,", LAB_ACCESS_GLOBAL_LOAD, "b", 16, 2 * 4, 16, 4, 16);
    expect_shared(&view, "copy16_async(copies,", LAB_ACCESS_SHARED_STORE, "stages", 16, 3 * 2 * (2 + 4), 4, 4);
    expect_shared(&view, "load_fragment(engine, &fragment[i / 4]", LAB_ACCESS_SHARED_LOAD, "stages", 16, 2 * 2 * 2 * 3,
                  4, 4);
    /* matrix_output.h: its accesses count at the lines that call it. */
    expect_shared(&view, "store_sums_shared(sums, &sum", LAB_ACCESS_SHARED_STORE, "stages", 8, 2 * 2 * 2 * 2 * 2, 2, 2);
    expect_shared(&view, "epilogue_store_rows(&output", LAB_ACCESS_SHARED_LOAD, "stages", 16, 2 * 2 * 2 * 2, 4, 4);
    expect_global(&view, "epilogue_store_rows(&output", LAB_ACCESS_GLOBAL_STORE, "c", 16, 2 * 2 * 2, 16, 8, 16);
    expect_all_requests(&view, 4 + 8 + 36 + 12 + 12 + 16 + 16 + 16 + 8);
    assert_int_equal(view.counters.totals.multiply_adds, 32 * 64 * 32);
    assert_int_equal(view.counters.totals.barriers, 1 + 1 + 1); /* the epilogue waits for its warp alone */
    leave(&view);
}

/* The same with k = 16, half of a stage: half of A's chunks are zeros, so that of a warp's 32
 * lanes 16 read, 8 rows of 32 bytes, while all write as before. */
static void matrix_split_k(void **state)
{
    view_t view = count_kernel("12", "tiny", lab_type_pair_of(RUNG_F16, RUNG_F16), 32, 64, 16);
    (void)state;
    lab_access_line a = lab_access_counters_sum(&view.counters, line_of(&view, "copy16_async(copies,"),
                                                LAB_ACCESS_GLOBAL_LOAD, "a");
    compare("requests", "a", a.requests, 2 * 2);
    compare("lanes", "a", a.lanes, 2 * 2 * 16);
    compare("partial", "a", a.partial, 2 * 2);
    compare("sectors", "a", a.sectors, 2 * 2 * 8);
    expect_shared(&view, "copy16_async(copies,", LAB_ACCESS_SHARED_STORE, "stages", 16, 3 * 2 * (2 + 4), 4, 4);
    leave(&view);
}

/* ---- Kernels that were written for this ---------------------------------------------------------- */

/* One warp, 16 steps, down a column of A: 32 rows of 64 bytes, two a line, as in 01. */
static void user_uncoalesced(void **state)
{
    view_t view = count_kernel(KERNELS "/uncoalesced.cu", NULL, lab_type_pair_of(RUNG_F32, RUNG_F32), 32, 1, 16);
    (void)state;
    expect_global(&view, "/* the load */", LAB_ACCESS_GLOBAL_LOAD, "a", 4, 16, 32, 16, 4);
    assert_string_equal(view.counters.file, "uncoalesced.cu");
    assert_string_equal(view.counters.kernel, "uncoalesced");
    leave(&view);
}

/* Two blocks of a warp, a tile of 32 x 32 each. Lane l reads word 32 l + i: 32 words of one bank;
 * padded, word 33 l + i: 32 banks. Rows are written side by side either way. */
static void user_column(void **state)
{
    static const char *const parameters[] = {"PAD=0", "PAD=1"};
    (void)state;
    for (int pad = 0; pad < 2; pad++) {
        view_t view = count_kernel(KERNELS "/column.cu", parameters[pad], lab_type_pair_of(RUNG_F32, RUNG_F32), 32, 2,
                                   32);
        expect_shared(&view, "/* down a column */", LAB_ACCESS_SHARED_LOAD, "tile", 4, 2 * 32, pad ? 1 : 32, 1);
        expect_shared(&view, "tile[i][lane] =", LAB_ACCESS_SHARED_STORE, "tile", 4, 2 * 32, 1, 1);
        leave(&view);
    }
}

/* Two blocks of 48 threads: two warps each, of which one is half empty. B's rows are 192 bytes:
 * the full warp reads 128 of them, 4 sectors, and row i begins 64 bytes into a line if i is odd:
 * 1 2 1 2 lines; the other reads 64 bytes, 2 sectors, always in one line. */
static void user_half_empty(void **state)
{
    view_t view = count_kernel(KERNELS "/half_empty.cu", NULL, lab_type_pair_of(RUNG_F32, RUNG_F32), 2, 48, 4);
    (void)state;
    lab_access_line b = lab_access_counters_sum(&view.counters, line_of(&view, "/* the load */"),
                                                LAB_ACCESS_GLOBAL_LOAD, "b");
    compare("requests", "b", b.requests, 2 * 2 * 4);
    compare("lanes", "b", b.lanes, 2 * 48 * 4);
    compare("partial", "b", b.partial, 2 * 4);
    compare("sectors", "b", b.sectors, 2 * 4 * (4 + 2));
    compare("lines", "b", b.lines, 2 * (6 + 4));
    compare("sectors_ideal", "b", b.sectors_ideal, 2 * 4 * (4 + 2));
    assert_int_equal(view.counters.totals.warps, 4);
    assert_int_equal(view.counters.totals.idle_lanes, 2 * 16);
    assert_int_equal(branch_at(&view, "if (col >= n)").divergent, 0);
    leave(&view);
    /* With 40 columns the half-empty warps part: 8 of their 16 lanes have nothing to do. */
    view = count_kernel(KERNELS "/half_empty.cu", NULL, lab_type_pair_of(RUNG_F32, RUNG_F32), 2, 40, 4);
    assert_int_equal(branch_at(&view, "if (col >= n)").passed, 4);
    assert_int_equal(branch_at(&view, "if (col >= n)").divergent, 2);
    leave(&view);
}

/* One warp, 2 phases of 8 steps: in each, half of the lanes load. B's row is 128 bytes, of which
 * every other float is asked for: 4 sectors, where 64 bytes would fit 2. */
static void user_alternating_lanes(void **state)
{
    view_t view = count_kernel(KERNELS "/alternating_lanes.cu", NULL, lab_type_pair_of(RUNG_F32, RUNG_F32), 1, 32, 8);
    (void)state;
    lab_access_line b = lab_access_counters_sum(&view.counters, line_of(&view, "/* the loads */"),
                                                LAB_ACCESS_GLOBAL_LOAD, "b");
    compare("requests", "b", b.requests, 2 * 8);
    compare("lanes", "b", b.lanes, 2 * 8 * 16);
    compare("partial", "b", b.partial, 2 * 8);
    compare("sectors", "b", b.sectors, 2 * 8 * 4);
    compare("sectors_ideal", "b", b.sectors_ideal, 2 * 8 * 2);
    lab_access_branch branch = branch_at(&view, "/* the branch */");
    assert_true(branch.passed >= 2 * 8); /* the unrolled loop has branches of this line, too */
    assert_int_equal(branch.divergent, 2 * 8);
    leave(&view);
}

/* Two looks side by side see what each would alone. */
static void *count_kernel_alone(void *user)
{
    lab_access_request look = {
        .kernel = "04", .parameters = user, .product = {RUNG_F32, RUNG_F32, RUNG_TYPE_NONE}, .m = 16, .n = 16, .k = 16};
    lab_access_counters *counters = malloc(sizeof *counters);
    char why[1000];
    if (counters && !lab_access_counters_collect(&look, counters, why, sizeof why)) {
        printf("%s\n", why);
        free(counters);
        counters = NULL;
    }
    return counters;
}

static void concurrent_runs(void **state)
{
    static char parameters[2][8] = {"TILE=8", "TILE=16"};
    pthread_t threads[2];
    void *seen[2];
    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_kernel_alone, parameters[i]), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], &seen[i]), 0);
        assert_non_null(seen[i]);
        assert_string_equal(((lab_access_counters *)seen[i])->parameters, parameters[i]);
        assert_int_equal(((lab_access_counters *)seen[i])->totals.blocks, i == 0 ? 4 : 1);
        lab_access_counters_free(seen[i]);
        free(seen[i]);
    }
}

/* ---- What cannot be looked at --------------------------------------------------------------------- */

static void expect_refusal(lab_access_request look, const char *word)
{
    lab_access_counters counters;
    char why[1000] = "";
    assert_false(lab_access_counters_collect(&look, &counters, why, sizeof why));
    if (!strstr(why, word))
        fail_msg("\"%s\" does not say \"%s\"", why, word);
}

static void refusals(void **state)
{
    lab_access_request look = {.kernel = "04", .product = {RUNG_F32, RUNG_F32, RUNG_TYPE_NONE}, .m = 8, .n = 8, .k = 8};
    lab_access_request other = look;
    (void)state;
    other.parameters = "TILE=64";
    expect_refusal(other, "1024");
    other = look;
    other.kernel = "99";
    expect_refusal(other, "no kernel \"99\"");
    other = look;
    other.kernel = "12"; /* which is not strict */
    expect_refusal(other, "bf16x3");
    other = look;
    other.k = 0;
    expect_refusal(other, "rows and columns");
    other = look;
    other.kernel = KERNELS "/missing_product.cu";
    expect_refusal(other, "computes a wrong result");
    other.kernel = KERNELS "/out_of_bounds.cu";
    expect_refusal(other, "read of 4 bytes at byte offset 256 of \"a\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(naive),
        cmocka_unit_test(coalesced),
        cmocka_unit_test(shared16),
        cmocka_unit_test(shared32),
        cmocka_unit_test(padded32),
        cmocka_unit_test(padded_by_0),
        cmocka_unit_test(padded_by_1),
        cmocka_unit_test(padded16),
        cmocka_unit_test(tile2d),
        cmocka_unit_test(vector),
        cmocka_unit_test(warptile),
        cmocka_unit_test(warptile_deep),
        cmocka_unit_test(pipeline),
        cmocka_unit_test(wmma),
        cmocka_unit_test(matrix),
        cmocka_unit_test(matrix_split_k),
        cmocka_unit_test(user_uncoalesced),
        cmocka_unit_test(user_column),
        cmocka_unit_test(user_half_empty),
        cmocka_unit_test(user_alternating_lanes),
        cmocka_unit_test(concurrent_runs),
        cmocka_unit_test(refusals),
    };
    lab_access_request first = {
        .kernel = "01", .product = {RUNG_F32, RUNG_F32, RUNG_TYPE_NONE}, .m = 1, .n = 1, .k = 1};
    lab_access_counters counters;
    char why[1000];
    if (!lab_access_counters_collect(&first, &counters, why, sizeof why) && strstr(why, "libnvrtc")) {
        printf("%s\n", why);
        return 77;
    }
    lab_access_counters_free(&counters);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
