/* SPDX-License-Identifier: Apache-2.0 */
/* bench_options.c - rung bench: reads the options that say what is measured. */
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "bench/bench_session.h"

static const double DEFAULT_BUDGET_SECONDS = 2;
enum { DOUBLING_SIZE_MIN = 128, DOUBLING_SIZE_MAX = 1 << 20, BATCH_MAX = 1 << 30 };

int lab_bench_usage_error(const char *format, ...)
{
    char message[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return lab_usage_error("bench", message);
}

/* ---- Sizes ------------------------------------------------------------------------------------------- */

/* Adds squares from 128 on, doubling, up to the largest. */
static bool add_doubling_sizes(lab_bench_session *session, const char *largest)
{
    int64_t end;
    if (!lab_parse_integer(largest, &end) || end < 1 || end > DOUBLING_SIZE_MAX)
        return false;
    for (int64_t size = end < DOUBLING_SIZE_MIN ? end : DOUBLING_SIZE_MIN; size <= end; size *= 2)
        session->problems[session->problem_count++] = (lab_shape){size, size, size};
    return true;
}

/* Adds every combination of --m, --n and --k; n and k default to m. */
static bool add_size_ranges(lab_bench_session *session)
{
    const lab_options *options = session->options;
    int64_t m[LAB_SWEEP_MAX], n[LAB_SWEEP_MAX], k[LAB_SWEEP_MAX];
    int m_count = lab_sweep_sizes(options->m, m);
    int n_count = options->n ? lab_sweep_sizes(options->n, n) : 1;
    int k_count = options->k ? lab_sweep_sizes(options->k, k) : 1;
    if (m_count < 0 || n_count < 0 || k_count < 0 || m_count * n_count * k_count > LAB_BENCH_PROBLEMS_MAX)
        return false;
    for (int i = 0; i < m_count; i++)
        for (int j = 0; j < n_count; j++)
            for (int l = 0; l < k_count; l++)
                session->problems[session->problem_count++] = (lab_shape){m[i], options->n ? n[j] : m[i],
                                                                          options->k ? k[l] : m[i]};
    return true;
}

static int read_sizes(lab_bench_session *session)
{
    const lab_options *options = session->options;
    bool is_valid = !options->n && !options->k;
    if ((options->argument2 != NULL) + (options->m != NULL) + (options->sizes != NULL) > 1)
        return lab_bench_usage_error("give the sizes once: with --sizes, with --m, --n and --k, or as KERNEL LARGEST");
    if (options->argument2)
        is_valid = add_doubling_sizes(session, options->argument2);
    else if (options->m)
        is_valid = add_size_ranges(session);
    else
        session->problem_count = lab_sweep_shapes(options->sizes ? options->sizes : "256,512,1024", session->problems);
    return is_valid && session->problem_count > 0
               ? LAB_EXIT_SUCCESS
               : lab_bench_usage_error("the sizes are invalid; examples: --sizes 256,512,1x4096x512, "
                                       "--m 128:1024:128 --n 64, or rung bench KERNEL LARGEST");
}

/* Reports a k that is no multiple of the blocks of a quantized B. */
static int check_k(const lab_bench_session *session)
{
    for (int i = 0; i < session->dtype_count; i++)
        for (int j = 0; j < session->problem_count; j++) {
            int64_t block = lab_type_pair_block(session->dtypes[i].product);
            if (session->problems[j].k % block != 0)
                return lab_bench_usage_error(
                    "k is %lld; with %s it must be a multiple of %lld, the elements per block of B",
                    (long long)session->problems[j].k, session->dtypes[i].name, (long long)block);
        }
    return LAB_EXIT_SUCCESS;
}

/* ---- Numbers and words --------------------------------------------------------------------------------- */

const char *lab_bench_parse_budget(const lab_options *options, double *seconds)
{
    *seconds = DEFAULT_BUDGET_SECONDS;
    return !options->budget || (lab_parse_number(options->budget, seconds) && *seconds > 0 && *seconds <= 1e6)
               ? NULL
               : "--budget must be a number of seconds per kernel and problem: more than 0, at most 1000000";
}

static int read_integers(lab_bench_session *session)
{
    const lab_options *options = session->options;
    const struct {
        const char *name, *text;
        int64_t low, high, *value;
    } list[] = {
        {"--batch", options->batch, 1, BATCH_MAX, &session->result.batch},
        {"--splits", options->splits, 0, INT64_MAX, &session->splits},
        {"--carveout", options->carveout, 0, 100, &session->carveout},
        {"--threads", options->threads, 1, LAB_THREADS_MAX, &session->threads},
        {"--seed", options->seed, 0, INT64_MAX, &session->result.seed},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].text && (!lab_parse_integer(list[i].text, list[i].value) || *list[i].value < list[i].low ||
                             *list[i].value > list[i].high))
            return lab_bench_usage_error("%s is \"%s\"; give an integer from %lld to %lld", list[i].name, list[i].text,
                                         (long long)list[i].low, (long long)list[i].high);
    return LAB_EXIT_SUCCESS;
}

/* Reads what the matrices hold and whether the caches hold the matrices. */
static int read_inputs(lab_bench_session *session)
{
    const lab_options *options = session->options;
    lab_bench_result *result = &session->result;
    result->inputs = options->inputs ? lab_inputs_of(options->inputs) : LAB_INPUTS_WHOLE;
    result->is_cold = options->cache && strcmp(options->cache, "cold") == 0;
    if (options->cache && !result->is_cold && strcmp(options->cache, "hot") != 0)
        return lab_bench_usage_error("--cache is \"%s\"; give hot or cold", options->cache);
    if (result->inputs == LAB_INPUTS_COUNT)
        return lab_bench_usage_error("--inputs is \"%s\"; give whole or normal", options->inputs);
    if (options->seed && result->inputs == LAB_INPUTS_WHOLE)
        return lab_bench_usage_error(
            "--seed requires --inputs normal; the inputs of --inputs whole are always the same");
    if (result->is_cold && options->calls)
        return lab_bench_usage_error("--calls cannot be combined with --cache cold");
    return LAB_EXIT_SUCCESS;
}

int lab_bench_read_options(lab_bench_session *session)
{
    const lab_options *options = session->options;
    rung_compute compute;
    double budget_seconds;
    session->result.batch = 1;
    session->result.seed = (int64_t)(time(NULL) & 0x7fffffff);
    const char *error = lab_parse_mixed_dtypes(options, &compute, session->dtypes, &session->dtype_count);
    if (!error)
        error = lab_gpu_from_options(options->machine, options->arch, &session->machine);
    if (!error)
        error = lab_bench_parse_budget(options, &budget_seconds);
    if (error)
        return lab_bench_usage_error("%s", error);
    session->budget_ns = (int64_t)(budget_seconds * 1e9);
    if (!lab_epilogue_parse(options->epilogue, &session->result.epilogue))
        return lab_bench_usage_error("--epilogue is \"%s\"; give a list of bias_row, bias_col or bias; relu, gelu, "
                                     "gelu_tanh or silu; and residual",
                                     options->epilogue);
    if (options->argument && options->kernels)
        return lab_bench_usage_error("give the kernels once: with --kernels, or as KERNEL");
    session->kernel_list = options->argument ? options->argument : options->kernels;
    int code = read_integers(session);
    if (code == LAB_EXIT_SUCCESS)
        code = read_sizes(session);
    if (code == LAB_EXIT_SUCCESS)
        code = check_k(session);
    return code == LAB_EXIT_SUCCESS ? read_inputs(session) : code;
}
