/* SPDX-License-Identifier: Apache-2.0 */
/* grade_output.c - the result of rung grade as text, JSON, JUnit's XML and results.json of Gradescope. */
#include <stdlib.h>
#include <string.h>

#include "cli/terminal.h"
#include "common/text.h"
#include "grade/grade_result.h"
#include "grade/variant.h"
#include "io/json_writer.h"
#include "io/xml_escape.h"

enum { POINTS_COLUMN = 13, NAME_WIDTH = 24 };

/* ---- Text ---- */

static void print_part(const lab_task_part *part, const lab_grade_part *graded)
{
    printf("  %4lld of %-4lld ", (long long)graded->points, (long long)part->points);
    lab_colour_begin(graded->is_reached ? LAB_PLAIN : LAB_RED, stdout);
    printf("%s\n", part->name);
    lab_colour_end(graded->is_reached ? LAB_PLAIN : LAB_RED, stdout);
    if (!*graded->text)
        return;
    printf("%*s", POINTS_COLUMN + 2, "");
    lab_text_wrap(graded->text, POINTS_COLUMN + 2, POINTS_COLUMN + 2, lab_terminal_width(stdout), stdout);
}

static void print_variant(const lab_task *task, const char *id)
{
    char values[LAB_VARIANT_TEXT_BYTES];
    lab_variant_describe(task, values, sizeof values);
    printf("  variant of %s: %s\n", id, values);
}

void lab_grade_print(const lab_grade_report *report, const char *source)
{
    const lab_task *task = report->task;
    const lab_grade_result *result = report->result;
    printf("%s: %lld of %lld points (%s, seed %llu)\n", task->name, (long long)result->points, (long long)task->points,
           report->path, (unsigned long long)report->seed);
    if (report->variant)
        print_variant(task, report->variant);
    if (*result->problem) {
        printf("  ");
        lab_text_wrap(result->problem, 2, 2, lab_terminal_width(stdout), stdout);
    }
    for (int i = 0; i < task->part_count; i++)
        print_part(&task->parts[i], &result->parts[i]);
    if (result->findings.count > 0) {
        printf("Findings:\n");
        lab_finding_list_print(&result->findings, source, stdout);
    }
    if (*result->output)
        printf("The kernels printed%s:\n%s\n", result->output_is_cut ? " (the beginning)" : "", result->output);
}

/* ---- JSON ---- */

void lab_grade_write_variant(const lab_task *task, const char *id, lab_json *json)
{
    lab_json_begin(json, "variant", '{');
    lab_json_string(json, "id", id);
    lab_json_begin(json, "values", '{');
    for (int i = 0; i < task->variable_count; i++)
        lab_json_integer(json, task->variables[i].name, lab_task_value(&task->variables[i]));
    lab_json_end(json, '}');
    lab_json_end(json, '}');
}

void lab_grade_write_fields(const lab_task *task, const lab_grade_result *result, lab_json *json)
{
    LAB_JSON_INTEGERS(json, {"points", result->points}, {"max_points", task->points});
    lab_json_string(json, "problem", result->problem);
    lab_json_begin(json, "parts", '[');
    for (int i = 0; i < task->part_count; i++) {
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "name", task->parts[i].name);
        LAB_JSON_INTEGERS(json, {"points", result->parts[i].points}, {"max_points", task->parts[i].points});
        lab_json_string(json, "text", result->parts[i].text);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
    lab_finding_list_write(&result->findings, json);
    lab_json_string(json, "output", result->output);
}

void lab_grade_write_json(const lab_grade_report *report)
{
    lab_json json = lab_json_open(stdout, "rung-grade/1");
    LAB_JSON_STRINGS(&json, {"task", report->task->name}, {"file", report->path});
    lab_json_integer(&json, "seed", (int64_t)report->seed);
    if (report->variant)
        lab_grade_write_variant(report->task, report->variant, &json);
    lab_grade_write_fields(report->task, report->result, &json);
    lab_json_end(&json, '}');
}

/* ---- Other formats ---- */

/* Appends the findings as lines of text. */
static void list_findings(const lab_grade_result *result, char *text, size_t capacity)
{
    for (int i = 0; i < result->findings.count; i++) {
        const lab_finding *item = &result->findings.items[i];
        lab_append(text, capacity, "line %d: %s: %s %s\n", item->line, item->kind, item->text, item->fix);
    }
}

enum { DETAILS_BYTES = LAB_FINDINGS_MAX * (LAB_FINDING_TEXT_BYTES + 512) };

/* Returns the problem, the findings and the output, for free(). */
static char *describe_details(const lab_grade_result *result)
{
    char *text = calloc(1, DETAILS_BYTES);
    if (!text)
        return NULL;
    if (*result->problem)
        lab_append(text, DETAILS_BYTES, "%s\n", result->problem);
    list_findings(result, text, DETAILS_BYTES);
    if (*result->output)
        lab_append(text, DETAILS_BYTES, "The kernels printed:\n%s\n", result->output);
    return text;
}

void lab_grade_write_junit(const lab_grade_report *report, FILE *out)
{
    const lab_task *task = report->task;
    const lab_grade_result *result = report->result;
    char points[64];
    int failures = 0;
    for (int i = 0; i < task->part_count; i++)
        failures += !result->parts[i].is_reached;
    fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"");
    lab_html_escape(out, task->name);
    fprintf(out, "\" tests=\"%d\" failures=\"%d\" errors=\"0\">\n", task->part_count, failures);
    for (int i = 0; i < task->part_count; i++) {
        const lab_grade_part *part = &result->parts[i];
        fprintf(out, "    <testcase classname=\"rung.");
        lab_html_escape(out, task->name);
        fprintf(out, "\" name=\"");
        lab_html_escape(out, task->parts[i].name);
        fprintf(out, "\">");
        if (!part->is_reached) {
            snprintf(points, sizeof points, "%lld of %lld points", (long long)part->points,
                     (long long)task->parts[i].points);
            fprintf(out, "<failure message=\"%s\">", points);
            lab_html_escape(out, *result->problem ? result->problem : part->text);
            fprintf(out, "</failure>");
        }
        fprintf(out, "</testcase>\n");
    }
    char *details = describe_details(result);
    if (details && *details) {
        fprintf(out, "    <system-out>");
        lab_html_escape(out, details);
        fprintf(out, "</system-out>\n");
    }
    free(details);
    fprintf(out, "  </testsuite>\n</testsuites>\n");
}

void lab_grade_write_gradescope(const lab_grade_report *report, FILE *out)
{
    const lab_task *task = report->task;
    const lab_grade_result *result = report->result;
    lab_json json = {.out = out, .first = true};
    char *details = describe_details(result);
    lab_json_begin(&json, NULL, '{');
    lab_json_integer(&json, "score", result->points);
    lab_json_string(&json, "visibility", "visible");
    lab_json_string(&json, "output", details ? details : result->problem);
    free(details);
    lab_json_begin(&json, "tests", '[');
    for (int i = 0; i < task->part_count; i++) {
        lab_json_begin(&json, NULL, '{');
        LAB_JSON_STRINGS(&json, {"name", task->parts[i].name},
                         {"status", result->parts[i].is_reached ? "passed" : "failed"});
        LAB_JSON_INTEGERS(&json, {"score", result->parts[i].points}, {"max_score", task->parts[i].points});
        lab_json_string(&json, "output", result->parts[i].text);
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}
