/* SPDX-License-Identifier: Apache-2.0 */
/* reported_table.c - reads a table of speeds that others reported and prints them beside the predictions, for
 * `rung explain --compare`. */
#include <math.h>
#include <string.h>

#include "cli/options.h"
#include "explain/explain_internal.h"
#include "io/input_file.h"

/* Columns of the table, separated by tabs. */
enum { MACHINE, KERNEL, PARAMS, DTYPE, SIZE, GFLOPS, DOCUMENT, NOTE, FIELD_COUNT };

/* Parses the one type of a row. Returns NULL or what is wrong. */
static const char *read_dtype(const char *text, lab_dtype *dtype)
{
    lab_options options = {.dtype = text};
    return lab_parse_single_dtype(&options, "a row takes one type; write one row per type", dtype);
}

/* Parses "4096" or "8192x8192x1024". */
static bool read_size(const char *text, lab_explain_request *request)
{
    char parts[64], *rest = parts;
    int64_t *sizes[] = {&request->m, &request->n, &request->k};
    if (lab_parse_integer(text, &request->m)) {
        request->n = request->k = request->m;
        return request->m > 0;
    }
    snprintf(parts, sizeof parts, "%s", text);
    for (int i = 0; i < 3; i++) {
        char *part = rest, *end = part ? strchr(part, 'x') : NULL;
        rest = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        if (!part || !lab_parse_integer(part, sizes[i]) || *sizes[i] < 1)
            return false;
    }
    return !rest;
}

static void copy_field(char *text, size_t capacity, const char *field)
{
    snprintf(text, capacity, "%s", strcmp(field, "-") == 0 ? "" : field);
}

/* Adds the job of a row. Returns NULL or what is wrong; the text may be in `why`. */
static const char *add_row(lab_explain_jobs *jobs, char *line, char *why, size_t capacity)
{
    char *fields[FIELD_COUNT] = {0}, *rest = line;
    lab_explain_job *job;
    lab_dtype dtype;
    lab_gpu machine;
    lab_explain_request size = {.m = 0};
    double gflops;
    for (int i = 0; i < FIELD_COUNT && rest; i++) {
        fields[i] = rest;
        rest = strpbrk(rest, "\t\n");
        if (rest)
            *rest++ = '\0';
    }
    if (!fields[NOTE] || !read_size(fields[SIZE], &size) || !lab_parse_number(fields[GFLOPS], &gflops) || !(gflops > 0))
        return "a row must be \"machine kernel params dtype size gflops document note\", separated by tabs";
    if (!lab_gpu_find(fields[MACHINE], &machine, why, capacity))
        return why;
    const char *wrong = read_dtype(fields[DTYPE], &dtype);
    if (wrong)
        return wrong;
    if (strlen(fields[KERNEL]) >= sizeof job->kernel_name || strlen(fields[PARAMS]) >= sizeof job->params ||
        strlen(fields[NOTE]) >= sizeof job->note) {
        snprintf(why, capacity,
                 "the kernel, the parameters or the note is too long; the maxima are %zu, %zu and %zu characters",
                 sizeof job->kernel_name - 1, sizeof job->params - 1, sizeof job->note - 1);
        return why;
    }
    job = lab_explain_jobs_add(jobs, "");
    if (!job) {
        snprintf(why, capacity, "too many rows; the maximum of a table is %d", LAB_EXPLAIN_JOBS_MAX);
        return why;
    }
    snprintf(job->kernel_name, sizeof job->kernel_name, "%s", fields[KERNEL]);
    copy_field(job->params, sizeof job->params, fields[PARAMS]);
    copy_field(job->note, sizeof job->note, fields[NOTE]);
    job->table_gflops = gflops;
    job->request.kernel = job->kernel_name;
    job->request.parameters = *job->params ? job->params : NULL;
    job->request.m = size.m, job->request.n = size.n, job->request.k = size.k;
    job->request.machine = machine;
    job->request.dtype = dtype;
    job->request.dtype.name = lab_type_pair_name(dtype.product);
    return NULL;
}

const char *lab_explain_jobs_add_table(lab_explain_jobs *jobs, const char *path, char *why, size_t capacity)
{
    char line[2048], reason[512] = "empty";
    FILE *file = lab_file_open(path, LAB_TEXT_BYTES_MAX, reason, sizeof reason);
    if (!file || !fgets(line, sizeof line, file)) { /* the column titles */
        snprintf(why, capacity, "%s: %s; see results/documents/reported.tsv for an example of a table", path, reason);
        if (file)
            fclose(file);
        return why;
    }
    const char *wrong = NULL;
    for (int number = 2; !wrong && fgets(line, sizeof line, file); number++) {
        bool is_complete = strchr(line, '\n') || feof(file);
        wrong = is_complete ? add_row(jobs, line, reason, sizeof reason)
                            : "the line is too long; the maximum is 2046 characters";
        if (wrong)
            snprintf(why, capacity, "%s:%d: %s", path, number, wrong);
    }
    fclose(file);
    return wrong ? why : NULL;
}

/* ---- Printing ---- */

/* Prints the rank correlation and the mean error of the rows of one machine, without estimates. */
static void print_correlation(const lab_explain_jobs *jobs, const char *machine)
{
    double predicted[LAB_EXPLAIN_JOBS_MAX], reported[LAB_EXPLAIN_JOBS_MAX], sum = 0;
    int count = 0;
    for (int i = 0; i < jobs->count; i++) {
        const lab_explain_job *job = &jobs->jobs[i];
        if (strcmp(job->request.machine.name, machine) != 0 || !job->explanation.prediction.runs ||
            !job->explanation.is_from_compiled_loop)
            continue;
        predicted[count] = job->explanation.prediction.gflops;
        reported[count] = job->table_gflops;
        sum += fabs(log(predicted[count] / reported[count]));
        count++;
    }
    if (count > 0)
        printf("%s: %d rows, rank correlation %.3f, off by a factor of %.2f in the geometric mean\n", machine, count,
               lab_rank_correlation(predicted, reported, count), exp(sum / count));
}

static void print_row(const lab_explain_job *job)
{
    const lab_prediction *prediction = &job->explanation.prediction;
    char reason[256];
    printf("%s\t%s\t%s\t%s\t%lld\t%.5g\t", job->request.machine.name, job->kernel_name,
           *job->params ? job->params : "-", job->request.dtype.name, (long long)job->request.m, job->table_gflops);
    lab_explain_job_reason(job, reason, sizeof reason);
    if (!prediction->runs)
        printf("-\t-\t-\t-\t%s\n", reason);
    else
        printf("%.5g\t%.2f\t%s\t%.2f\t%s%s\n", prediction->gflops, prediction->gflops / job->table_gflops,
               lab_bottleneck_name(prediction->bound), job->explanation.occupancy.fraction,
               job->explanation.is_from_compiled_loop ? "" : "estimate, not ranked; ", *job->note ? job->note : "-");
}

void lab_explain_print_reported(const lab_explain_jobs *jobs)
{
    lab_gpu machine;
    printf("machine\tkernel\tparams\tdtype\tsize\treported\tpredicted\tratio\tbound\toccupancy\tnote\n");
    for (int i = 0; i < jobs->count; i++)
        print_row(&jobs->jobs[i]);
    for (int i = 0; lab_gpu_at(i, &machine); i++)
        print_correlation(jobs, machine.name);
}
