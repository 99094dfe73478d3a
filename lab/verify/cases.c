/* SPDX-License-Identifier: Apache-2.0 */
/* cases.c - generates the test suites.
 *
 * The suites do not combine everything with everything. Groups enumerate the sizes around each tile edge, the layouts
 * of the three operands, and the pairs of scalars with every content. Properties that a group does not enumerate are
 * drawn at random, always the same for the same case. */
#include "verify/cases.h"

#include <stdlib.h>

#include "base/checked_arithmetic.h"
#include "common/growing_array.h"
#include "common/random.h"

enum { SCALARS = 4 };

/* The last scalar cannot be replaced by a shift or a sign change. For integer matrices the scalars are integers too, so
 * that results stay exact. */
static const double alphas[SCALARS] = {1, -1, 0, 0.8125}, betas[SCALARS] = {0, 1, -1, -1.375};
static const double integer_alphas[SCALARS] = {1, -1, 0, 3}, integer_betas[SCALARS] = {0, 1, -1, -5};

lab_strides lab_strides_of_layout(lab_layout layout, int64_t rows, int64_t cols)
{
    int64_t wide = cols > 0 ? cols : 1, tall = rows > 0 ? rows : 1;
    switch (layout) {
    case LAB_LAYOUT_rows: return (lab_strides){wide, 1, 0, 0};
    case LAB_LAYOUT_columns: return (lab_strides){1, tall, 0, 0};
    case LAB_LAYOUT_row_gaps: return (lab_strides){wide + 3, 1, 0, 0};
    case LAB_LAYOUT_column_gaps: return (lab_strides){1, tall + 5, 0, 0};
    case LAB_LAYOUT_block: return (lab_strides){wide + 6, 1, 2 * (wide + 6) + 3, 0};
    case LAB_LAYOUT_transposed_block: return (lab_strides){1, tall + 9, 3 * (tall + 9) + 1, 0};
    case LAB_LAYOUT_spread: return (lab_strides){3 * wide + 2, 3, 5, 0};
    case LAB_LAYOUT_aligned_block: return (lab_strides){(wide + 31) / 16 * 16, 1, 16, 0};
    case LAB_LAYOUT_repeated_rows: return (lab_strides){0, 1, 0, 0};
    case LAB_LAYOUT_repeated_columns: return (lab_strides){1, 0, 0, 0};
    case LAB_LAYOUT_repeated: return (lab_strides){0, 0, 0, 0};
    case LAB_LAYOUT_COUNT: break;
    }
    return (lab_strides){wide, 1, 0, 0};
}

lab_strides lab_case_dense_b(const lab_case *problem)
{
    int64_t column = problem->k > 0 ? problem->k : problem->k_block;
    return problem->k_block > 1 ? (lab_strides){1, column, 0, 0}
                                : lab_strides_of_layout(LAB_LAYOUT_rows, problem->k, problem->n);
}

/* Returns a size of k with whole blocks. Small sizes count blocks, so that they stay different. */
static int64_t whole_blocks(int64_t k, int64_t k_block)
{
    enum { COUNTS_BLOCKS_MAX = 8 };
    return k_block <= 1 ? k : k <= COUNTS_BLOCKS_MAX ? k * k_block : rungi_round_up(k, k_block);
}

/* Adds a case. Returns NULL if memory is exhausted; the case is otherwise valid until the next one is added. */
static lab_case *append(lab_case_list *list, lab_case added)
{
    lab_case *grown = lab_array_grow(list->cases, list->count, sizeof *grown);
    list->out_of_memory = list->out_of_memory || !grown;
    if (!grown)
        return NULL;
    list->cases = grown;
    list->cases[list->count] = added;
    return &list->cases[list->count++];
}

typedef struct case_size {
    int64_t m, n, k;
} case_size_t;

static lab_case *add(lab_case_list *list, case_size_t size, lab_layout a, lab_layout b, lab_layout c, int64_t alpha,
                     int64_t beta, lab_content content)
{
    bool is_integer = list->is_integer || content == LAB_CONTENT_SMALL_INTEGERS;
    size.k = whole_blocks(size.k, list->k_block);
    return append(list, (lab_case){
                            .m = size.m,
                            .n = size.n,
                            .k = size.k,
                            .k_block = list->k_block,
                            .a = lab_strides_of_layout(a, size.m, size.k),
                            .b = lab_strides_of_layout(b, size.k, size.n),
                            .c = lab_strides_of_layout(c, size.m, size.n),
                            .alpha = (is_integer ? integer_alphas : alphas)[alpha],
                            .beta = (is_integer ? integer_betas : betas)[beta],
                            .content = content,
                            .batch = 1,
                            .has_guard = list->count % 2 != 0,
                            .is_plan_reused = list->count % 5 == 0,
                        });
}

/* Adds a case of dense, row-major matrices. */
static lab_case *add_dense(lab_case_list *list, case_size_t size, int64_t alpha, int64_t beta)
{
    return add(list, size, LAB_LAYOUT_rows, LAB_LAYOUT_rows, LAB_LAYOUT_rows, alpha, beta, LAB_CONTENT_UNIFORM);
}

/* Draws a number below `count` for the next case; each `what` has its own sequence. */
static int64_t draw(const lab_case_list *list, uint64_t what, int64_t count)
{
    return (int64_t)(lab_random(0, what, (uint64_t)list->count) % (uint64_t)count);
}

/* Adds a case with random scalars and content. alpha = 0 reads no inputs and tests little, so it is drawn once in
 * eight. */
static lab_case *add_layout(lab_case_list *list, case_size_t size, lab_layout a, lab_layout b, lab_layout c)
{
    static const int alpha_draws[] = {0, 3, 1, 0, 3, 1, 3, 2};
    return add(list, size, a, b, c, alpha_draws[draw(list, 1, 8)], draw(list, 2, SCALARS),
               (lab_content)draw(list, 3, LAB_CONTENT_COUNT));
}

/* Adds a case of which only the size is given. */
static lab_case *add_random_case(lab_case_list *list, case_size_t size)
{
    return add_layout(list, size, (lab_layout)draw(list, 4, LAB_LAYOUT_COUNT),
                      (lab_layout)draw(list, 5, LAB_LAYOUT_COUNT), (lab_layout)draw(list, 6, LAB_LAYOUT_OUTPUT_COUNT));
}

static void add_small(lab_case_list *list, int64_t largest)
{
    for (int64_t m = 0; m <= largest; m++)
        for (int64_t n = 0; n <= largest; n++)
            for (int64_t k = 0; k <= largest; k++)
                add_random_case(list, (case_size_t){m, n, k});
}

/* Adds sizes of a tile minus one, a tile and a tile plus one in each direction, and sizes past a second tile. */
static void add_edges(lab_case_list *list, case_size_t tile)
{
    for (int64_t m = -1; m <= 1; m++)
        for (int64_t n = -1; n <= 1; n++)
            for (int64_t k = -1; k <= 1; k++)
                add_random_case(list, (case_size_t){tile.m + m, tile.n + n, tile.k + k});
    add_random_case(list, (case_size_t){2 * tile.m + 1, 2 * tile.n - 1, 2 * tile.k + 1});
    add_random_case(list, (case_size_t){2 * tile.m, tile.n + 1, 3 * tile.k});
}

static void add_layouts(lab_case_list *list, case_size_t size)
{
    for (int a = 0; a < LAB_LAYOUT_COUNT; a++)
        for (int b = 0; b < LAB_LAYOUT_COUNT; b++)
            for (int c = 0; c < LAB_LAYOUT_OUTPUT_COUNT; c++)
                add_layout(list, size, (lab_layout)a, (lab_layout)b, (lab_layout)c);
}

/* Adds cases for every fast path of a kernel: operands aligned and dense in either direction, sizes that are multiples
 * of the tile, of 4 and of 16. */
static void add_fast_paths(lab_case_list *list, case_size_t tile)
{
    static const lab_layout layouts[] = {LAB_LAYOUT_rows, LAB_LAYOUT_columns, LAB_LAYOUT_aligned_block};
    const case_size_t shapes[] = {
        {tile.m, tile.n, 2 * tile.k},
        {2 * tile.m, tile.n, tile.k},
        {(tile.m + 7) / 4 * 4, (tile.n + 11) / 4 * 4, (tile.k + 7) / 4 * 4},
        {(tile.m + 1) / 8 * 4, 4, (2 * tile.k + 11) / 4 * 4},
        {(tile.m + 16) / 16 * 16, (tile.n + 16) / 16 * 16, (2 * tile.k + 16) / 16 * 16},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                for (int c = 0; c < 3; c++)
                    add_layout(list, shapes[i], layouts[a], layouts[b], layouts[c]);
}

static void add_scalars(lab_case_list *list, case_size_t size)
{
    for (int content = 0; content < LAB_CONTENT_COUNT; content++)
        for (int64_t alpha = 0; alpha < SCALARS; alpha++)
            for (int64_t beta = 0; beta < SCALARS; beta++)
                add(list, size, LAB_LAYOUT_rows, LAB_LAYOUT_rows, LAB_LAYOUT_row_gaps, alpha, beta,
                    (lab_content)content);
}

static void add_shapes(lab_case_list *list)
{
    static const case_size_t shapes[] = {
        {1, 1, 4099}, {3, 5, 4099}, {1, 257, 33}, {257, 1, 33}, {1, 1, 1},       {200, 3, 7},
        {3, 200, 7},  {2, 2, 1021}, {129, 65, 1}, {65, 129, 2}, {100, 100, 100},
    };
    for (int round = 0; round < 4; round++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            add_random_case(list, shapes[i]);
}

/* ---- Batches, epilogues, split-K ---------------------------------------------------------------- */

int64_t lab_strides_extent(lab_strides form, int64_t rows, int64_t cols)
{
    return rows > 0 && cols > 0 ? form.offset + (rows - 1) * form.row_stride + (cols - 1) * form.col_stride + 1 : 0;
}

void lab_case_set_batch(lab_case *problem, int64_t batch)
{
    problem->batch = batch;
    problem->a.batch_stride = lab_strides_extent(problem->a, problem->m, problem->k);
    problem->b.batch_stride = lab_strides_extent(problem->b, problem->k, problem->n);
    problem->c.batch_stride = lab_strides_extent(problem->c, problem->m, problem->n);
    problem->d.batch_stride = lab_strides_extent(problem->d, problem->m, problem->n);
}

/* Arrangements of the items of a batch: 0 one after the other; 1 with gaps and the same A for all; 2 with gaps and the
 * same B for all; 3 interleaved by rows, as the heads of an attention layer are. */
enum { BATCH_ARRANGEMENTS = 4 };

static void set_batch_arrangement(lab_case *last, int64_t batch, int arrangement)
{
    lab_case_set_batch(last, batch);
    last->a.batch_stride += arrangement;
    last->c.batch_stride += 2 * arrangement;
    if (arrangement == 1)
        last->a.batch_stride = 0;
    if (arrangement == 2)
        last->b.batch_stride = 0;
    if (arrangement == 3 && last->n > 0 && last->k > 0) {
        last->a = (lab_strides){batch * last->k, 1, 0, last->k};
        last->c = (lab_strides){batch * last->n, 1, 0, last->n};
    }
}

/* Adds small items, items just larger than a tile, and whole tiles, which need no bounds checks. */
static void add_batches(lab_case_list *list, const lab_kernel_traits *traits, bool scattered)
{
    static const int64_t counts[] = {2, 3, 7, 1, 4};
    const case_size_t shapes[] = {{3, 5, 4},
                                  {traits->bm + 1, 2, traits->bk + 1},
                                  {1, traits->bn + 1, 3},
                                  {traits->bm, traits->bn, 2 * traits->bk}};
    for (int shape = 0; shape < 4; shape++)
        for (int arrangement = 0; arrangement < (scattered ? 1 : BATCH_ARRANGEMENTS); arrangement++)
            for (int i = 0; i < 2; i++) {
                lab_case *last = shape == 3 ? add_dense(list, shapes[shape], 0, 1)
                                            : add_random_case(list, shapes[shape]);
                if (!last)
                    return;
                set_batch_arrangement(last, shape == 3 ? 3 : counts[(arrangement + i + shape) % 5], arrangement);
                last->scattered = scattered;
            }
}

/* Replaces the layout of B by the one that is most like it and has whole blocks along k: dense columns, columns with gaps, at an
 * offset, or all the same. The items of a batch keep their arrangement. */
static void set_block_layout(lab_case *problem)
{
    const lab_strides given = problem->b;
    const int64_t k_block = problem->k_block;
    int64_t gap = given.row_stride > problem->n && given.col_stride > 0 ? k_block : 0;
    problem->b = lab_case_dense_b(problem);
    problem->b.col_stride = given.col_stride == 0 ? 0 : problem->b.col_stride + gap;
    problem->b.offset = given.offset % 4 * k_block;
    int64_t extent = rungi_round_up(lab_strides_extent(problem->b, problem->k, problem->n), k_block);
    problem->b.batch_stride = given.batch_stride == 0 ? 0 : extent + gap;
}

static const lab_epilogue epilogues[] = {
    {LAB_BIAS_COL, RUNG_ACTIVATION_GELU, true},   {LAB_BIAS_ROW, RUNG_ACTIVATION_RELU, false},
    {LAB_BIAS_NONE, RUNG_ACTIVATION_NONE, true},  {LAB_BIAS_FULL, RUNG_ACTIVATION_NONE, false},
    {LAB_BIAS_NONE, RUNG_ACTIVATION_GELU, false}, {LAB_BIAS_FULL, RUNG_ACTIVATION_GELU_TANH, true},
    {LAB_BIAS_COL, RUNG_ACTIVATION_SILU, false},
};

/* Replaces activations that integers do not have by relu. */
static lab_epilogue epilogue_for_type(const lab_case_list *list, lab_epilogue epilogue)
{
    if (list->is_integer && epilogue.activation > RUNG_ACTIVATION_RELU)
        epilogue.activation = RUNG_ACTIVATION_RELU;
    return epilogue;
}

static lab_case *add_epilogue(lab_case_list *list, case_size_t size, lab_epilogue epilogue, int64_t splits, bool dense)
{
    lab_case *last = dense ? add_dense(list, size, 0, 3) : add_random_case(list, size);
    if (!last)
        return NULL;
    last->epilogue = epilogue_for_type(list, epilogue);
    last->splits = splits;
    if (draw(list, 7, 3) == 0)
        set_batch_arrangement(last, 2, 0);
    return last;
}

/* Adds each epilogue on partial tiles, and the first one also on whole tiles. */
static void add_epilogues(lab_case_list *list, const lab_kernel_traits *traits, int count)
{
    const case_size_t small = {5, 6, 7}, edge = {traits->bm + 1, traits->bn - 1, traits->bk + 1};
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < 4; j++)
            add_epilogue(list, j % 2 ? edge : small, epilogues[i], 0, false);
        if (i == 0)
            add_epilogue(list, (case_size_t){traits->bm, traits->bn, 2 * traits->bk}, epilogues[i], 0, true);
    }
}

/* Adds split-K slices that divide k and that do not, of one step and more, some with an epilogue, which must be applied
 * only once. */
static void add_splits(lab_case_list *list, const lab_kernel_traits *traits)
{
    const lab_epilogue none = {LAB_BIAS_NONE, RUNG_ACTIVATION_NONE, false};
    int64_t bk = traits->bk;
    for (int64_t splits = 2; splits < 6; splits++) {
        add_epilogue(list, (case_size_t){5, 6, 4 * bk + 3}, none, splits, false);
        add_epilogue(list, (case_size_t){traits->bm + 1, 3, 2 * splits * bk}, none, splits, false);
        add_epilogue(list, (case_size_t){3, traits->bn + 1, splits * bk - 1}, epilogues[0], splits, false);
    }
    add_epilogue(list, (case_size_t){traits->bm, traits->bn, 4 * bk}, none, 2, true);
    add_epilogue(list, (case_size_t){3, 3, 1}, none, 4, false);
}

/* Adds cases with a separate D: in several layouts, with an epilogue, in batches and with split-K. C may have any input
 * layout. */
static void add_separate_output(lab_case_list *list, const lab_kernel_traits *traits, int count)
{
    const lab_epilogue none = {LAB_BIAS_NONE, RUNG_ACTIVATION_NONE, false};
    const bool splits = (traits->abilities & RUNG_ABILITY_SPLIT_K) != 0;
    const bool scatters = (traits->abilities & RUNG_ABILITY_BATCH_OFFSETS) != 0;
    const case_size_t shapes[] = {{5, 6, 7},
                                  {traits->bm + 1, traits->bn - 1, traits->bk + 1},
                                  {traits->bm, traits->bn, 2 * traits->bk},
                                  {3, traits->bn + 1, 4 * traits->bk + 3}};
    for (int i = 0; i < count; i++) {
        case_size_t size = shapes[i % 4];
        lab_case *last = add_epilogue(list, size, i == 0 ? epilogues[0] : none, splits && i % 4 == 3 ? 3 : 0,
                                      i % 4 == 2);
        if (!last)
            return;
        last->has_d = true;
        last->d = lab_strides_of_layout((lab_layout)(i % LAB_LAYOUT_OUTPUT_COUNT), size.m, size.n);
        last->c = lab_strides_of_layout((lab_layout)draw(list, 8, LAB_LAYOUT_COUNT), size.m, size.n);
        lab_case_set_batch(last, i % 4 == 1 ? 3 : 1);
        last->scattered = scatters && i == 1;
    }
}

static void add_extras(lab_case_list *list, const lab_kernel_traits *traits, bool all)
{
    add_batches(list, traits, false);
    if (traits->abilities & RUNG_ABILITY_EPILOGUE)
        add_epilogues(list, traits, all ? (int)(sizeof epilogues / sizeof *epilogues) : 1);
    if (traits->abilities & RUNG_ABILITY_EPILOGUE)
        add_separate_output(list, traits, all ? LAB_LAYOUT_OUTPUT_COUNT : 2);
    if (traits->abilities & RUNG_ABILITY_SPLIT_K)
        add_splits(list, traits);
}

/* ---- Aligned operands ---------------------------------------------------------------------------- */

enum { ALIGNMENT = 16 }; /* elements: 16 bytes of the smallest type */

/* Returns rows, or columns, with gaps, of which each starts at a multiple of ALIGNMENT elements. */
static lab_strides aligned_strides(bool by_columns, int64_t rows, int64_t cols)
{
    int64_t pitch = rungi_round_up((by_columns ? rows : cols) + 1, ALIGNMENT);
    return by_columns ? (lab_strides){1, pitch, ALIGNMENT, 0} : (lab_strides){pitch, 1, ALIGNMENT, 0};
}

/* Makes the case an aligned batch. The items of A or of B may be the same. */
static void set_aligned_batch(lab_case *last, int64_t batch, int64_t repeated)
{
    lab_case_set_batch(last, batch);
    last->a.batch_stride = repeated == 1 ? 0 : rungi_round_up(last->a.batch_stride, ALIGNMENT);
    last->b.batch_stride = repeated == 2 ? 0 : rungi_round_up(last->b.batch_stride, ALIGNMENT);
}

/* Adds one case; batch, epilogue, split-K and a separate output are drawn. In layout 0 both operands are contiguous along
 * k, which every kernel supports. */
static void add_aligned_case(lab_case_list *list, const lab_kernel_traits *traits, case_size_t size, int layout)
{
    lab_case *last = add_random_case(list, size);
    if (!last)
        return;
    last->a = aligned_strides(layout & 1, last->m, last->k);
    last->b = aligned_strides(!(layout & 2), last->k, last->n);
    bool has_epilogues = (traits->abilities & RUNG_ABILITY_EPILOGUE) != 0;
    if (has_epilogues && draw(list, 9, 6) == 0) {
        last->has_d = true;
        last->d = lab_strides_of_layout(LAB_LAYOUT_row_gaps, size.m, size.n);
    }
    if (has_epilogues && draw(list, 10, 3) == 0)
        last->epilogue = epilogue_for_type(list, epilogues[draw(list, 11, sizeof epilogues / sizeof *epilogues)]);
    if (traits->abilities & RUNG_ABILITY_SPLIT_K && draw(list, 12, 3) == 0)
        last->splits = 2 + draw(list, 13, 3);
    if (draw(list, 14, 3) == 0)
        set_aligned_batch(last, 2 + draw(list, 15, 2), draw(list, 16, 3));
}

/* Adds sizes around one and several tiles, in all layouts of A and B. */
static void add_aligned(lab_case_list *list, const lab_kernel_traits *traits)
{
    const int64_t ms[] = {1, traits->bm - 1, traits->bm, traits->bm + 1, 2 * traits->bm + 3},
                  ns[] = {2, traits->bn, traits->bn + 1, 2 * traits->bn - 1},
                  ks[] = {1, traits->bk, traits->bk + 1, 3 * traits->bk - 1, 7 * traits->bk + 8};
    for (int m = 0; m < 5; m++)
        for (int n = 0; n < 4; n++)
            for (int k = 0; k < 5; k++)
                for (int layout = 0; layout < 4; layout++)
                    add_aligned_case(list, traits, (case_size_t){ms[m], ns[n], ks[k]}, layout);
}

/* ---- Suites ------------------------------------------------------------------------------------------ */

static void add_tile(lab_case_list *list, case_size_t tile)
{
    const case_size_t fours = {(tile.m + 7) / 4 * 4, (tile.n + 7) / 4 * 4, (3 * tile.k + 7) / 4 * 4};
    add_edges(list, tile);
    add_random_case(list, (case_size_t){2 * tile.m, tile.n, 2 * tile.k});
    add_dense(list, tile, 0, 1);
    add(list, tile, LAB_LAYOUT_columns, LAB_LAYOUT_columns, LAB_LAYOUT_rows, 3, 0, LAB_CONTENT_UNIFORM);
    add(list, (case_size_t){tile.m + 16, tile.n + 16, tile.k + 16}, LAB_LAYOUT_aligned_block, LAB_LAYOUT_columns,
        LAB_LAYOUT_aligned_block, 0, 3, LAB_CONTENT_UNIFORM);
    add(list, (case_size_t){tile.m + 3, tile.n + 5, tile.k + 7}, LAB_LAYOUT_aligned_block, LAB_LAYOUT_aligned_block,
        LAB_LAYOUT_aligned_block, 3, 1, LAB_CONTENT_UNIFORM);
    add_dense(list, fours, 0, 0);
    add(list, fours, LAB_LAYOUT_columns, LAB_LAYOUT_aligned_block, LAB_LAYOUT_columns, 1, 3,
        LAB_CONTENT_SMALL_INTEGERS);
    add(list, (case_size_t){tile.m + 16, tile.n, 4 * tile.k + 16}, LAB_LAYOUT_aligned_block, LAB_LAYOUT_columns,
        LAB_LAYOUT_rows, 0, 3, LAB_CONTENT_UNIFORM); /* chunks of 16, and more tiles than stages */
}

static lab_case_list list_suite(lab_suite suite, lab_kernel_traits traits)
{
    lab_case_list list = {.is_integer = traits.is_integer, .k_block = traits.k_block};
    case_size_t tile = {traits.bm, traits.bn, traits.bk};
    if (suite == LAB_SUITE_aligned) {
        add_aligned(&list, &traits);
        return list;
    }
    if (suite == LAB_SUITE_tile) {
        add_random_case(&list, (case_size_t){tile.m + 1, tile.n - 1, tile.k + 1});
        add_random_case(&list, (case_size_t){2 * tile.m + 1, tile.n, 2 * tile.k - 1});
        add_dense(&list, tile, 3, 1);
        return list;
    }
    if (suite != LAB_SUITE_extras && suite != LAB_SUITE_scattered)
        add_tile(&list, tile);
    if (suite == LAB_SUITE_full || suite == LAB_SUITE_types || suite == LAB_SUITE_quick) {
        add_small(&list, suite == LAB_SUITE_full ? 5 : 2);
        add_scalars(&list, (case_size_t){tile.m + 1, 3, tile.k + 1});
    }
    if (suite == LAB_SUITE_full || suite == LAB_SUITE_types)
        add_shapes(&list);
    if (suite == LAB_SUITE_full) {
        add_edges(&list, tile);
        add_fast_paths(&list, tile);
        add_layouts(&list, (case_size_t){tile.m + 3, tile.n + 5, tile.k + 2});
    }
    if (suite == LAB_SUITE_full || suite == LAB_SUITE_types || suite == LAB_SUITE_extras)
        add_extras(&list, &traits, suite != LAB_SUITE_types);
    if ((suite == LAB_SUITE_full || suite == LAB_SUITE_types || suite == LAB_SUITE_scattered) &&
        traits.abilities & RUNG_ABILITY_BATCH_OFFSETS)
        add_batches(&list, &traits, true);
    return list;
}

lab_case_list lab_suite_cases(lab_suite suite, lab_kernel_traits traits)
{
    lab_case_list list = list_suite(suite, traits);
    for (int64_t i = 0; traits.k_block > 1 && i < list.count; i++)
        set_block_layout(&list.cases[i]);
    return list;
}

/* ---- Dense problems -------------------------------------------------------------------------------- */

static int by_size(const void *first, const void *second)
{
    const lab_case *a = first, *b = second;
    int64_t a_size = a->m * a->n * a->k, b_size = b->m * b->n * b->k;
    return a_size != b_size ? (a_size > b_size) - (a_size < b_size) : (a->k > b->k) - (a->k < b->k);
}

void lab_cases_prepend_dense(lab_case_list *list, lab_kernel_traits traits)
{
    const int64_t ms[] = {1, traits.bm - 1, traits.bm, traits.bm + 1},
                  ns[] = {1, traits.bn - 1, traits.bn, traits.bn + 1};
    const int64_t ks[] = {1, traits.bk - 1, traits.bk, traits.bk + 1, 3 * traits.bk};
    lab_case_list all = {.is_integer = traits.is_integer};
    for (int m = 0; m < 4; m++)
        for (int n = 0; n < 4; n++)
            for (int k = 0; k < 5; k++)
                if (ms[m] > 0 && ns[n] > 0 && ks[k] > 0)
                    add_dense(&all, (case_size_t){ms[m], ns[n], ks[k]}, 0, 0);
    if (!all.out_of_memory)
        qsort(all.cases, (size_t)all.count, sizeof *all.cases, by_size);
    for (int64_t i = 1; i < SCALARS * SCALARS; i++)
        add_dense(&all, (case_size_t){2, 3, traits.bk + 1}, i / SCALARS, i % SCALARS);
    for (int64_t i = 0; i < list->count && !all.out_of_memory; i++)
        append(&all, list->cases[i]);
    all.out_of_memory = all.out_of_memory || list->out_of_memory;
    free(list->cases);
    *list = all;
}
