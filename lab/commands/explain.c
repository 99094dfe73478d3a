/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - the command `rung explain`: reads the options and calls lab/explain, or lab/plain_gemm
 * for plain CUDA files. */
#include <stdlib.h>

#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "common/text.h"
#include "explain/explain.h"
#include "io/output_file.h"
#include "kernel_page/kernel_page.h"
#include "plain_gemm/plain_explain.h"
#include "plain_gemm/plain_options.h"
#include "process/supervise.h"
#include "target/sweep.h"

static bool read_size(const char *text, int64_t otherwise, int64_t *value)
{
    *value = otherwise;
    return !text || (lab_parse_integer(text, value) && *value > 0 && *value < 1 << 24);
}

/* Returns NULL or what is wrong. */
static const char *read_options(const lab_options *options, lab_explain_request *request)
{
    const char *wrong = lab_gpu_from_options(options->machine, options->arch, &request->machine);
    if (!wrong && !lab_parse_time_limit(options->time_limit, LAB_ACCESS_RUN_SECONDS, &request->seconds))
        wrong = LAB_TIME_LIMIT_USAGE;
    request->seconds = request->seconds > 0 ? request->seconds : -1;
    if (!wrong)
        wrong = lab_parse_single_dtype(options, LAB_SEVERAL_DTYPES_USAGE, &request->dtype);
    if (!wrong && (!read_size(options->m, 4096, &request->m) || !read_size(options->n, request->m, &request->n) ||
                   !read_size(options->k, request->m, &request->k)))
        wrong = "--m, --n and --k take a number from 1 to 16777215";
    if (!wrong)
        wrong = lab_parameters_length_error(options->params);
    if (!wrong && !options->argument + !options->all + !options->compare != 2)
        wrong = "give a kernel, a file, --all or --compare";
    if (!wrong && (options->metrics || options->nsight) && !options->argument)
        wrong = "--metrics and --nsight need one kernel or file";
    if (!wrong && options->html && !options->argument)
        wrong = "--html needs one kernel or file";
    if (!wrong && options->html && options->nsight)
        wrong = "--html cannot be combined with --nsight";
    if (!wrong && options->html)
        wrong = lab_output_check(options->html);
    if (!wrong && options->html && options->argument && lab_output_is_same_file(options->html, options->argument))
        wrong = "--html names the kernel file; choose another file for the page";
    if (!wrong && options->params && options->compare)
        wrong = "--params cannot be combined with --compare: the table has the parameters of each kernel";
    request->parameters = options->params;
    request->wants_metrics = options->metrics || options->nsight;
    request->nsight_file = options->nsight;
    request->wants_trace = options->html != NULL;
    return wrong;
}

/* Writes the page of --html. Returns false after printing an error. */
static bool save_page(const lab_explain_jobs *jobs, const lab_options *options)
{
    char why[1024] = "out of memory", *data = NULL;
    size_t length;
    rung_kernel *kernel;
    if (!lab_kernel_open(NULL, "opencl", options->argument, &kernel, why, sizeof why))
        return lab_fail(LAB_EXIT_USAGE, "%s", why) == LAB_EXIT_SUCCESS;
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    lab_json json = {.out = open_memstream(&data, &length)};
    if (json.out)
        lab_explain_jobs_write_first(jobs, &json);
    bool good = json.out && fclose(json.out) == 0;
    lab_kernel_page page = {.explanation = lab_explain_jobs_first(jobs),
                            .file = lab_base_name(info->file),
                            .source = info->source,
                            .kernel_line = lab_kernel_declaration_line(info->source),
                            .note = "",
                            .data = data};
    good = good && lab_kernel_page_save(&page, options->html, why, sizeof why);
    if (!good)
        lab_fail(LAB_EXIT_USAGE, "%s", why);
    else if (!options->json)
        lab_kernel_page_print_summary(&page, options->html);
    free(data);
    rung_kernel_destroy(kernel);
    return good;
}

static int run(lab_explain_jobs *jobs, const lab_options *options)
{
    char why[2048];
    const char *wrong = NULL;
    if (options->compare && lab_explain_jobs_add_table(jobs, options->compare, why, sizeof why))
        return lab_fail(LAB_EXIT_USAGE, "%s", why);
    if (options->all)
        wrong = lab_explain_jobs_add_all(jobs, why, sizeof why);
    else if (options->argument)
        wrong = lab_explain_jobs_add_kernel(jobs, options->argument, why, sizeof why);
    if (wrong)
        return lab_usage_error("explain", wrong);
    lab_interrupt_watch();
    lab_progress_begin(options->quiet);
    lab_explain_jobs_run(jobs);
    lab_progress_end();
    if (lab_is_interrupted()) {
        lab_interrupt_report("no explanation was printed; run the command again");
        return LAB_EXIT_INTERRUPTED;
    }
    int code = lab_explain_jobs_exit_code(jobs);
    if (code != LAB_EXIT_USAGE && options->html && !save_page(jobs, options))
        return code != LAB_EXIT_SUCCESS ? code : LAB_EXIT_USAGE;
    if (code != LAB_EXIT_USAGE && (!options->html || options->json))
        lab_explain_jobs_print(jobs, options->json      ? LAB_EXPLAIN_JSON
                                     : options->compare ? LAB_EXPLAIN_REPORTED
                                     : options->all     ? LAB_EXPLAIN_OVERVIEW
                                                        : LAB_EXPLAIN_PAGE);
    return code;
}

int lab_command_explain(const lab_options *options)
{
    lab_explain_request request = {0};
    const char *wrong = read_options(options, &request);
    if (wrong)
        return lab_usage_error("explain", wrong);
    char why[512];
    lab_plain_file file;
    if (options->nsight && !lab_nsight_file_check(options->nsight, why, sizeof why))
        return lab_fail(LAB_EXIT_USAGE, "%s", why);
    if (lab_plain_file_read(options->argument, &file)) {
        wrong = lab_plain_options_refused(options, true);
        int code = wrong ? lab_usage_error("explain", wrong) : lab_plain_explain(options, &file, &request);
        free(file.text);
        return code;
    }
    wrong = lab_plain_options_misused(options, options->argument, true);
    if (wrong)
        return lab_usage_error("explain", wrong);
    lab_explain_jobs *jobs = lab_explain_jobs_create(&request, !options->dtype);
    if (!jobs)
        return lab_fail(LAB_EXIT_WRONG, "out of memory");
    int code = run(jobs, options);
    lab_explain_jobs_free(jobs);
    return code;
}
