/* SPDX-License-Identifier: Apache-2.0 */
/* cases.c - which problems are worth running.
 *
 * Not the product of everything: sizes around each edge, all layouts of the three
 * operands, all pairs of scalars with every content. What a group does not
 * enumerate is drawn, always the same for the same case. */
#include "lists.h"
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { SCALARS = 4 };

/* "Other" is a number that neither a shift nor a sign can stand for. With whole
 * matrices it is whole too, so that results stay exact. */
static const double alphas[SCALARS] = {1, -1, 0, 0.8125}, betas[SCALARS] = {0, 1, -1, -1.375};
static const double whole_alphas[SCALARS] = {1, -1, 0, 3}, whole_betas[SCALARS] = {0, 1, -1, -5};

lab_form lab_form_of(lab_layout layout, int64_t rows, int64_t cols)
{
    int64_t wide = cols > 0 ? cols : 1, tall = rows > 0 ? rows : 1;
    switch (layout) {
    case LAB_LAYOUT_rows: return (lab_form){wide, 1, 0, 0};
    case LAB_LAYOUT_columns: return (lab_form){1, tall, 0, 0};
    case LAB_LAYOUT_row_gaps: return (lab_form){wide + 3, 1, 0, 0};
    case LAB_LAYOUT_column_gaps: return (lab_form){1, tall + 5, 0, 0};
    case LAB_LAYOUT_block: return (lab_form){wide + 6, 1, 2 * (wide + 6) + 3, 0};
    case LAB_LAYOUT_transposed_block: return (lab_form){1, tall + 9, 3 * (tall + 9) + 1, 0};
    case LAB_LAYOUT_spread: return (lab_form){3 * wide + 2, 3, 5, 0};
    case LAB_LAYOUT_aligned_block: return (lab_form){(wide + 31) / 16 * 16, 1, 16, 0};
    case LAB_LAYOUT_repeated_rows: return (lab_form){0, 1, 0, 0};
    case LAB_LAYOUT_repeated_columns: return (lab_form){1, 0, 0, 0};
    case LAB_LAYOUT_repeated: return (lab_form){0, 0, 0, 0};
    case LAB_LAYOUT_COUNT: break;
    }
    return (lab_form){wide, 1, 0, 0};
}

static void append(lab_case_list *list, lab_case added)
{
    if (list->count == list->capacity) {
        int64_t capacity = list->capacity ? 2 * list->capacity : 256;
        lab_case *grown = realloc(list->cases, (size_t)capacity * sizeof *grown);
        if (!grown) {
            list->out_of_memory = true;
            return;
        }
        list->cases = grown;
        list->capacity = capacity;
    }
    list->cases[list->count++] = added;
}

typedef struct sizes {
    int64_t m, n, k;
} sizes_t;

static void add(lab_case_list *list, sizes_t size, lab_layout a, lab_layout b, lab_layout c, int64_t alpha,
                int64_t beta, lab_content content)
{
    bool whole = list->whole || content == LAB_INTEGERS;
    append(list, (lab_case){
                     .m = size.m,
                     .n = size.n,
                     .k = size.k,
                     .a = lab_form_of(a, size.m, size.k),
                     .b = lab_form_of(b, size.k, size.n),
                     .c = lab_form_of(c, size.m, size.n),
                     .alpha = (whole ? whole_alphas : alphas)[alpha],
                     .beta = (whole ? whole_betas : betas)[beta],
                     .content = content,
                     .batch = 1,
                     .guarded = list->count % 2 != 0,
                     .rehearsed = list->count % 5 == 0,
                 });
}

/* One of `count`, drawn for the next case; each `what` has draws of its own. */
static int64_t draw(const lab_case_list *list, uint64_t what, int64_t count)
{
    return (int64_t)(lab_random(0, what, (uint64_t)list->count) % (uint64_t)count);
}

/* Scalars and content are drawn. alpha = 0 reads nothing and so shows little: it is
 * drawn one time in eight. */
static void add_layout(lab_case_list *list, sizes_t size, lab_layout a, lab_layout b, lab_layout c)
{
    static const int alpha_draws[] = {0, 3, 1, 0, 3, 1, 3, 2};
    add(list, size, a, b, c, alpha_draws[draw(list, 1, 8)], draw(list, 2, SCALARS),
        (lab_content)draw(list, 3, LAB_CONTENT_COUNT));
}

/* Everything but the size is drawn. */
static void add_any(lab_case_list *list, sizes_t size)
{
    add_layout(list, size, (lab_layout)draw(list, 4, LAB_LAYOUT_COUNT), (lab_layout)draw(list, 5, LAB_LAYOUT_COUNT),
               (lab_layout)draw(list, 6, LAB_LAYOUT_COUNT_C));
}

static void add_small(lab_case_list *list, int64_t largest)
{
    for (int64_t m = 0; m <= largest; m++)
        for (int64_t n = 0; n <= largest; n++)
            for (int64_t k = 0; k <= largest; k++)
                add_any(list, (sizes_t){m, n, k});
}

/* One less, as many, one more than a tile in each direction, and past a second. */
static void add_edges(lab_case_list *list, sizes_t tile)
{
    for (int64_t m = -1; m <= 1; m++)
        for (int64_t n = -1; n <= 1; n++)
            for (int64_t k = -1; k <= 1; k++)
                add_any(list, (sizes_t){tile.m + m, tile.n + n, tile.k + k});
    add_any(list, (sizes_t){2 * tile.m + 1, 2 * tile.n - 1, 2 * tile.k + 1});
    add_any(list, (sizes_t){2 * tile.m, tile.n + 1, 3 * tile.k});
}

static void add_layouts(lab_case_list *list, sizes_t size)
{
    for (int a = 0; a < LAB_LAYOUT_COUNT; a++)
        for (int b = 0; b < LAB_LAYOUT_COUNT; b++)
            for (int c = 0; c < LAB_LAYOUT_COUNT_C; c++)
                add_layout(list, size, (lab_layout)a, (lab_layout)b, (lab_layout)c);
}

/* Every path of a kernel that has several: operands aligned and dense in either
 * direction, sizes that are whole tiles, whole pieces of four and whole chunks of 16. */
static void add_paths(lab_case_list *list, sizes_t tile)
{
    static const lab_layout layouts[] = {LAB_LAYOUT_rows, LAB_LAYOUT_columns, LAB_LAYOUT_aligned_block};
    const sizes_t shapes[] = {
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

static void add_scalars(lab_case_list *list, sizes_t size)
{
    for (int content = 0; content < LAB_CONTENT_COUNT; content++)
        for (int64_t alpha = 0; alpha < SCALARS; alpha++)
            for (int64_t beta = 0; beta < SCALARS; beta++)
                add(list, size, LAB_LAYOUT_rows, LAB_LAYOUT_rows, LAB_LAYOUT_row_gaps, alpha, beta,
                    (lab_content)content);
}

static void add_shapes(lab_case_list *list)
{
    static const sizes_t shapes[] = {
        {1, 1, 4099}, {3, 5, 4099}, {1, 257, 33}, {257, 1, 33}, {1, 1, 1},       {200, 3, 7},
        {3, 200, 7},  {2, 2, 1021}, {129, 65, 1}, {65, 129, 2}, {100, 100, 100},
    };
    for (int round = 0; round < 4; round++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            add_any(list, shapes[i]);
}

/* ---- Batches, epilogues, shares of k ------------------------------------------------------------ */

int64_t lab_span(lab_form form, int64_t rows, int64_t cols)
{
    return rows > 0 && cols > 0 ? form.offset + (rows - 1) * form.row_stride + (cols - 1) * form.col_stride + 1 : 0;
}

void lab_case_batch(lab_case *problem, int64_t batch)
{
    problem->batch = batch;
    problem->a.batch_stride = lab_span(problem->a, problem->m, problem->k);
    problem->b.batch_stride = lab_span(problem->b, problem->k, problem->n);
    problem->c.batch_stride = lab_span(problem->c, problem->m, problem->n);
    problem->d.batch_stride = lab_span(problem->d, problem->m, problem->n);
}

/* Ways in which the items of a batch can stand: side by side with and without gaps, A or
 * B the same for all, and items within each other's rows. */
enum { WAYS = 4 };

static void make_batch(lab_case *last, int64_t batch, int way)
{
    lab_case_batch(last, batch);
    last->a.batch_stride += way;
    last->c.batch_stride += 2 * way;
    if (way == 1)
        last->a.batch_stride = 0;
    if (way == 2)
        last->b.batch_stride = 0;
    if (way == 3 && last->n > 0 && last->k > 0) { /* as heads of attention stand */
        last->a = (lab_form){batch * last->k, 1, 0, last->k};
        last->c = (lab_form){batch * last->n, 1, 0, last->n};
    }
}

/* Small items, items just past a tile, and whole tiles: the path without guards. */
static void add_batches(lab_case_list *list, const lab_traits *traits, bool scattered)
{
    static const int64_t counts[] = {2, 3, 7, 1, 4};
    const sizes_t shapes[] = {{3, 5, 4},
                              {traits->bm + 1, 2, traits->bk + 1},
                              {1, traits->bn + 1, 3},
                              {traits->bm, traits->bn, 2 * traits->bk}};
    for (int shape = 0; shape < 4; shape++)
        for (int way = 0; way < (scattered ? 1 : WAYS); way++)
            for (int i = 0; i < 2; i++) {
                if (shape == 3)
                    add(list, shapes[shape], LAB_LAYOUT_rows, LAB_LAYOUT_rows, LAB_LAYOUT_rows, 0, 1, LAB_REALS);
                else
                    add_any(list, shapes[shape]);
                if (list->out_of_memory)
                    return;
                lab_case *last = &list->cases[list->count - 1];
                make_batch(last, shape == 3 ? 3 : counts[(way + i + shape) % 5], way);
                last->scattered = scattered;
            }
}

static const lab_epilogue epilogues[] = {
    {LAB_BIAS_COL, RUNG_ACTIVATION_GELU, true},   {LAB_BIAS_ROW, RUNG_ACTIVATION_RELU, false},
    {LAB_BIAS_NONE, RUNG_ACTIVATION_NONE, true},  {LAB_BIAS_FULL, RUNG_ACTIVATION_NONE, false},
    {LAB_BIAS_NONE, RUNG_ACTIVATION_GELU, false}, {LAB_BIAS_FULL, RUNG_ACTIVATION_GELU_TANH, true},
    {LAB_BIAS_COL, RUNG_ACTIVATION_SILU, false},
};

/* Integers have no activation but relu. */
static lab_epilogue fitting(const lab_case_list *list, lab_epilogue epilogue)
{
    if (list->whole && epilogue.activation > RUNG_ACTIVATION_RELU)
        epilogue.activation = RUNG_ACTIVATION_RELU;
    return epilogue;
}

static void add_epilogue(lab_case_list *list, sizes_t size, lab_epilogue epilogue, int64_t splits, bool dense)
{
    if (dense)
        add(list, size, LAB_LAYOUT_rows, LAB_LAYOUT_rows, LAB_LAYOUT_rows, 0, 3, LAB_REALS);
    else
        add_any(list, size);
    if (list->out_of_memory)
        return;
    lab_case *last = &list->cases[list->count - 1];
    last->epilogue = fitting(list, epilogue);
    last->splits = splits;
    if (draw(list, 7, 3) == 0)
        make_batch(last, 2, 0);
}

/* Each epilogue on sizes that are no whole tiles; the first of them also on whole ones. */
static void add_epilogues(lab_case_list *list, const lab_traits *traits, int count)
{
    const sizes_t small = {5, 6, 7}, edge = {traits->bm + 1, traits->bn - 1, traits->bk + 1};
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < 4; j++)
            add_epilogue(list, j % 2 ? edge : small, epilogues[i], 0, false);
        if (i == 0)
            add_epilogue(list, (sizes_t){traits->bm, traits->bn, 2 * traits->bk}, epilogues[i], 0, true);
    }
}

/* Shares of k that divide it and that do not, one step long and more, with an epilogue
 * that would show if it were applied to each. */
static void add_splits(lab_case_list *list, const lab_traits *traits)
{
    const lab_epilogue none = {LAB_BIAS_NONE, RUNG_ACTIVATION_NONE, false};
    int64_t bk = traits->bk;
    for (int64_t splits = 2; splits < 6; splits++) {
        add_epilogue(list, (sizes_t){5, 6, 4 * bk + 3}, none, splits, false);
        add_epilogue(list, (sizes_t){traits->bm + 1, 3, 2 * splits * bk}, none, splits, false);
        add_epilogue(list, (sizes_t){3, traits->bn + 1, splits * bk - 1}, epilogues[0], splits, false);
    }
    add_epilogue(list, (sizes_t){traits->bm, traits->bn, 4 * bk}, none, 2, true);
    add_epilogue(list, (sizes_t){3, 3, 1}, none, 4, false);
}

/* A D apart from C: in several layouts, with an epilogue, in batches and with a split k. C may be any input. */
static void add_separate(lab_case_list *list, const lab_traits *traits, int count)
{
    const lab_epilogue none = {LAB_BIAS_NONE, RUNG_ACTIVATION_NONE, false};
    const bool splits = (traits->abilities & RUNG_ABILITY_SPLIT_K) != 0;
    const bool scatters = (traits->abilities & RUNG_ABILITY_BATCH_OFFSETS) != 0;
    const sizes_t shapes[] = {{5, 6, 7},
                              {traits->bm + 1, traits->bn - 1, traits->bk + 1},
                              {traits->bm, traits->bn, 2 * traits->bk},
                              {3, traits->bn + 1, 4 * traits->bk + 3}};
    for (int i = 0; i < count; i++) {
        sizes_t size = shapes[i % 4];
        add_epilogue(list, size, i == 0 ? epilogues[0] : none, splits && i % 4 == 3 ? 3 : 0, i % 4 == 2);
        if (list->out_of_memory)
            return;
        lab_case *last = &list->cases[list->count - 1];
        last->has_d = true;
        last->d = lab_form_of((lab_layout)(i % LAB_LAYOUT_COUNT_C), size.m, size.n);
        last->c = lab_form_of((lab_layout)draw(list, 8, LAB_LAYOUT_COUNT), size.m, size.n);
        lab_case_batch(last, i % 4 == 1 ? 3 : 1);
        last->scattered = scatters && i == 1;
    }
}

static void add_extras(lab_case_list *list, const lab_traits *traits, bool all)
{
    add_batches(list, traits, false);
    if (traits->abilities & RUNG_ABILITY_EPILOGUE)
        add_epilogues(list, traits, all ? (int)(sizeof epilogues / sizeof *epilogues) : 1);
    if (traits->abilities & RUNG_ABILITY_EPILOGUE)
        add_separate(list, traits, all ? LAB_LAYOUT_COUNT_C : 2);
    if (traits->abilities & RUNG_ABILITY_SPLIT_K)
        add_splits(list, traits);
}

/* ---- Suites ------------------------------------------------------------------------------------------ */

static void add_tile(lab_case_list *list, sizes_t tile)
{
    const sizes_t fours = {(tile.m + 7) / 4 * 4, (tile.n + 7) / 4 * 4, (3 * tile.k + 7) / 4 * 4};
    add_edges(list, tile);
    add_any(list, (sizes_t){2 * tile.m, tile.n, 2 * tile.k});
    add(list, tile, LAB_LAYOUT_rows, LAB_LAYOUT_rows, LAB_LAYOUT_rows, 0, 1, LAB_REALS);
    add(list, tile, LAB_LAYOUT_columns, LAB_LAYOUT_columns, LAB_LAYOUT_rows, 3, 0, LAB_REALS);
    add(list, (sizes_t){tile.m + 16, tile.n + 16, tile.k + 16}, LAB_LAYOUT_aligned_block, LAB_LAYOUT_columns,
        LAB_LAYOUT_aligned_block, 0, 3, LAB_REALS);
    add(list, (sizes_t){tile.m + 3, tile.n + 5, tile.k + 7}, LAB_LAYOUT_aligned_block, LAB_LAYOUT_aligned_block,
        LAB_LAYOUT_aligned_block, 3, 1, LAB_REALS);
    add(list, fours, LAB_LAYOUT_rows, LAB_LAYOUT_rows, LAB_LAYOUT_rows, 0, 0, LAB_REALS);
    add(list, fours, LAB_LAYOUT_columns, LAB_LAYOUT_aligned_block, LAB_LAYOUT_columns, 1, 3, LAB_INTEGERS);
    add(list, (sizes_t){tile.m + 16, tile.n, 4 * tile.k + 16}, LAB_LAYOUT_aligned_block, LAB_LAYOUT_columns,
        LAB_LAYOUT_rows, 0, 3, LAB_REALS); /* chunks of 16, and more tiles than stages */
}

lab_case_list lab_cases_of(lab_suite suite, lab_traits traits)
{
    lab_case_list list = {.whole = traits.whole};
    sizes_t tile = {traits.bm, traits.bn, traits.bk};
    if (suite == LAB_SUITE_tile) {
        add_any(&list, (sizes_t){tile.m + 1, tile.n - 1, tile.k + 1});
        add_any(&list, (sizes_t){2 * tile.m + 1, tile.n, 2 * tile.k - 1});
        add(&list, tile, LAB_LAYOUT_rows, LAB_LAYOUT_rows, LAB_LAYOUT_rows, 3, 1, LAB_REALS);
        return list;
    }
    if (suite != LAB_SUITE_extras && suite != LAB_SUITE_scattered)
        add_tile(&list, tile);
    if (suite == LAB_SUITE_full || suite == LAB_SUITE_types || suite == LAB_SUITE_quick) {
        add_small(&list, suite == LAB_SUITE_full ? 5 : 2);
        add_scalars(&list, (sizes_t){tile.m + 1, 3, tile.k + 1});
    }
    if (suite == LAB_SUITE_full || suite == LAB_SUITE_types)
        add_shapes(&list);
    if (suite == LAB_SUITE_full) {
        add_edges(&list, tile);
        add_paths(&list, tile);
        add_layouts(&list, (sizes_t){tile.m + 3, tile.n + 5, tile.k + 2});
    }
    if (suite == LAB_SUITE_full || suite == LAB_SUITE_types || suite == LAB_SUITE_extras)
        add_extras(&list, &traits, suite != LAB_SUITE_types);
    if ((suite == LAB_SUITE_full || suite == LAB_SUITE_types || suite == LAB_SUITE_scattered) &&
        traits.abilities & RUNG_ABILITY_BATCH_OFFSETS)
        add_batches(&list, &traits, true);
    return list;
}

/* ---- Epilogues as texts --------------------------------------------------------------------------------- */

static const char *const bias_words[] = {
#define X(name, word) word,
    LAB_BIAS_LIST(X)
#undef X
};

static bool is_word(const char *text, size_t length, const char *word)
{
    return *word && strlen(word) == length && strncmp(text, word, length) == 0;
}

static bool read_word(const char *text, size_t length, lab_epilogue *epilogue)
{
    for (int i = 0; i < LAB_BIAS_COUNT; i++)
        if (is_word(text, length, bias_words[i])) {
            bool is_first = epilogue->bias == LAB_BIAS_NONE;
            epilogue->bias = (lab_bias)i;
            return is_first;
        }
    for (int i = 0; i < LAB_ACTIVATION_COUNT; i++)
        if (is_word(text, length, rung_activation_name((rung_activation)i))) {
            bool is_first = epilogue->activation == RUNG_ACTIVATION_NONE;
            epilogue->activation = (rung_activation)i;
            return is_first;
        }
    epilogue->residual = true;
    return is_word(text, length, "residual");
}

bool lab_read_epilogue(const char *text, lab_epilogue *epilogue)
{
    *epilogue = (lab_epilogue){LAB_BIAS_NONE, RUNG_ACTIVATION_NONE, false};
    while (text && *text) {
        size_t length = strcspn(text, ",");
        if (!read_word(text, length, epilogue))
            return false;
        text += length + (text[length] == ',');
    }
    return true;
}

void lab_write_epilogue(lab_epilogue epilogue, char *text, size_t capacity)
{
    const char *words[] = {bias_words[epilogue.bias],
                           epilogue.activation == RUNG_ACTIVATION_NONE ? "" : rung_activation_name(epilogue.activation),
                           epilogue.residual ? "residual" : ""};
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < 3; i++)
        if (*words[i] && used < capacity)
            used += (size_t)snprintf(text + used, capacity - used, "%s%s", used ? "," : "", words[i]);
}

/* ---- Dense problems -------------------------------------------------------------------------------- */

static int by_size(const void *first, const void *second)
{
    const lab_case *a = first, *b = second;
    int64_t a_size = a->m * a->n * a->k, b_size = b->m * b->n * b->k;
    return a_size != b_size ? (a_size > b_size) - (a_size < b_size) : (a->k > b->k) - (a->k < b->k);
}

static void add_dense(lab_case_list *list, sizes_t size, int64_t alpha, int64_t beta)
{
    add(list, size, LAB_LAYOUT_rows, LAB_LAYOUT_rows, LAB_LAYOUT_rows, alpha, beta, LAB_REALS);
}

void lab_cases_prepend_dense(lab_case_list *list, lab_traits traits)
{
    const int64_t ms[] = {1, traits.bm - 1, traits.bm, traits.bm + 1},
                  ns[] = {1, traits.bn - 1, traits.bn, traits.bn + 1};
    const int64_t ks[] = {1, traits.bk - 1, traits.bk, traits.bk + 1, 3 * traits.bk};
    lab_case_list all = {.whole = traits.whole};
    for (int m = 0; m < 4; m++)
        for (int n = 0; n < 4; n++)
            for (int k = 0; k < 5; k++)
                if (ms[m] > 0 && ns[n] > 0 && ks[k] > 0)
                    add_dense(&all, (sizes_t){ms[m], ns[n], ks[k]}, 0, 0);
    if (!all.out_of_memory)
        qsort(all.cases, (size_t)all.count, sizeof *all.cases, by_size);
    for (int64_t i = 1; i < SCALARS * SCALARS; i++)
        add_dense(&all, (sizes_t){2, 3, traits.bk + 1}, i / SCALARS, i % SCALARS);
    for (int64_t i = 0; i < list->count && !all.out_of_memory; i++)
        append(&all, list->cases[i]);
    all.out_of_memory = all.out_of_memory || list->out_of_memory;
    free(list->cases);
    *list = all;
}
