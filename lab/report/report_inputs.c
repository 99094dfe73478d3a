/* SPDX-License-Identifier: Apache-2.0 */
/* report_inputs.c - reads the result files of a report and detects their kind; see report.h. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "common/failure.h"
#include "common/text.h"

/* Detects the kind by the schema, or for files of rung explain, which may have none, by their rows. */
static bool detect_input_kind(const lab_json_value *root, lab_report_input_kind *kind)
{
    const char *schema = lab_json_get_text(root, "schema", "");
    const lab_json_value *kernels = lab_json_get(root, "kernels");
    if (strcmp(schema, "rung-bench/1") == 0)
        *kind = LAB_REPORT_INPUT_BENCH;
    else if (strcmp(schema, "rung-tune/1") == 0)
        *kind = LAB_REPORT_INPUT_TUNE;
    else if (strcmp(schema, "rung-peak/1") == 0)
        *kind = LAB_REPORT_INPUT_PEAK;
    else if (strncmp(schema, "rung-explain/", 13) == 0 ||
             (!*schema && kernels->kind == LAB_JSON_ARRAY &&
              (!kernels->first || *lab_json_get_text(kernels->first, "arch", ""))))
        *kind = LAB_REPORT_INPUT_EXPLAIN;
    else
        return false;
    return true;
}

static bool load_input(lab_report_input *input, const char *file, char *why, size_t capacity)
{
    char inner[256];
    if (!lab_json_document_load(file, &input->document, inner, sizeof inner))
        return lab_set_reason(why, capacity, "%s: %s", file, inner);
    input->root = input->document.root;
    if (!detect_input_kind(input->root, &input->kind))
        return lab_set_reason(why, capacity,
                              "%s: not a result file; give the JSON output of rung bench, tune, explain or peak", file);
    if (input->kind == LAB_REPORT_INPUT_BENCH) {
        lab_json_document_free(&input->document);
        if (!lab_results_load(file, &input->results, why, capacity))
            return false;
        input->root = input->results.document.root;
    }
    input->rows = lab_json_get(input->root, input->kind == LAB_REPORT_INPUT_EXPLAIN ? "kernels" : "results");
    return input->rows->kind == LAB_JSON_ARRAY || lab_set_reason(why, capacity, "%s: the file has no results", file);
}

bool lab_report_add(lab_report *report, const char *file, const char *shown_as, char *why, size_t capacity)
{
    lab_report_input *larger = realloc(report->inputs, (size_t)(report->input_count + 1) * sizeof *larger);
    if (!larger)
        return lab_set_reason(why, capacity, "out of memory");
    report->inputs = larger;
    lab_report_input *input = &larger[report->input_count];
    *input = (lab_report_input){.name = shown_as ? shown_as : lab_base_name(file)};
    if (load_input(input, file, why, capacity)) {
        report->input_count++;
        report->row_count += input->rows->count;
        return true;
    }
    lab_results_free(&input->results);
    lab_json_document_free(&input->document);
    return false;
}

void lab_report_free(lab_report *report)
{
    for (int i = 0; i < report->input_count; i++) {
        lab_results_free(&report->inputs[i].results);
        lab_json_document_free(&report->inputs[i].document);
    }
    for (int i = 0; i < report->group_count; i++)
        free(report->groups[i].rows);
    free(report->groups);
    free(report->inputs);
    *report = (lab_report){0};
}

const lab_json_value *lab_report_first_row(const lab_report *report, int index, lab_report_input_kind kind)
{
    return report->inputs[index].kind == kind ? report->inputs[index].rows->first : NULL;
}

bool lab_report_has_kind(const lab_report *report, lab_report_input_kind kind)
{
    for (int i = 0; i < report->input_count; i++)
        if (lab_report_first_row(report, i, kind))
            return true;
    return false;
}
