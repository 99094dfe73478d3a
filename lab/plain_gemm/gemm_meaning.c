/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_meaning.c - see gemm_meaning.h. */
#include "plain_gemm/gemm_meaning.h"

#include <stdio.h>
#include <string.h>

#include "cli/interrupt.h"
#include "common/text.h"

static int count_slots(const lab_gemm_kernel *kernel, lab_role first, lab_role last)
{
    int count = 0;
    for (int i = 0; i < kernel->slot_count; i++)
        count += kernel->slots[i].role >= first && kernel->slots[i].role <= last;
    return count;
}

static int count_unknown_integers(const lab_gemm_kernel *kernel)
{
    int count = 0;
    for (int i = 0; i < kernel->slot_count; i++)
        count += kernel->slots[i].role == LAB_ROLE_UNKNOWN && kernel->slots[i].type.is_integer;
    return count;
}

bool lab_gemm_has_functor(const lab_gemm_kernel *kernel)
{
    for (int i = 0; i < kernel->slot_count; i++) {
        int fields = 0;
        for (int f = 0; f < kernel->slot_count; f++)
            fields += kernel->slots[f].parameter == kernel->slots[i].parameter && kernel->slots[f].field >= 0;
        if (kernel->slots[i].type.is_struct && (fields == 0 || kernel->is_copied[kernel->slots[i].parameter]))
            return true;
    }
    return false;
}

bool lab_gemm_is_square(const lab_gemm_kernel *kernel)
{
    return count_slots(kernel, LAB_ROLE_SIZE, LAB_ROLE_SIZE) > 0 && count_slots(kernel, LAB_ROLE_M, LAB_ROLE_K) == 0;
}

/* ---- Interpretations ---- */

/* Epilogues: activation, and whether the bias has one element per row. */
static const struct {
    rung_activation activation;
    bool is_per_row;
} epilogues[] = {{RUNG_ACTIVATION_NONE, false},      {RUNG_ACTIVATION_RELU, false}, {RUNG_ACTIVATION_GELU, false},
                 {RUNG_ACTIVATION_GELU_TANH, false}, {RUNG_ACTIVATION_SILU, false}, {RUNG_ACTIVATION_NONE, true},
                 {RUNG_ACTIVATION_RELU, true}};
enum { EPILOGUES = sizeof epilogues / sizeof *epilogues, FUNCTOR_EPILOGUES = 2 };

/* What may vary for a kernel. */
typedef struct variations {
    int orders;    /* of sizes: 1 or 6 */
    int epilogues; /* with a bias all, with a functor those without a bias that are common */
    bool can_add;  /* there is no beta, and C may be an addend */
} variations_t;

static variations_t variations_of(const lab_gemm_kernel *kernel)
{
    bool has_bias = count_slots(kernel, LAB_ROLE_BIAS, LAB_ROLE_BIAS) > 0;
    bool has_sizes = count_slots(kernel, LAB_ROLE_M, LAB_ROLE_K) > 1 || count_unknown_integers(kernel) > 0;
    return (variations_t){.orders = has_sizes ? 6 : 1,
                          .epilogues = has_bias                       ? EPILOGUES
                                       : lab_gemm_has_functor(kernel) ? FUNCTOR_EPILOGUES
                                                                      : 1,
                          .can_add = count_slots(kernel, LAB_ROLE_BETA, LAB_ROLE_BETA) == 0 &&
                                     count_slots(kernel, LAB_ROLE_D, LAB_ROLE_D) == 0};
}

/* The layouts of A, B and C in the order of how common they are: 1 is by columns. */
static const bool layouts[8][3] = {{0, 0, 0}, {1, 1, 1}, {0, 1, 0}, {1, 0, 0},
                                   {1, 1, 0}, {0, 0, 1}, {1, 0, 1}, {0, 1, 1}};

/* The orders of M, N and K. */
static const lab_role orders[6][3] = {{LAB_ROLE_M, LAB_ROLE_N, LAB_ROLE_K}, {LAB_ROLE_M, LAB_ROLE_K, LAB_ROLE_N},
                                      {LAB_ROLE_N, LAB_ROLE_M, LAB_ROLE_K}, {LAB_ROLE_K, LAB_ROLE_M, LAB_ROLE_N},
                                      {LAB_ROLE_N, LAB_ROLE_K, LAB_ROLE_M}, {LAB_ROLE_K, LAB_ROLE_N, LAB_ROLE_M}};

/* Sets interpretation number `index`. Returns false after the last one. */
static bool set_interpretation(const variations_t *variations, int index, lab_gemm_meaning *meaning)
{
    int adds = variations->can_add ? 2 : 1, ends = variations->epilogues;
    int layout = index % 8, end = index / 8 % ends, add = index / (8 * ends) % adds, rest = index / (8 * ends * adds);
    int order = rest % variations->orders, swap = rest / variations->orders;
    if (swap > 1)
        return false;
    *meaning = lab_gemm_meaning_default();
    memcpy(meaning->sizes, orders[order], sizeof meaning->sizes);
    memcpy(meaning->unknown, orders[order], sizeof meaning->unknown);
    meaning->is_a_transposed = layouts[layout][0];
    meaning->is_b_transposed = layouts[layout][1];
    meaning->is_c_transposed = layouts[layout][2];
    meaning->activation = epilogues[end].activation;
    meaning->is_bias_per_row = epilogues[end].is_per_row;
    meaning->adds_to_c = add == 1;
    meaning->swaps_inputs = swap == 1;
    return true;
}

/* Exchanges the roles of the inputs in the slots, so that A is the left factor. */
static void exchange_inputs(lab_gemm_kernel *kernel)
{
    static const lab_role pairs[][2] = {
        {LAB_ROLE_A, LAB_ROLE_B}, {LAB_ROLE_LDA, LAB_ROLE_LDB}, {LAB_ROLE_BATCH_A, LAB_ROLE_BATCH_B}};
    for (int i = 0; i < kernel->slot_count; i++)
        for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
            if (kernel->slots[i].role == pairs[p][0] || kernel->slots[i].role == pairs[p][1]) {
                kernel->slots[i].role = pairs[p][kernel->slots[i].role == pairs[p][0]];
                break;
            }
}

/* Returns whether other interpretations cannot help, or would take too long. */
static bool is_final(const lab_gemm_result *result)
{
    return result->outcome == LAB_GEMM_ERROR || result->outcome == LAB_GEMM_ENDLESS || result->outcome == LAB_GEMM_LATE;
}

/* Tries every interpretation for one problem. Returns whether one fits. */
static bool try_interpretations(lab_gemm_kernel *kernel, const lab_gemm_problem *problem, lab_gemm_meaning *meaning,
                                lab_gemm_result *result)
{
    variations_t variations = variations_of(kernel);
    for (int i = 0; set_interpretation(&variations, i, meaning) && !lab_is_interrupted(); i++) {
        *result = lab_gemm_run(kernel, meaning, problem);
        if (result->outcome == LAB_GEMM_RIGHT) {
            if (meaning->swaps_inputs)
                exchange_inputs(kernel);
            meaning->swaps_inputs = false;
            return true;
        }
        if (is_final(result))
            return false;
    }
    return false;
}

/* What lab_gemm_formula_try() needs in addition to the product. */
typedef struct formula_search {
    bool has_alpha, has_beta;
    lab_gemm_formula *formula;
} formula_search_t;

static void inspect(void *user, const lab_gemm_product *product)
{
    const formula_search_t *search = user;
    lab_gemm_formula_try(product, search->has_alpha, search->has_beta, search->formula);
}

/* Looks for a formula that is almost right, under every interpretation of the outputs that are already known. */
static void find_formula(lab_gemm_kernel *kernel, const lab_gemm_problem *problem, lab_gemm_formula *formula)
{
    formula_search_t search = {count_slots(kernel, LAB_ROLE_ALPHA, LAB_ROLE_ALPHA) > 0,
                               count_slots(kernel, LAB_ROLE_BETA, LAB_ROLE_BETA) > 0, formula};
    variations_t variations = variations_of(kernel);
    lab_gemm_problem again = *problem;
    lab_gemm_meaning meaning;
    again.inspect = inspect;
    again.user = &search;
    for (int i = 0; set_interpretation(&variations, i, &meaning) && !formula->is_complete && !lab_is_interrupted(); i++)
        lab_gemm_run(kernel, &meaning, &again);
}

/* Tries every interpretation for one size. Returns whether one fits; otherwise looks for a formula. */
static bool try_size(lab_gemm_kernel *kernel, const int64_t size[3], lab_gemm_meaning *meaning, lab_gemm_result *result,
                     lab_gemm_formula *formula)
{
    lab_gemm_outputs outputs = {.items = NULL};
    lab_gemm_problem problem = {.m = size[0],
                                .n = size[1],
                                .k = size[2],
                                .alpha = 2,
                                .beta = 3,
                                .is_exact = true,
                                .seed = 1,
                                .outputs = &outputs};
    bool is_found = try_interpretations(kernel, &problem, meaning, result);
    if (!is_found && !is_final(result) && !lab_gemm_formula_is_good(formula))
        find_formula(kernel, &problem, formula);
    lab_gemm_outputs_free(&outputs);
    return is_found;
}

/* Returns whether a race, a barrier or shared memory makes the result of the kernel random, so that no interpretation can explain it. */
static bool is_random(lab_gemm_kernel *kernel, const int64_t size[3])
{
    lab_gemm_meaning meaning = lab_gemm_meaning_default();
    lab_gemm_problem problem = {
        .m = size[0], .n = size[1], .k = size[2], .is_exact = true, .seed = 1, .checks = RUNG_EMULATOR_CHECK_ALL};
    lab_gemm_run(kernel, &meaning, &problem);
    for (int64_t i = 0; i < rung_emulator_finding_count(kernel->emulator); i++) {
        const rung_emulator_finding *finding = rung_emulator_finding_at(kernel->emulator, i);
        bool is_shared = finding->memory == RUNG_EMULATOR_MEMORY_SHARED;
        if (finding->kind == RUNG_EMULATOR_BARRIER || finding->kind == RUNG_EMULATOR_ASYNC_COPY ||
            ((finding->kind == RUNG_EMULATOR_RACE || finding->kind == RUNG_EMULATOR_OUT_OF_BOUNDS) && is_shared) ||
            (finding->kind == RUNG_EMULATOR_UNINITIALIZED && finding->memory != RUNG_EMULATOR_MEMORY_GLOBAL))
            return true;
    }
    return false;
}

/* Returns whether a few elements are wrong under the usual formula: too few for a kernel that lacks code for partial tiles,
 * so that other sizes do not help. */
static bool is_almost_right(const lab_gemm_formula *formula)
{
    return formula->is_complete || (formula->is_usual && formula->wrong * 100 < formula->elements);
}

/* The sizes differ, so that no order of them is mistaken for another; the last one is larger than some tiles. At a cube, a
 * kernel with a wrong stride or an exchanged grid is right, too. */
static const int64_t rectangles[][3] = {{128, 256, 64},  {128, 8, 64},    {8, 128, 64},
                                        {128, 128, 128}, {256, 512, 128}, {256, 256, 256}};
static const int64_t squares[][3] = {{128, 128, 128}, {256, 256, 256}};

/* A kernel that is right at the cube, but not at the sizes before it, may take only a larger k than theirs. Tries this, so
 * that the order of the sizes is known. */
static void try_large_k(lab_gemm_kernel *kernel, lab_gemm_meaning *meaning, int64_t base[3], lab_gemm_result *result)
{
    static const int64_t large[3] = {128, 256, 384};
    lab_gemm_meaning other;
    lab_gemm_result found;
    lab_gemm_formula unused = {.is_complete = true, .score = 1};
    if (base[0] == base[1] && base[1] == base[2] && try_size(kernel, large, &other, &found, &unused)) {
        *meaning = other;
        *result = found;
        memcpy(base, large, sizeof large);
    }
}

/* Copies sizes, with those that are constants of the file in their places. Returns whether there are any. */
static bool fix_sizes(const lab_gemm_kernel *kernel, const int64_t sizes[3], int64_t to[3])
{
    bool is_fixed = false;
    for (int i = 0; i < 3; i++) {
        to[i] = kernel->fixed[i] > 0 ? kernel->fixed[i] : sizes[i];
        is_fixed = is_fixed || kernel->fixed[i] > 0;
    }
    return is_fixed;
}

bool lab_gemm_find_meaning(lab_gemm_kernel *kernel, lab_gemm_meaning *meaning, int64_t base[3], lab_gemm_result *result,
                           lab_gemm_formula *formula)
{
    bool is_square = lab_gemm_is_square(kernel);
    const int64_t(*sizes)[3] = is_square ? squares : rectangles;
    int count = is_square ? 2 : (int)(sizeof rectangles / sizeof *rectangles);
    *formula = (lab_gemm_formula){.difference = "", .fix = ""};
    for (int i = 0; i < count; i++) {
        bool is_fixed = fix_sizes(kernel, sizes[i], base);
        if (try_size(kernel, base, meaning, result, formula)) {
            if (!is_square && !is_fixed)
                try_large_k(kernel, meaning, base, result);
            return true;
        }
        bool is_only = kernel->fixed[0] > 0 && kernel->fixed[1] > 0 && kernel->fixed[2] > 0;
        if (is_final(result) || is_almost_right(formula) || is_only || (i == 0 && is_random(kernel, base)))
            break;
    }
    *meaning = lab_gemm_meaning_default();
    fix_sizes(kernel, sizes[0], base);
    return false;
}

/* ---- Text ---- */

static const char *layout_name(bool is_transposed)
{
    return is_transposed ? "column-major" : "row-major";
}

void lab_gemm_describe_meaning(const lab_gemm_kernel *kernel, const lab_gemm_meaning *meaning, char *text,
                               size_t capacity)
{
    static const char *const activations[] = {"", "relu", "gelu", "gelu_tanh", "silu"};
    bool has_alpha = count_slots(kernel, LAB_ROLE_ALPHA, LAB_ROLE_ALPHA) > 0;
    bool has_beta = count_slots(kernel, LAB_ROLE_BETA, LAB_ROLE_BETA) > 0;
    bool has_d = count_slots(kernel, LAB_ROLE_D, LAB_ROLE_D) > 0;
    const char *activation = activations[meaning->activation];
    *text = '\0';
    lab_append(text, capacity, "%s = %s%s%sA * B", has_d ? "D" : "C", activation, *activation ? "(" : "",
               has_alpha ? "alpha * " : "");
    if (has_beta)
        lab_append(text, capacity, " + beta * C");
    else if (meaning->adds_to_c || has_d)
        lab_append(text, capacity, " + C");
    if (count_slots(kernel, LAB_ROLE_BIAS, LAB_ROLE_BIAS) > 0)
        lab_append(text, capacity, " + bias%s", meaning->is_bias_per_row ? " (per row)" : "");
    lab_append(text, capacity, "%s; ", *activation ? ")" : "");
    if (meaning->is_a_transposed == meaning->is_b_transposed && meaning->is_a_transposed == meaning->is_c_transposed)
        lab_append(text, capacity, "all matrices %s", layout_name(meaning->is_a_transposed));
    else
        lab_append(text, capacity, "A %s, B %s, C %s", layout_name(meaning->is_a_transposed),
                   layout_name(meaning->is_b_transposed), layout_name(meaning->is_c_transposed));
}

lab_role lab_gemm_slot_role(const lab_gemm_kernel *kernel, const lab_gemm_meaning *meaning, int slot)
{
    lab_role role = kernel->slots[slot].role;
    int unknown = 0;
    if (role >= LAB_ROLE_M && role <= LAB_ROLE_K)
        return meaning->sizes[role - LAB_ROLE_M];
    if (role != LAB_ROLE_UNKNOWN || !kernel->slots[slot].type.is_integer)
        return role;
    for (int i = 0; i < slot; i++)
        unknown += kernel->slots[i].role == LAB_ROLE_UNKNOWN && kernel->slots[i].type.is_integer;
    return unknown < 3 ? meaning->unknown[unknown] : LAB_ROLE_M;
}

void lab_gemm_describe_unusual(const lab_gemm_kernel *kernel, const lab_gemm_meaning *meaning, char *text,
                               size_t capacity)
{
    bool a = meaning->is_a_transposed, b = meaning->is_b_transposed, c = meaning->is_c_transposed;
    bool exchanges = meaning->sizes[0] == LAB_ROLE_N && meaning->sizes[1] == LAB_ROLE_M &&
                     count_slots(kernel, LAB_ROLE_M, LAB_ROLE_N) > 1;
    *text = '\0';
    if (a && b && c && exchanges)
        lab_append(text, capacity,
                   "M is the number of columns and N that of rows. With row-major matrices and M rows, the kernel "
                   "computes C = B * A: A and B are exchanged, if A * B is meant");
    else if (a == b && c != a)
        lab_append(text, capacity, "C is %s, but A and B are %s. If that is not meant, check the index of C",
                   layout_name(c), layout_name(a));
}
