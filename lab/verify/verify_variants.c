/* SPDX-License-Identifier: Apache-2.0 */
/* verify_variants.c - which kernels, types and parameters rung verify runs, and on which cases. */
#include <stdlib.h>

#include "target/parameters.h"
#include "verify/verify_session.h"

bool lab_variant_is_file(const lab_verify_variant *variant)
{
    return variant->kernel && rung_kernel_describe(variant->kernel)->number == -1;
}

static void add_variant(lab_verify_session *session, const rung_kernel *kernel, const char *parameters, lab_suite suite,
                        const lab_dtype *dtype)
{
    if (session->variant_count == LAB_VERIFY_VARIANTS_MAX)
        return;
    lab_verify_variant *added = &session->variants[session->variant_count++];
    added->kernel = kernel;
    snprintf(added->name, sizeof added->name, "%s", kernel ? rung_kernel_describe(kernel)->name : "rung_gemm");
    added->dtype = *dtype;
    added->suite = suite;
    snprintf(added->parameters, sizeof added->parameters, "%s", parameters ? parameters : "");
}

/* Adds the presets of a kernel and every other choice of each parameter. */
static void add_presets_and_choices(lab_verify_session *session, const rung_kernel *kernel, lab_suite suite,
                                    const lab_dtype *dtype)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    for (int64_t i = 0; i < info->preset_count; i++)
        add_variant(session, kernel, rung_kernel_preset(kernel, i)->name, suite, dtype);
    for (int64_t i = 0; i < info->parameter_count; i++)
        for (int64_t j = 0; j < rung_kernel_parameter(kernel, i)->choice_count; j++) {
            char parameters[LAB_PARAMETERS_BYTES];
            snprintf(parameters, sizeof parameters, "%s=%lld", rung_kernel_parameter(kernel, i)->name,
                     (long long)rung_kernel_parameter(kernel, i)->choices[j]);
            if (rung_kernel_parameter(kernel, i)->choices[j] != rung_kernel_parameter(kernel, i)->value &&
                rung_kernel_check(kernel, parameters) == RUNG_OK)
                add_variant(session, kernel, parameters, suite, dtype);
        }
}

/* Adds a kernel for a type other than the first: all cases that depend on the type with small tiles, and a few cases
 * with the default tiles. Compiling every path for every type takes longer the larger the tiles are. */
static void add_further_type(lab_verify_session *session, const rung_kernel *kernel, lab_suite suite,
                             const lab_dtype *dtype)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    const char *sum = rung_type_name(lab_type_pair_accumulator(dtype->product));
    add_variant(session, kernel, lab_kernel_has_preset(kernel, "tiny") ? "tiny" : NULL, suite, dtype);
    add_variant(session, kernel, lab_kernel_has_preset(kernel, sum) ? sum : info->defaults, LAB_SUITE_tile, dtype);
}

/* Returns whether checking a problem of one tile takes so long that only few cases are possible. */
static bool has_large_tiles(const rung_kernel *kernel)
{
    const char *defaults = rung_kernel_describe(kernel)->defaults;
    return lab_kernel_value_or(kernel, defaults, RUNG_F32, "BM * BN * BK", 0) > 1 << 18;
}

/* Adds everything of a kernel that can be compiled, for the first type. The defaults are named, because a plan may
 * prefer a preset. If a matrix engine is emulated or the tiles are large, only small tiles are fast enough for many
 * cases. */
static void add_first_type(lab_verify_session *session, const rung_kernel *kernel, const lab_dtype *dtype)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    bool is_slow = lab_kernel_is_emulated(kernel) || has_large_tiles(kernel);
    if (is_slow)
        add_further_type(session, kernel, LAB_SUITE_full, dtype);
    else
        add_variant(session, kernel, info->defaults, LAB_SUITE_full, dtype);
    add_presets_and_choices(session, kernel, is_slow ? LAB_SUITE_tile : LAB_SUITE_edges, dtype);
}

/* Adds a kernel as the options request it, or all its variants without options. A type that the kernel does not support
 * is reported only if the kernel was named. Returns false if --params is too long. */
static bool add_kernel(lab_verify_session *session, const rung_kernel *kernel)
{
    const lab_options *options = session->options;
    char given[LAB_PARAMETERS_BYTES] = ""; /* the parameters of --params that this kernel has */
    if (options->params && !lab_parameters_select(kernel, options->params, given, sizeof given))
        return false;
    bool is_requested = options->params || session->suite != LAB_SUITE_full || options->m, is_first = true;
    bool is_slow = !session->kernels && lab_kernel_is_emulated(kernel);
    for (int i = 0; i < session->dtype_count; i++) {
        const lab_dtype *dtype = &session->dtypes[i];
        if (!session->kernels && !lab_kernel_accepts_dtype(kernel, dtype))
            continue;
        if (is_requested)
            add_variant(session, kernel, is_slow && !options->params ? "tiny" : given, session->suite, dtype);
        else if (is_first)
            add_first_type(session, kernel, dtype);
        else
            add_further_type(session, kernel, LAB_SUITE_types, dtype);
        is_first = false;
    }
    return true;
}

/* Adds rung_gemm, which chooses kernel and parameters itself. */
static void add_rung_gemm(lab_verify_session *session)
{
    bool full = session->suite == LAB_SUITE_full && !session->options->m;
    for (int i = 0; i < session->dtype_count; i++)
        add_variant(session, NULL, NULL, full && i > 0 ? LAB_SUITE_tile : session->suite, &session->dtypes[i]);
}

int lab_verify_add_variants(lab_verify_session *session)
{
    const char *list = session->kernels;
    const rung_kernel *kernels[LAB_KERNELS_MAX];
    int count, code = lab_target_kernels(&session->target, list, kernels, &count);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    char why[2048];
    if (!lab_parameters_check(kernels, count, session->options->params, why, sizeof why))
        return lab_usage_error("verify", why);
    for (int i = 0; i < count; i++) {
        if (!kernels[i] && session->options->packed)
            return lab_usage_error("verify", "--packed is for kernels; rung_gemm does not take a packed B");
        if (!kernels[i])
            add_rung_gemm(session);
        else if ((list || rung_kernel_describe(kernels[i])->number > 0) && /* vendor libraries only if named */
                 !add_kernel(session, kernels[i]))
            return lab_usage_error("verify", "--params is too long");
    }
    if (!list && !session->options->params)
        add_rung_gemm(session);
    for (int i = 0; i < session->variant_count; i++) {
        lab_verify_variant *variant = &session->variants[i];
        bool is_32_bit = rung_type_size(variant->dtype.product.in) ==
                         4; /* for other types, creating the plan checks the parameters */
        if (variant->kernel && is_32_bit && rung_kernel_check(variant->kernel, variant->parameters) != RUNG_OK)
            return lab_usage_error("verify", rung_error_text());
    }
    return LAB_EXIT_SUCCESS;
}

/* ---- Cases ---------------------------------------------------------------------------------------- */

/* Returns a tile size of the variant, or `otherwise`. */
static int64_t tile_size(const lab_verify_variant *variant, const char *name, int64_t otherwise)
{
    if (!variant->kernel)
        return otherwise;
    int64_t size = lab_kernel_value_or(variant->kernel, variant->parameters, variant->dtype.product.in, name,
                                       otherwise);
    return size > 4096 ? otherwise : size;
}

/* rung_gemm supports everything except a given number of split-K slices. */
lab_kernel_traits lab_variant_traits(const lab_verify_variant *variant)
{
    return (lab_kernel_traits){
        .bm = tile_size(variant, "BM", 16),
        .bn = tile_size(variant, "BN", 16),
        .bk = tile_size(variant, "BK", 8),
        .is_integer = lab_type_is_integer(variant->dtype.product.in),
        .k_block = lab_type_pair_block(variant->dtype.product),
        .abilities = variant->kernel ? rung_kernel_describe(variant->kernel)->abilities
                                     : RUNG_ABILITY_BATCH_OFFSETS | RUNG_ABILITY_EPILOGUE,
    };
}

/* Applies --batch, --splits and --epilogue to a case of a suite. */
static void apply_options(const lab_verify_session *session, lab_case *problem)
{
    const lab_options *options = session->options;
    if (options->batch) {
        lab_case_set_batch(problem, session->batch);
        problem->scattered = options->scattered != NULL;
    }
    if (options->splits)
        problem->splits = session->splits;
    if (options->epilogue)
        problem->epilogue = session->epilogue;
}

lab_case_list lab_cases_with_each_content(const lab_case *problem)
{
    lab_case_list list = {.cases = calloc(LAB_CONTENT_COUNT, sizeof(lab_case)), .count = LAB_CONTENT_COUNT};
    list.out_of_memory = !list.cases;
    for (int i = 0; list.cases && i < LAB_CONTENT_COUNT; i++) {
        list.cases[i] = *problem;
        list.cases[i].content = (lab_content)i;
        list.cases[i].has_guard = i % 2 != 0;
        list.cases[i].is_plan_reused = i == 0;
    }
    return list;
}

/* Returns the cases of --m. By default, B is dense along k if it has blocks. */
static lab_case_list single_cases(const lab_verify_session *session, const lab_verify_variant *variant)
{
    lab_case single = session->single_case;
    single.k_block = lab_type_pair_block(variant->dtype.product);
    if (!session->options->b_strides && single.k_block > 1) {
        int64_t batch_stride = single.b.batch_stride; /* of dense rows, which have as many elements */
        single.b = lab_case_dense_b(&single);
        single.b.batch_stride = batch_stride;
    }
    return lab_cases_with_each_content(&single);
}

lab_case_list lab_variant_cases(const lab_verify_session *session, const lab_verify_variant *variant)
{
    if (!session->options->m) {
        lab_case_list suite = lab_suite_cases(variant->suite, lab_variant_traits(variant));
        if (lab_variant_is_file(variant) && variant->suite != LAB_SUITE_aligned && session->every == 1 &&
            !session->device.is_simulator)
            lab_cases_prepend_dense(&suite, lab_variant_traits(variant));
        for (int64_t i = 0; i < suite.count; i++)
            apply_options(session, &suite.cases[i]);
        return suite;
    }
    return single_cases(session, variant);
}
