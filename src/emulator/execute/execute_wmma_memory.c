/* SPDX-License-Identifier: Apache-2.0 */
/* execute_wmma_memory.c - wmma.load and wmma.store.
 *
 * The requests are those that ptxas makes for sm_75 to sm_90, so that their counts are right. With g = lane / 4 and
 * t = lane % 4, a request moves a tile of 8 x 4 * v elements, v of them per lane: index g in one direction and t * v in the
 * other one. Elements of 2 bytes: v is 2, and t runs along the lines of memory. Elements of 1 byte: v is 4, and t runs along
 * k. TF32 and FP64: v is 1, along k. Accumulators of 4 and 8 bytes: v is 2, along n (along m for m8n32k16). Where t does not
 * run along the lines of memory, each of the v elements is a request of its own. A and B in shared memory are moved like
 * ldmatrix moves them, up to four tiles at once, if a lane's part of a tile is one word. */
#include "emulator/execute/wmma_fragment.h"

/* A fragment in memory. The two directions of a tile are called `across` (g) and `along` (t). */
typedef struct tiles {
    fragment_t fragment;
    uint64_t base, step_row, step_column; /* bytes */
    int vector;                           /* v */
    bool is_along_row;                    /* t runs along a row of the matrix: over its columns */
    bool is_contiguous;                   /* and along a line of memory */
    bool is_matrix_load;                  /* like ldmatrix */
    int across, along;                    /* number of tiles */
} tiles_t;

static bool is_in_shared_memory(const ptx_instruction_t *instruction, uint64_t address)
{
    ptx_space_t space = rungi_ptx_resolve_space((ptx_space_t)instruction->space, &address);
    return space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CLUSTER;
}

/* Chooses the tiles of a matrix whose lines are its rows, or else its columns. */
static void choose_tiles(tiles_t *tiles, const ptx_matrix_shape_t *shape, char matrix, bool has_row_lines)
{
    const fragment_t *fragment = &tiles->fragment;
    bool is_accumulator = matrix == 'c' || matrix == 'd';
    if (fragment->bytes == 2) {
        tiles->vector = 2;
        tiles->is_along_row = has_row_lines;
    } else if (is_accumulator) {
        tiles->vector = 2;
        tiles->is_along_row = shape->n != 32;
    } else {
        tiles->vector = fragment->bytes == 1 ? 4 : 1;
        tiles->is_along_row = matrix == 'a' || fragment->is_transposed;
    }
    tiles->is_contiguous = tiles->is_along_row == has_row_lines;
    tiles->is_matrix_load = !is_accumulator && fragment->type != PTX_TF32 && tiles->is_contiguous &&
                            tiles->vector * fragment->bytes == 4;
    tiles->across = (tiles->is_along_row ? fragment->rows : fragment->columns) / 8;
    tiles->along = (tiles->is_along_row ? fragment->columns : fragment->rows) / (4 * tiles->vector);
}

static tiles_t find_tiles(const ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane, ptx_access_t kind)
{
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset2);
    char matrix = (char)(instruction->operation & 0x7f);
    bool is_column_major = instruction->operation & 0x80;
    int bits = rungi_ptx_type_bits((ptx_type_t)instruction->type);
    tiles_t tiles = {.fragment = make_fragment(&shape, matrix, (ptx_type_t)instruction->type, instruction->list)};
    const fragment_t *fragment = &tiles.fragment;
    bool has_row_lines = fragment->is_transposed == is_column_major;
    uint64_t stride = (uint64_t)(bits < 8 ? shape.k : has_row_lines ? fragment->columns : fragment->rows);
    if (instruction->operand[0])
        memcpy(&tiles.base, (unsigned char *)OPERAND(0) + (size_t)lane * instruction->address_bytes,
               instruction->address_bytes);
    tiles.base += (uint64_t)instruction->offset;
    if (instruction->operand[1])
        stride = ((const uint32_t *)OPERAND(1))[lane];
    uint64_t line = stride * (uint64_t)bits / 8, element = (uint64_t)fragment->bytes;
    tiles.step_row = has_row_lines ? line : element;
    tiles.step_column = has_row_lines ? element : line;
    choose_tiles(&tiles, &shape, matrix, has_row_lines);
    if (kind == PTX_WRITE || !is_in_shared_memory(instruction, tiles.base))
        tiles.is_matrix_load = false;
    return tiles;
}

/* Moves `count` consecutive elements in the direction `along` between memory and the registers that hold them. */
static void move_elements(const ptx_warp_t *warp, const fragment_t *fragment, bool is_along_row, int across, int along,
                          int count, unsigned char *memory, ptx_access_t kind)
{
    int elements = fragment->rows * fragment->columns;
    size_t bytes = (size_t)fragment->bytes;
    for (int i = 0; i < count; i++, memory += bytes) {
        int row = is_along_row ? across : along + i, column = is_along_row ? along + i : across;
        int index = row * fragment->columns + column;
        for (int copy = 0; copy < fragment->copies; copy++, index += elements) {
            unsigned char *element = element_of(warp, fragment, index / fragment->per_lane, index % fragment->per_lane);
            memcpy(kind == PTX_READ ? element : memory, kind == PTX_READ ? memory : element, bytes);
        }
    }
}

static uint64_t address_of(const tiles_t *tiles, int across, int along)
{
    int row = tiles->is_along_row ? across : along, column = tiles->is_along_row ? along : across;
    return tiles->base + (uint64_t)row * tiles->step_row + (uint64_t)column * tiles->step_column;
}

/* Moves element `first` and, if they are contiguous, the others of each lane's part of a tile. */
static void move_tile(ptx_warp_t *warp, const ptx_instruction_t *instruction, const tiles_t *tiles, int tile, int first,
                      ptx_access_t kind)
{
    uint64_t address[PTX_WARP_LANES];
    unsigned char *pointer[PTX_WARP_LANES];
    int count = tiles->is_contiguous ? tiles->vector : 1;
    int across = tile % tiles->across * 8, along = tile / tiles->across * 4 * tiles->vector + first;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        address[lane] = address_of(tiles, across + lane / 4, along + lane % 4 * tiles->vector);
    uint32_t valid = rungi_ptx_access(warp, instruction, ~0u, address, count * tiles->fragment.bytes,
                                      (ptx_space_t)instruction->space, kind, pointer);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        if (valid >> lane & 1)
            move_elements(warp, &tiles->fragment, tiles->is_along_row, across + lane / 4,
                          along + lane % 4 * tiles->vector, count, pointer[lane], kind);
}

/* Loads up to four tiles from `first` on: lane 8 * i + j reads the 16 bytes of line j of tile i. */
static void load_matrices(ptx_warp_t *warp, const ptx_instruction_t *instruction, const tiles_t *tiles, int first,
                          int count)
{
    uint64_t address[PTX_WARP_LANES];
    unsigned char *pointer[PTX_WARP_LANES];
    int across[PTX_WARP_LANES], along[PTX_WARP_LANES];
    uint32_t needed = count == 4 ? ~0u : (1u << 8 * count) - 1;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        int tile = first + lane / 8 % count;
        across[lane] = tile % tiles->across * 8 + lane % 8;
        along[lane] = tile / tiles->across * 4 * tiles->vector;
        address[lane] = address_of(tiles, across[lane], along[lane]);
    }
    uint32_t valid = rungi_ptx_access(warp, instruction, needed, address, 16, (ptx_space_t)instruction->space, PTX_READ,
                                      pointer);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        if (valid >> lane & 1)
            move_elements(warp, &tiles->fragment, tiles->is_along_row, across[lane], along[lane], 4 * tiles->vector,
                          pointer[lane], PTX_READ);
}

static void move_fragment(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask, ptx_access_t kind)
{
    tiles_t tiles = find_tiles(warp, instruction, __builtin_ctz(mask), kind);
    int count = tiles.across * tiles.along;
    for (int tile = 0; tiles.is_matrix_load && tile < count; tile += 4)
        load_matrices(warp, instruction, &tiles, tile, count - tile < 4 ? count - tile : 4);
    for (int tile = 0; !tiles.is_matrix_load && tile < count; tile++)
        for (int i = 0; i < (tiles.is_contiguous ? 1 : tiles.vector); i++)
            move_tile(warp, instruction, &tiles, tile, i, kind);
}

EXECUTOR(wmma_load)
{
    move_fragment(warp, instruction, mask, PTX_READ);
}

EXECUTOR(wmma_store)
{
    move_fragment(warp, instruction, mask, PTX_WRITE);
}

PTX_EXECUTORS(wmma_memory) = {E(wmma_load), E(wmma_store), {NULL, NULL}};
