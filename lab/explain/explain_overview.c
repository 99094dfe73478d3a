/* SPDX-License-Identifier: Apache-2.0 */
/* explain_overview.c - prints the jobs of `rung explain`: missing tools, a table with one row per kernel, or JSON. */
#include <math.h>
#include <stdlib.h>

#include "cli/table.h"
#include "explain/explain_internal.h"

/* Returns the first explanation that lacks a tool; NULL if none does. */
static const lab_explanation *find_job_without_tool(const lab_explain_jobs *jobs, lab_tool tool)
{
    for (int i = 0; i < jobs->count; i++)
        if (jobs->jobs[i].explanation.missing_tools & 1u << tool)
            return &jobs->jobs[i].explanation;
    return NULL;
}

/* Prints each missing tool once for all kernels. */
static void print_missing_tools(const lab_explain_jobs *jobs, FILE *out)
{
    bool has_title = false;
    for (int tool = 0; tool < LAB_TOOL_COUNT; tool++) {
        const lab_explanation *explanation = find_job_without_tool(jobs, (lab_tool)tool);
        if (explanation && !has_title)
            fprintf(out, "Missing tools (predictions need all of them):\n");
        has_title = has_title || explanation;
        if (explanation)
            fprintf(out, "  %s. Provides %s.\n", lab_tool_install_hint(explanation, (lab_tool)tool),
                    lab_tool_provides((lab_tool)tool));
    }
    if (has_title)
        fprintf(out, "\n");
}

static void write_missing_tools(lab_json *json, const lab_explain_jobs *jobs)
{
    lab_json_begin(json, "missing_tools", '[');
    for (int tool = 0; tool < LAB_TOOL_COUNT; tool++) {
        const lab_explanation *explanation = find_job_without_tool(jobs, (lab_tool)tool);
        if (!explanation)
            continue;
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "tool", lab_tool_name((lab_tool)tool));
        lab_json_string(json, "provides", lab_tool_provides((lab_tool)tool));
        lab_json_string(json, "install", lab_tool_install_hint(explanation, (lab_tool)tool));
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void write_job_json(lab_json *json, const lab_explain_job *job)
{
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "kernel", job->explanation.kernel[0] ? job->explanation.kernel : job->request.kernel);
    lab_json_string(json, "params", job->explanation.parameters);
    lab_json_string(json, "arch", job->request.machine.arch);
    lab_json_string(json, "machine", job->request.machine.name);
    lab_json_string(json, "machine_title", job->request.machine.title);
    lab_json_string(json, "dtype", job->request.dtype.name);
    lab_json_sizes(json, job->request.m, job->request.n, job->request.k);
    lab_json_string(json, "error", job->good ? "" : job->why);
    lab_explanation_write_summary(json, &job->explanation);
    lab_json_number(json, "reported_gflops", job->table_gflops > 0 ? job->table_gflops : (double)NAN);
    lab_explanation_write_details(json, &job->explanation);
    lab_json_end(json, '}');
}

const lab_explanation *lab_explain_jobs_first(const lab_explain_jobs *jobs)
{
    return &jobs->jobs[0].explanation;
}

void lab_explain_jobs_write_first(const lab_explain_jobs *jobs, lab_json *json)
{
    write_job_json(json, &jobs->jobs[0]);
}

static void write_json(const lab_explain_jobs *jobs)
{
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    write_missing_tools(&json, jobs);
    lab_json_begin(&json, "kernels", '[');
    for (int i = 0; i < jobs->count; i++)
        if (!jobs->jobs[i].is_next_kernel)
            write_job_json(&json, &jobs->jobs[i]);
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
    printf("\n");
}

static void add_overview_row(lab_table *table, const lab_explain_job *job)
{
    const lab_explanation *explanation = &job->explanation;
    const lab_prediction *prediction = &explanation->prediction;
    bool has_wavefronts = explanation->is_counted && explanation->block.wavefronts > 0;
    char reason[LAB_TABLE_CELL_BYTES];
    lab_explain_job_reason(job, reason, sizeof reason);
    lab_table_add(table, 2, (const char *[]){job->request.kernel, job->request.dtype.name});
    lab_table_cell(table, explanation->is_counted ? "%.2f/%.2f" : "-", lab_sectors_per_request(explanation),
                   lab_sectors_ideal(explanation));
    lab_table_cell(table, has_wavefronts ? "%.2f/%.2f" : "-", lab_wavefronts_per_request(explanation),
                   lab_wavefronts_ideal(explanation));
    lab_table_cell(table, explanation->is_compiled ? "%lld" : "-", (long long)explanation->registers);
    lab_table_cell(table, explanation->is_compiled ? "%.0f %%" : "-", 100 * explanation->occupancy.fraction);
    lab_table_cell(table, explanation->math_share > 0 ? "%.0f %%" : "-", 100 * explanation->math_share);
    lab_table_cell(table, prediction->runs ? "%.0f%s" : "-", prediction->gflops,
                   explanation->is_from_compiled_loop ? "" : "*");
    lab_table_cell(table, "%s", prediction->runs ? lab_bottleneck_title(prediction->bound) : reason);
}

static void print_overview(const lab_explain_jobs *jobs)
{
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    printf("%lld x %lld x %lld on %s (%s); sectors and wavefronts per request / ideal; predicted GFLOPS\n",
           (long long)jobs->defaults.m, (long long)jobs->defaults.n, (long long)jobs->defaults.k,
           jobs->defaults.machine.title, jobs->defaults.machine.arch);
    lab_table_add(table, 9,
                  (const char *[]){"kernel", "dtype", "sectors", "wavefronts", "registers", "occupancy", "math",
                                   "GFLOPS", "limited by"});
    bool has_estimate = false;
    for (int i = 0; i < jobs->count; i++) {
        const lab_explanation *explanation = &jobs->jobs[i].explanation;
        has_estimate = has_estimate || (explanation->prediction.runs && !explanation->is_from_compiled_loop);
        add_overview_row(table, &jobs->jobs[i]);
    }
    lab_table_print(table, "llrrrrrrl", stdout);
    if (has_estimate)
        printf("* estimate: instructions are counted in the source; compare it only with other estimates\n");
    free(table);
}

void lab_explain_jobs_print(const lab_explain_jobs *jobs, lab_explain_format format)
{
    const lab_explain_job *first = &jobs->jobs[0], *next = &jobs->jobs[1];
    if (format != LAB_EXPLAIN_JSON)
        print_missing_tools(jobs, format == LAB_EXPLAIN_REPORTED ? stderr : stdout); /* stdout is tab-separated */
    switch (format) {
    case LAB_EXPLAIN_JSON: write_json(jobs); return;
    case LAB_EXPLAIN_REPORTED: lab_explain_print_reported(jobs); break;
    case LAB_EXPLAIN_OVERVIEW: print_overview(jobs); break;
    case LAB_EXPLAIN_PAGE: lab_explanation_print(&first->explanation); break;
    }
    if (jobs->count == 2 && next->is_next_kernel && next->good)
        lab_explanation_print_next_kernel(&first->explanation, &next->explanation);
}
