/* SPDX-License-Identifier: Apache-2.0 */
/* bank_conflicts.c - bank conflicts of 12_matrix, counted. Nothing but a profiler on a GPU would
 * show them, but where a lane reads and writes is arithmetic (swizzle.h), and shared memory
 * is simple: 32 banks of 4 bytes; the lanes that are served together, all 32 with 4 bytes
 * each, 16 with 8, 8 with 16, conflict if they want different words of one bank. Every
 * preset, type and direction must have none, and the same tiles without the exchange of
 * chunks must have some, or nothing was counted. No device is needed. */
#include "support/unit.h"

#include "ptx_layouts.h"

#define DEVICE static inline
typedef unsigned int uint;
#include "simt/kernels/swizzle.h"

enum { BANKS = 32, WORD = 4, TILE_MAX = 256 * 1024 };

/* ---- Counting ---------------------------------------------------------------------- */

/* Words that have to wait for another one of their bank, where so many lanes want `bytes`
 * each from those places on. */
static int conflicts(const uint *at, int lanes, int bytes)
{
    uint words[BANKS];
    int count = 0, waiting = 0, each = bytes < WORD ? 1 : bytes / WORD;
    assert_true(lanes * each <= BANKS);
    for (int i = 0; i < lanes * each; i++) {
        uint word = at[i / each] / WORD + (uint)(i % each);
        bool is_there = false, bank_is_taken = false;
        for (int j = 0; j < count; j++) {
            is_there = is_there || words[j] == word;
            bank_is_taken = bank_is_taken || words[j] % BANKS == word % BANKS;
        }
        if (is_there)
            continue;
        words[count++] = word;
        waiting += bank_is_taken;
    }
    return waiting;
}

/* Those of a warp, so many lanes at a time. */
static int conflicts_of_warp(const uint *at, int lanes, int bytes)
{
    int sum = 0;
    for (int lane = 0; lane < WARP; lane += lanes)
        sum += conflicts(at + lane, lanes, bytes);
    return sum;
}

static void unswizzled_tiles_conflict(void **state)
{
    uint at[WARP];
    (void)state;
    for (uint i = 0; i < WARP; i++)
        at[i] = i * 4;
    assert_int_equal(conflicts(at, 32, 4), 0);
    assert_int_equal(conflicts(at, 32, 1), 0);
    for (uint i = 0; i < WARP; i++)
        at[i] = i * 8; /* every other bank, twice */
    assert_int_equal(conflicts(at, 32, 4), 16);
    assert_int_equal(conflicts_of_warp(at, 16, 8), 0);
    for (uint i = 0; i < WARP; i++)
        at[i] = i; /* bytes of the same words */
    assert_int_equal(conflicts(at, 32, 1), 0);
    for (uint i = 0; i < WARP; i++)
        at[i] = i * 128; /* one bank, or four */
    assert_int_equal(conflicts(at, 32, 4), 31);
    assert_int_equal(conflicts_of_warp(at, 8, 16), 4 * 7 * 4);
}

/* ---- Shapes of the kernel ---------------------------------------------------------- */

typedef struct bank_shape {
    const char *preset;
    int64_t bm, bn, kb, wn, threads;
} bank_shape_t;

/* One operand's tile in shared memory. */
typedef struct bank_tile {
    const bank_shape_t *shape;
    uint l, k, element, row_bytes;
    int mn_major;
} bank_tile_t;

static rung_kernel *kernel;

static int64_t value_of(const char *preset, const char *expression)
{
    int64_t value = 0;
    if (rung_kernel_evaluate(kernel, preset, RUNG_F32, expression, &value) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return value;
}

static bank_shape_t shape_of(const char *preset)
{
    return (bank_shape_t){preset ? preset : "defaults", value_of(preset, "BM"), value_of(preset, "BN"),
                          value_of(preset, "KB"),       value_of(preset, "WN"), value_of(preset, "THREADS")};
}

typedef void shape_check_t(const bank_shape_t *shape);

static void with_every_shape(shape_check_t *check)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    assert_true(info->preset_count > 0);
    for (int64_t i = -1; i < info->preset_count; i++) {
        bank_shape_t shape = shape_of(i < 0 ? NULL : rung_kernel_preset(kernel, i)->name);
        check(&shape);
    }
}

typedef void bank_tile_check_t(const bank_tile_t *tile);

static bank_tile_check_t *check_of_tile;

static void with_tiles_of(const bank_shape_t *shape)
{
    for (int b = 0; b < 2; b++)
        for (uint element = 1; element <= 8; element *= 2)
            for (int mn_major = 0; mn_major < 2; mn_major++) {
                uint l = (uint)(b ? shape->bn : shape->bm), kb = (uint)shape->kb;
                bank_tile_t tile = {shape, l, kb / element, element, mn_major ? l * element : kb, mn_major};
                assert_true(l * kb <= TILE_MAX);
                check_of_tile(&tile);
            }
}

static void with_every_tile(bank_tile_check_t *check)
{
    check_of_tile = check;
    with_every_shape(with_tiles_of);
}

static void expect(const bank_tile_t *tile, const char *what, bool some, int count)
{
    if (some ? count == 0 : count != 0)
        fail_msg("%s: %s a tile of %u x %u elements of %u bytes along %c: %d conflicts", tile->shape->preset, what,
                 tile->l, tile->k, tile->element, tile->mn_major ? 'l' : 'k', count);
}

/* Where the same byte were if no chunks were exchanged: an exclusive or is its own inverse. */
static uint unswizzled(const bank_tile_t *tile, uint at)
{
    uint row = at / tile->row_bytes, chunk = at % tile->row_bytes / CHUNK_BYTES;
    return chunk_offset(row, chunk, tile->row_bytes, tile->element, tile->mn_major) + at % CHUNK_BYTES;
}

/* The same accesses in both tiles. */
static void count_both(const bank_tile_t *tile, const uint *at, int lanes, int bytes, int *turned, int *plain)
{
    uint other[WARP];
    for (int lane = 0; lane < WARP; lane++)
        other[lane] = unswizzled(tile, at[lane]);
    *turned += conflicts_of_warp(at, lanes, bytes);
    *plain += conflicts_of_warp(other, lanes, bytes);
}

/* ---- The tile: written, and read as fragments --------------------------------------- */

static void check_tile_offsets(const bank_tile_t *tile)
{
    static unsigned char seen[TILE_MAX];
    memset(seen, 0, tile->l * (tile->k * tile->element));
    for (uint l = 0; l < tile->l; l++)
        for (uint k = 0; k < tile->k; k++) {
            uint at = element_offset(l, k, tile->row_bytes, tile->element, tile->mn_major);
            for (uint i = 0; i < tile->element; i++) {
                assert_true(at + i < tile->l * tile->k * tile->element);
                assert_int_equal(seen[at + i]++, 0);
            }
        }
}

/* As many bytes as elements have, so that every byte is taken too. */
static void every_element_has_an_offset(void **state)
{
    (void)state;
    with_every_tile(check_tile_offsets);
}

/* Chunk i of a thread, as source_of() and chunk_of() of the kernel say. */
static uint copied_to(const bank_tile_t *tile, uint thread, uint i)
{
    uint chunks = tile->row_bytes / CHUNK_BYTES, threads = (uint)tile->shape->threads;
    return chunk_offset(thread / chunks + i * (threads / chunks), thread % chunks, tile->row_bytes, tile->element,
                        tile->mn_major);
}

static void check_copies(const bank_tile_t *tile)
{
    static unsigned char seen[TILE_MAX / CHUNK_BYTES];
    uint threads = (uint)tile->shape->threads, bytes = tile->l * tile->k * tile->element;
    int count = 0;
    memset(seen, 0, sizeof seen);
    for (uint i = 0; i < bytes / CHUNK_BYTES / threads; i++)
        for (uint first = 0; first < threads; first += WARP) {
            uint at[WARP];
            for (uint lane = 0; lane < WARP; lane++) {
                at[lane] = copied_to(tile, first + lane, i);
                assert_true(at[lane] < bytes && at[lane] % CHUNK_BYTES == 0);
                assert_int_equal(seen[at[lane] / CHUNK_BYTES]++, 0);
            }
            count += conflicts_of_warp(at, 8, CHUNK_BYTES);
        }
    expect(tile, "copies into", false, count);
}

static void copies_have_no_bank_conflict(void **state)
{
    (void)state;
    with_every_tile(check_copies);
}

/* Eight lanes of ldmatrix are one 8 x 8, or a warp's load of an element each, as the
 * instructions' own layout has them. */
static void count_ldmatrix(const bank_tile_t *tile, uint l, uint k_bytes, int *turned, int *plain)
{
    uint at[WARP];
    for (uint lane = 0; lane < WARP; lane++)
        at[lane] = ldmatrix_offset(lane, l, k_bytes, tile->row_bytes, tile->element, tile->mn_major, 0);
    count_both(tile, at, 8, CHUNK_BYTES, turned, plain);
    for (uint lane = 0; lane < WARP; lane++) /* the same eights in another order */
        at[lane] = ldmatrix_offset(lane, l, k_bytes, tile->row_bytes, tile->element, tile->mn_major, 1);
    count_both(tile, at, 8, CHUNK_BYTES, turned, plain);
}

static void count_loads(const bank_tile_t *tile, uint l, uint k_bytes, int *turned, int *plain)
{
    const ptx_mma_t *mma = &ptx_m16n8k8_tf32;
    for (int i = 0; i < mma->a_count; i++) {
        uint at[WARP];
        for (int lane = 0; lane < WARP; lane++) {
            ptx_place_t place = mma->a(lane, i);
            at[lane] = element_offset(l + (uint)place.row, k_bytes / tile->element + (uint)place.col, tile->row_bytes,
                                      tile->element, tile->mn_major);
        }
        count_both(tile, at, WARP, (int)tile->element, turned, plain);
    }
}

/* The same elements, 16 bytes per lane, as load_fragment_group() loads them. */
static void count_groups(const bank_tile_t *tile, uint l, uint k_bytes, int *turned, int *plain)
{
    for (uint k = k_bytes / 4; k < k_bytes / 4 + 8; k += 4) {
        uint at[WARP];
        for (uint lane = 0; lane < WARP; lane++) {
            at[lane] = group_offset(lane, l, k, tile->row_bytes);
            assert_int_equal(at[lane], element_offset(l + lane / 4 * 4, k + lane % 4, tile->row_bytes, 4, 1));
        }
        count_both(tile, at, 8, CHUNK_BYTES, turned, plain);
    }
}

/* Doubles as load_fragment_f64() loads them: 8 bytes per lane and half of the rows, or pairs of 16 bytes. */
static void count_doubles(const bank_tile_t *tile, uint l, uint k_bytes, int *turned, int *plain)
{
    uint at[WARP], k = k_bytes / 8;
    for (uint half = 0; half < (tile->mn_major ? 1u : 2u); half++) {
        for (uint lane = 0; lane < WARP; lane++) {
            uint row = l + 8 * half + lane / 4 * (tile->mn_major ? 2 : 1);
            at[lane] = tile->mn_major ? double_pair_offset(lane, l, k, tile->row_bytes)
                                      : double_offset(lane, l + 8 * half, k, tile->row_bytes);
            assert_int_equal(at[lane], element_offset(row, k + lane % 4, tile->row_bytes, 8, tile->mn_major));
        }
        count_both(tile, at, tile->mn_major ? 8 : 16, tile->mn_major ? CHUNK_BYTES : 8, turned, plain);
    }
}

static void check_fragments(const bank_tile_t *tile)
{
    int turned = 0, plain = 0;
    for (uint l = 0; l < tile->l; l += 16)
        for (uint k_bytes = 0; k_bytes < tile->shape->kb; k_bytes += 32) {
            if (tile->element == 8) {
                count_doubles(tile, l, k_bytes, &turned, &plain);
            } else if (tile->mn_major && tile->element == 4) {
                count_loads(tile, l, k_bytes, &turned, &plain);
                if (l % 32 == 0)
                    count_groups(tile, l, k_bytes, &turned, &plain);
            } else
                count_ldmatrix(tile, l, k_bytes, &turned, &plain);
        }
    expect(tile, "fragments from", false, turned);
    expect(tile, "without exchanged chunks, fragments from", true, plain);
}

static void fragments_have_no_bank_conflict(void **state)
{
    (void)state;
    with_every_tile(check_fragments);
}

/* ---- Sums on their way out ---------------------------------------------------------- */

/* Rows of A, and columns of B, may come in twos: four ways to write. */
enum { CONFIGURATIONS = 4 };

static uint row_of_sums(const bank_shape_t *shape, int way)
{
    return (uint)shape->wn + sums_pad(way % 2, way / 2, 4);
}

/* In pairs, or where B's columns come in twos, in fours. */
static int written_conflicts(const bank_shape_t *shape, int way, uint ld)
{
    int count = 0;
    for (uint j = 0; j < shape->wn / 8; j += way / 2 ? 2 : 1)
        for (uint half = 0; half < 2; half++) {
            uint at[WARP];
            for (uint lane = 0; lane < WARP; lane++)
                at[lane] = sums_store_offset(lane, half, j, ld, way % 2, way / 2) * 4;
            count += conflicts_of_warp(at, way / 2 ? 8 : 16, way / 2 ? 16 : 8);
        }
    return count;
}

/* As epilogue_store_rows() and load_sum_vector() of the kernel go: `first` is which four of a piece of
 * eight a lane begins with. */
static int read_conflicts(const bank_shape_t *shape, uint ld, uint piece, bool in_turns)
{
    uint pieces = (uint)shape->wn / piece;
    int count = 0;
    for (uint start = 0; start < 16 * pieces; start += WARP)
        for (uint part = 0; part < piece / 4; part++) {
            uint at[WARP];
            for (uint lane = 0; lane < WARP; lane++) {
                uint i = start + lane, first = in_turns ? sums_load_first(lane, piece) : 0;
                at[lane] = (i / pieces * ld + i % pieces * piece + (part == 0 ? first : 4 - first)) * 4;
            }
            count += conflicts_of_warp(at, 8, 16);
        }
    return count;
}

/* Writes of groups of columns, and reads of eights, where adjacent rows begin with another half. */
static int group_conflicts(const bank_shape_t *shape, uint ld)
{
    uint at[WARP], pieces = (uint)shape->wn / 8;
    int count = 0;
    for (uint i = 0; i < shape->wn / 8; i++) {
        for (uint lane = 0; lane < WARP; lane++)
            at[lane] = group_sums_store_offset(lane, i % 2, i / 4 * 4, i / 2 % 2, ld) * 4;
        count += conflicts_of_warp(at, 8, 16);
    }
    for (uint part = 0; part < 2; part++) {
        for (uint lane = 0; lane < WARP; lane++) {
            uint row = lane / pieces, first = sums_load_first(lane + 4 * row, 8);
            at[lane] = (row * ld + lane % pieces * 8 + (part == 0 ? first : 4 - first)) * 4;
        }
        count += conflicts_of_warp(at, 8, 16);
    }
    return count;
}

/* Sums of eight bytes, written by twos as store_sums_shared() does; `in_turns` as sums_store_first() says. */
static int double_conflicts(const bank_shape_t *shape, int way, uint ld, bool in_turns)
{
    int count = 0;
    for (uint i = 0; i < shape->wn / 8 * 2; i++) {
        uint at[WARP], j = i / 2, half = i % 2;
        for (uint lane = 0; lane < WARP; lane++) {
            uint first = in_turns ? sums_store_first(lane) : 0, second = j % 2;
            uint two = second ? 2 - first : first;
            at[lane] = way / 2 ? sums_store_offset(lane, half, j - second, ld, way % 2, 1) + two
                               : sums_store_offset(lane, half, j, ld, way % 2, 0);
            at[lane] *= 8;
        }
        count += conflicts_of_warp(at, 8, 16);
    }
    return count;
}

/* As load2_sums() reads them. */
static int double_read_conflicts(const bank_shape_t *shape, uint ld)
{
    uint pieces = (uint)shape->wn / 2;
    int count = 0;
    for (uint start = 0; start < 16 * pieces; start += WARP) {
        uint at[WARP];
        for (uint lane = 0; lane < WARP; lane++)
            at[lane] = ((start + lane) / pieces * ld + (start + lane) % pieces * 2) * 8;
        count += conflicts_of_warp(at, 8, 16);
    }
    return count;
}

static void expect_sums(const bank_shape_t *shape, const char *what, bool some, int count)
{
    if (some ? count == 0 : count != 0)
        fail_msg("%s: %s of %d columns: %d conflicts", shape->preset, what, (int)shape->wn, count);
}

static void check_sums(const bank_shape_t *shape)
{
    expect_sums(shape, "groups in rows", false, group_conflicts(shape, (uint)shape->wn + GROUP_SUMS_PAD));
    expect_sums(shape, "without padding, groups in rows", true, group_conflicts(shape, (uint)shape->wn));
    for (int way = 0; way < CONFIGURATIONS; way++) {
        uint ld = row_of_sums(shape, way);
        expect_sums(shape, "sums written to rows", false, written_conflicts(shape, way, ld));
        expect_sums(shape, "without padding, sums written to rows", true,
                    written_conflicts(shape, way, (uint)shape->wn));
        expect_sums(shape, "fours read from rows", false, read_conflicts(shape, ld, 4, true));
        if (way > 0)
            continue; /* sums of bytes go out as four bytes each */
        expect_sums(shape, "eights read from rows", false, read_conflicts(shape, ld, 8, true));
        expect_sums(shape, "not in turns, eights read from rows", true, read_conflicts(shape, ld, 8, false));
    }
}

static void check_double_sums(const bank_shape_t *shape)
{
    for (int way = 0; way < CONFIGURATIONS; way++) {
        uint ld = (uint)shape->wn + sums_pad(way % 2, way / 2, 8);
        expect_sums(shape, "doubles written to rows", false, double_conflicts(shape, way, ld, true));
        expect_sums(shape, "without padding or turns, doubles written to rows", true,
                    double_conflicts(shape, way, (uint)shape->wn, false));
        expect_sums(shape, "twos read from rows", false, double_read_conflicts(shape, ld));
    }
}

/* Every sum has a place of its own, before they are read in any order. */
static void check_sum_offsets(const bank_shape_t *shape)
{
    static unsigned char seen[16 * 1024];
    for (int way = 0; way < CONFIGURATIONS; way++) {
        uint ld = row_of_sums(shape, way), step = way / 2 ? 2 : 1, together = 2 * step;
        memset(seen, 0, sizeof seen);
        assert_true(16 * ld <= sizeof seen);
        for (uint i = 0; i < WARP * 2 * shape->wn / 8 / step; i++) {
            uint at = sums_store_offset(i % WARP, i / WARP % 2, i / WARP / 2 * step, ld, way % 2, way / 2);
            assert_true(at % together == 0 && at % ld + together <= shape->wn && at / ld < 16);
            assert_int_equal(seen[at]++, 0);
        }
    }
}

static void sums_have_no_bank_conflict(void **state)
{
    (void)state;
    with_every_shape(check_sum_offsets);
    with_every_shape(check_sums);
    with_every_shape(check_double_sums);
}

static int find_kernel(void **state)
{
    (void)state;
    return rung_kernel_find(NULL, "opencl", "12_matrix", &kernel) == RUNG_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unswizzled_tiles_conflict),    cmocka_unit_test(every_element_has_an_offset),
        cmocka_unit_test(copies_have_no_bank_conflict), cmocka_unit_test(fragments_have_no_bank_conflict),
        cmocka_unit_test(sums_have_no_bank_conflict),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, find_kernel, NULL);
}
