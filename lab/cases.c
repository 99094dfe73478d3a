/* SPDX-License-Identifier: Apache-2.0 */
/* cases.c - which problems are worth running.
 *
 * Not the product of everything: sizes around each edge, all layouts of the three
 * operands, all pairs of scalars with every content. What a group does not
 * enumerate is drawn, always the same for the same case. */
#include "cases.h"

#include <stdlib.h>

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
    case LAB_LAYOUT_rows: return (lab_form){wide, 1, 0};
    case LAB_LAYOUT_columns: return (lab_form){1, tall, 0};
    case LAB_LAYOUT_row_gaps: return (lab_form){wide + 3, 1, 0};
    case LAB_LAYOUT_column_gaps: return (lab_form){1, tall + 5, 0};
    case LAB_LAYOUT_block: return (lab_form){wide + 6, 1, 2 * (wide + 6) + 3};
    case LAB_LAYOUT_transposed_block: return (lab_form){1, tall + 9, 3 * (tall + 9) + 1};
    case LAB_LAYOUT_spread: return (lab_form){3 * wide + 2, 3, 5};
    case LAB_LAYOUT_aligned_block: return (lab_form){(wide + 11) / 4 * 4, 1, 8};
    case LAB_LAYOUT_repeated_rows: return (lab_form){0, 1, 0};
    case LAB_LAYOUT_repeated_columns: return (lab_form){1, 0, 0};
    case LAB_LAYOUT_repeated: return (lab_form){0, 0, 0};
    case LAB_LAYOUT_COUNT: break;
    }
    return (lab_form){wide, 1, 0};
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
} sizes;

static void add(lab_case_list *list, sizes size, lab_layout a, lab_layout b, lab_layout c,
                int64_t alpha, int64_t beta, lab_content content)
{
    bool whole = list->whole || content == LAB_INTEGERS;
    append(list, (lab_case){
        .m = size.m, .n = size.n, .k = size.k,
        .a = lab_form_of(a, size.m, size.k),
        .b = lab_form_of(b, size.k, size.n),
        .c = lab_form_of(c, size.m, size.n),
        .alpha = (whole ? whole_alphas : alphas)[alpha],
        .beta = (whole ? whole_betas : betas)[beta],
        .content = content,
        .guarded = list->count % 2 != 0,
        .rehearsed = list->count % 5 == 0,
    });
}

/* One of `count`, drawn for the next case; each `what` has draws of its own. */
static int64_t draw(const lab_case_list *list, uint64_t what, int64_t count)
{
    return lab_random(0, what, (uint64_t)list->count) % (uint64_t)count;
}

/* Scalars and content are drawn. alpha = 0 reads nothing and so shows little: it is
 * drawn one time in eight. */
static void add_layout(lab_case_list *list, sizes size, lab_layout a, lab_layout b, lab_layout c)
{
    static const int alpha_draws[] = {0, 3, 1, 0, 3, 1, 3, 2};
    add(list, size, a, b, c, alpha_draws[draw(list, 1, 8)], draw(list, 2, SCALARS),
        (lab_content)draw(list, 3, LAB_CONTENT_COUNT));
}

/* Everything but the size is drawn. */
static void add_any(lab_case_list *list, sizes size)
{
    add_layout(list, size, (lab_layout)draw(list, 4, LAB_LAYOUT_COUNT),
               (lab_layout)draw(list, 5, LAB_LAYOUT_COUNT),
               (lab_layout)draw(list, 6, LAB_LAYOUT_COUNT_C));
}

static void add_small(lab_case_list *list, int64_t largest)
{
    for (int64_t m = 0; m <= largest; m++)
        for (int64_t n = 0; n <= largest; n++)
            for (int64_t k = 0; k <= largest; k++)
                add_any(list, (sizes){m, n, k});
}

/* One less, as many, one more than a tile in each direction, and past a second. */
static void add_edges(lab_case_list *list, sizes tile)
{
    for (int64_t m = -1; m <= 1; m++)
        for (int64_t n = -1; n <= 1; n++)
            for (int64_t k = -1; k <= 1; k++)
                add_any(list, (sizes){tile.m + m, tile.n + n, tile.k + k});
    add_any(list, (sizes){2 * tile.m + 1, 2 * tile.n - 1, 2 * tile.k + 1});
    add_any(list, (sizes){2 * tile.m, tile.n + 1, 3 * tile.k});
}

static void add_layouts(lab_case_list *list, sizes size)
{
    for (int a = 0; a < LAB_LAYOUT_COUNT; a++)
        for (int b = 0; b < LAB_LAYOUT_COUNT; b++)
            for (int c = 0; c < LAB_LAYOUT_COUNT_C; c++)
                add_layout(list, size, (lab_layout)a, (lab_layout)b, (lab_layout)c);
}

/* Every path of a kernel that has several: operands aligned and dense in either
 * direction, sizes that are whole tiles and sizes that are whole pieces of four. */
static void add_paths(lab_case_list *list, sizes tile)
{
    static const lab_layout layouts[] = {LAB_LAYOUT_rows, LAB_LAYOUT_columns,
                                         LAB_LAYOUT_aligned_block};
    const sizes shapes[] = {
        {tile.m, tile.n, 2 * tile.k}, {2 * tile.m, tile.n, tile.k},
        {(tile.m + 7) / 4 * 4, (tile.n + 11) / 4 * 4, (tile.k + 7) / 4 * 4},
        {(tile.m + 1) / 8 * 4, 4, (2 * tile.k + 11) / 4 * 4},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                for (int c = 0; c < 3; c++)
                    add_layout(list, shapes[i], layouts[a], layouts[b], layouts[c]);
}

static void add_scalars(lab_case_list *list, sizes size)
{
    for (int content = 0; content < LAB_CONTENT_COUNT; content++)
        for (int64_t alpha = 0; alpha < SCALARS; alpha++)
            for (int64_t beta = 0; beta < SCALARS; beta++)
                add(list, size, LAB_LAYOUT_rows, LAB_LAYOUT_rows, LAB_LAYOUT_row_gaps, alpha, beta,
                    (lab_content)content);
}

static void add_shapes(lab_case_list *list)
{
    static const sizes shapes[] = {
        {1, 1, 4099}, {3, 5, 4099}, {1, 257, 33}, {257, 1, 33}, {1, 1, 1}, {200, 3, 7},
        {3, 200, 7}, {2, 2, 1021}, {129, 65, 1}, {65, 129, 2}, {100, 100, 100},
    };
    for (int round = 0; round < 4; round++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            add_any(list, shapes[i]);
}

lab_case_list lab_cases_of(lab_suite suite, int64_t bm, int64_t bn, int64_t bk, bool whole)
{
    lab_case_list list = {.whole = whole};
    sizes tile = {bm, bn, bk};
    add_edges(&list, tile);
    add_any(&list, (sizes){2 * tile.m, tile.n, 2 * tile.k});
    add(&list, tile, LAB_LAYOUT_rows, LAB_LAYOUT_rows, LAB_LAYOUT_rows, 0, 1, LAB_REALS);
    add(&list, tile, LAB_LAYOUT_columns, LAB_LAYOUT_columns, LAB_LAYOUT_rows, 3, 0, LAB_REALS);
    add(&list, (sizes){(tile.m + 7) / 4 * 4, (tile.n + 7) / 4 * 4, (3 * tile.k + 7) / 4 * 4},
        LAB_LAYOUT_rows, LAB_LAYOUT_rows, LAB_LAYOUT_rows, 0, 0, LAB_REALS);
    add(&list, (sizes){(tile.m + 7) / 4 * 4, (tile.n + 7) / 4 * 4, (3 * tile.k + 7) / 4 * 4},
        LAB_LAYOUT_columns, LAB_LAYOUT_aligned_block, LAB_LAYOUT_columns, 1, 3, LAB_INTEGERS);
    if (suite == LAB_SUITE_EDGES)
        return list;
    add_small(&list, suite == LAB_SUITE_FULL ? 5 : 2);
    add_scalars(&list, (sizes){bm + 1, 3, bk + 1});
    if (suite == LAB_SUITE_QUICK)
        return list;
    add_edges(&list, tile);
    add_paths(&list, tile);
    add_layouts(&list, (sizes){bm + 3, bn + 5, bk + 2});
    add_shapes(&list);
    return list;
}
