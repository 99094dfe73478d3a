/* SPDX-License-Identifier: Apache-2.0 */
/* verify_options.c - parses the options of rung verify into its session. */
#include <stdlib.h>
#include <string.h>

#include "common/enum_names.h"
#include "verify/oracle.h"
#include "verify/verify_session.h"

enum { COUNT_MAX = 1 << 30, THREADS_MAX = 8192 };

static int usage(const char *message)
{
    return lab_usage_error("verify", message);
}

static int reject(const char *option, const char *value, const char *valid)
{
    return lab_option_error("verify", option, value, valid);
}

#define SUITE_NAME(name) #name,
LAB_DEFINE_STATIC_ENUM_TEXT(suite_name, lab_suite, LAB_SUITE_LIST, SUITE_NAME)

/* Parses the name of a suite; the first one is the default. */
static bool parse_suite(const char *text, lab_suite *suite)
{
    *suite = LAB_SUITE_full;
    while (text && *suite < LAB_SUITE_COUNT && strcmp(suite_name(*suite), text) != 0)
        (*suite)++;
    return *suite < LAB_SUITE_COUNT;
}

/* ---- One problem, given by --m -------------------------------------------------------------------- */

/* Places the items of a batch one after the other. Sizes that exceed any memory are rejected later. */
static void set_batch_stride(lab_strides *strides, int64_t rows, int64_t cols)
{
    double extent = (double)strides->offset + (double)rows * (double)strides->row_stride +
                    (double)cols * (double)strides->col_stride;
    strides->batch_stride = extent < 0x1p62 ? lab_strides_extent(*strides, rows, cols) : 0;
}

/* Parses "R,C", "R,C,OFFSET" or "R,C,OFFSET,BATCH". The default is dense and row-major. */
static bool parse_strides(const char *text, int64_t rows, int64_t cols, lab_strides *strides)
{
    char copy[96], *rest = copy;
    int64_t *fields[] = {&strides->row_stride, &strides->col_stride, &strides->offset, &strides->batch_stride};
    int count = 0;
    *strides = lab_strides_of_layout(LAB_LAYOUT_rows, rows, cols);
    snprintf(copy, sizeof copy, "%s", text ? text : "");
    while (text && rest && count < 4) {
        char *comma = strchr(rest, ',');
        if (comma)
            *comma = '\0';
        if (!lab_parse_integer(rest, fields[count]) || *fields[count] < 0)
            return false;
        count++;
        rest = comma ? comma + 1 : NULL;
    }
    if (count < 4)
        set_batch_stride(strides, rows, cols);
    return !text || (!rest && count >= 2);
}

static int parse_sizes(const lab_options *options, lab_case *single)
{
    const struct {
        const char *option, *text;
        int64_t *size;
    } sizes[] = {{"--m", options->m, &single->m}, {"--n", options->n, &single->n}, {"--k", options->k, &single->k}};
    for (int i = 0; i < 3; i++) {
        *sizes[i].size = single->m;
        if (sizes[i].text && (!lab_parse_integer(sizes[i].text, sizes[i].size) || *sizes[i].size < 0))
            return reject(sizes[i].option, sizes[i].text, "use a whole number of at least 0");
    }
    return LAB_EXIT_SUCCESS;
}

static int parse_all_strides(const lab_options *options, lab_case *single)
{
    const struct {
        const char *option, *text;
        int64_t rows, cols;
        lab_strides *strides;
    } operands[] = {{"--a-strides", options->a_strides, single->m, single->k, &single->a},
                    {"--b-strides", options->b_strides, single->k, single->n, &single->b},
                    {"--c-strides", options->c_strides, single->m, single->n, &single->c},
                    {"--d-strides", options->d_strides, single->m, single->n, &single->d}};
    for (int i = 0; i < 4; i++)
        if (!parse_strides(operands[i].text, operands[i].rows, operands[i].cols, operands[i].strides))
            return reject(operands[i].option, operands[i].text,
                          "use ROW,COLUMN[,OFFSET[,BATCH]], each at least 0, for example 64,1");
    return LAB_EXIT_SUCCESS;
}

/* Reports a k that is no multiple of the blocks of B. */
static int reject_k(int64_t k, const lab_dtype *dtype, int64_t block)
{
    char message[192];
    snprintf(message, sizeof message, "k is %lld; with %s it must be a multiple of %lld, the elements per block of B",
             (long long)k, dtype->name, (long long)block);
    return usage(message);
}

static int parse_single_case(lab_verify_session *session)
{
    const lab_options *options = session->options;
    lab_case *single = &session->single_case;
    *single = (lab_case){.alpha = 1,
                         .batch = options->batch ? session->batch : 1,
                         .scattered = options->scattered != NULL,
                         .splits = session->splits,
                         .epilogue = session->epilogue,
                         .has_d = options->d_strides != NULL};
    int code = parse_sizes(options, single);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    if (options->alpha && !lab_parse_number(options->alpha, &single->alpha))
        return reject("--alpha", options->alpha, "use a number");
    if (options->beta && !lab_parse_number(options->beta, &single->beta))
        return reject("--beta", options->beta, "use a number");
    for (int i = 0; i < session->dtype_count; i++) {
        int64_t block = lab_type_pair_block(session->dtypes[i].product);
        if (!lab_oracle_can_check_k(session->dtypes[i].product, single->k))
            return usage("k is too large to check: the error bound would accept any result. Use a smaller --k");
        if (single->k % block != 0)
            return reject_k(single->k, &session->dtypes[i], block);
    }
    return parse_all_strides(options, single);
}

/* ---- All options ------------------------------------------------------------------------------------ */

static int parse_integers(lab_verify_session *session)
{
    const lab_options *options = session->options;
    const struct {
        const char *option, *text;
        int64_t *value, min, max;
    } integers[] = {
        {"--batch", options->batch, &session->batch, 1, COUNT_MAX},
        {"--splits", options->splits, &session->splits, 0, COUNT_MAX},
        {"--carveout", options->carveout, &session->carveout, 0, 100},
        {"--threads", options->threads, &session->threads, 1, THREADS_MAX},
        {"--repeat", options->repeat, &session->repeat, 0, COUNT_MAX},
        {"--every", options->every, &session->every, 1, INT64_MAX},
        {"--seed", options->seed, &session->seed, INT64_MIN, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        int64_t min = integers[i].min, max = integers[i].max, *value = integers[i].value;
        char valid[96];
        if (!integers[i].text || (lab_parse_integer(integers[i].text, value) && *value >= min && *value <= max))
            continue;
        if (max == INT64_MAX)
            snprintf(valid, sizeof valid, "use a whole number of at least %lld", (long long)min);
        else
            snprintf(valid, sizeof valid, "use a whole number from %lld to %lld", (long long)min, (long long)max);
        return reject(integers[i].option, integers[i].text, valid);
    }
    return LAB_EXIT_SUCCESS;
}

int lab_verify_parse_options(lab_verify_session *session)
{
    const lab_options *options = session->options;
    session->every = session->seed = 1;
    if (!parse_suite(options->suite, &session->suite))
        return reject("--suite", options->suite, "use full, types, quick, edges, tile, extras, scattered or aligned");
    if (lab_parameters_length_error(options->params))
        return usage(lab_parameters_length_error(options->params));
    const char *dtype_error = lab_parse_mixed_dtypes(options, &session->compute, session->dtypes,
                                                     &session->dtype_count);
    if (dtype_error)
        return usage(dtype_error);
    if (!lab_epilogue_parse(options->epilogue, &session->epilogue))
        return reject(
            "--epilogue", options->epilogue,
            "use at most one of bias_row, bias_col and bias, one of relu, gelu, gelu_tanh and silu, and residual");
    int code = parse_integers(session);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    if (options->scattered && !options->batch)
        return usage("--scattered needs --batch");
    if (!lab_parse_time_limit(options->time_limit, LAB_VERIFY_TIME_LIMIT_SECONDS, &session->time_limit))
        return usage(LAB_TIME_LIMIT_USAGE);
    if (options->m)
        return parse_single_case(session);
    if (options->n || options->k || options->a_strides || options->b_strides || options->c_strides ||
        options->d_strides || options->alpha || options->beta || options->repeat)
        return usage("--n, --k, --alpha, --beta, --repeat and strides describe one problem and need --m");
    return LAB_EXIT_SUCCESS;
}
