/* SPDX-License-Identifier: Apache-2.0 */
/* tune.c - the command `rung tune`: reads the options and calls lab/tune. */
#include <string.h>

#include "cli/options.h"
#include "target/sweep.h"
#include "target/target.h"
#include "tune/tune.h"

static bool read_sizes(const lab_options *options, lab_tune_session *session)
{
    int64_t sizes[LAB_SWEEP_MAX], m, n, k;
    if (options->m) {
        bool good = !options->sizes && lab_parse_integer(options->m, &m);
        n = k = good ? m : 0;
        good = good && (!options->n || lab_parse_integer(options->n, &n)) &&
               (!options->k || lab_parse_integer(options->k, &k));
        return good && lab_tune_add_problem(session, m, n, k);
    }
    const char *list = options->sizes ? options->sizes : "256,512,1024";
    int count = options->n || options->k ? -1 : lab_sweep_sizes(list, sizes);
    for (int i = 0; i < count; i++)
        if (!lab_tune_add_problem(session, sizes[i], sizes[i], sizes[i]))
            return false;
    return count > 0;
}

/* Reads "rc": A is row-major, B is column-major. */
static bool read_layout(const char *text, bool *is_a_col_major, bool *is_b_col_major)
{
    if (!text)
        return true;
    *is_a_col_major = text[0] == 'c';
    *is_b_col_major = text[0] && text[1] == 'c';
    return strlen(text) == 2 && strspn(text, "rc") == 2;
}

/* Returns NULL or what is wrong. */
static const char *read_options(const lab_options *options, lab_tune_request *request)
{
    int64_t seed = 1;
    *request = (lab_tune_request){.options = options, .budget_seconds = 300};
    const char *wrong = lab_parse_single_dtype(options, LAB_SEVERAL_DTYPES_USAGE, &request->dtype);
    if (wrong)
        return wrong;
    if (options->budget && (!lab_parse_number(options->budget, &request->budget_seconds) ||
                            !(request->budget_seconds > 0) || request->budget_seconds > 1e7))
        return "--budget takes a number of seconds above 0, at most 10000000";
    if (options->seed && (!lab_parse_integer(options->seed, &seed) || seed < 0))
        return "--seed takes an integer of at least 0";
    request->seed = (uint64_t)seed;
    return read_layout(options->layout, &request->is_a_col_major, &request->is_b_col_major)
               ? NULL
               : "--layout takes rr, rc, cr or cc: A and B by rows (r) or by columns (c)";
}

static int run(lab_tune_session *session, const lab_options *options)
{
    if (!read_sizes(options, session))
        return lab_usage_error("tune", "give sizes as --sizes 256,512 or --m 8 --n 4096 --k 4096");
    if (options->remove && options->export)
        return lab_usage_error("tune", "--export cannot be combined with --remove: first export, then remove");
    int code = lab_tune_check_store(options);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    return options->remove ? lab_tune_remove_records(session) : lab_tune_run(session);
}

int lab_command_tune(const lab_options *options)
{
    lab_tune_request request;
    const char *wrong = read_options(options, &request);
    if (wrong)
        return lab_usage_error("tune", wrong);
    lab_tune_session *session = lab_tune_session_create(&request);
    int code = session ? run(session, options) : lab_fail(LAB_EXIT_UNAVAILABLE, "out of memory; end other programs");
    lab_tune_session_free(session);
    return code;
}
