/* SPDX-License-Identifier: Apache-2.0 */
/* program_findings.c - reads, merges and prints the findings of an emulated program. */
#include "emulate/program_findings.h"

#include <stdlib.h>
#include <string.h>

#include "findings/finding_fix.h"
#include "findings/kernel_name.h"
#include "io/json_reader.h"

/* ---- Reading -------------------------------------------------------------------------------------------- */

static bool is_same(const lab_program_finding *a, const lab_program_finding *b)
{
    return a->line == b->line && a->other_line == b->other_line && strcmp(a->kind, b->kind) == 0 &&
           strcmp(a->kernel, b->kernel) == 0 && strcmp(a->file, b->file) == 0 &&
           strcmp(a->other_file, b->other_file) == 0;
}

/* Adds a finding, or its count to the same one. */
static bool add(lab_program_findings *findings, const lab_program_finding *added)
{
    for (int64_t i = 0; i < findings->count; i++)
        if (is_same(&findings->list[i], added)) {
            findings->list[i].count += added->count;
            findings->list[i].launches += findings->list[i].last_launch != added->last_launch;
            findings->list[i].last_launch = added->last_launch;
            return true;
        }
    lab_program_finding *longer = realloc(findings->list, (size_t)(findings->count + 1) * sizeof *longer);
    if (!longer)
        return false;
    findings->list = longer;
    findings->list[findings->count++] = *added;
    return true;
}

static void copy_text(const lab_json_value *object, const char *name, char *out, size_t capacity)
{
    snprintf(out, capacity, "%s", lab_json_get_text(object, name, ""));
}

static bool read_line(lab_program_findings *findings, const char *line, size_t length)
{
    lab_json_document document;
    lab_program_finding finding = {.launches = 1};
    char why[256];
    if (!lab_json_document_parse(line, length, &document, why, sizeof why))
        return true; /* the program ended while the line was written */
    const lab_json_value *object = document.root;
    copy_text(object, "kind", finding.kind, sizeof finding.kind);
    lab_kernel_source_name(lab_json_get_text(object, "kernel", ""), finding.kernel, sizeof finding.kernel);
    copy_text(object, "file", finding.file, sizeof finding.file);
    copy_text(object, "other_file", finding.other_file, sizeof finding.other_file);
    copy_text(object, "text", finding.text, sizeof finding.text);
    finding.line = lab_json_get_integer(object, "line", 0);
    finding.other_line = lab_json_get_integer(object, "other_line", 0);
    finding.count = lab_json_get_integer(object, "count", 1);
    finding.last_launch = lab_json_get_integer(object, "launch", 0);
    finding.fix = lab_finding_fix(finding.kind, (rung_emulator_memory)lab_json_get_integer(object, "memory", 0),
                                  (rung_emulator_cause)lab_json_get_integer(object, "cause", 0));
    lab_json_document_free(&document);
    return add(findings, &finding);
}

bool lab_program_findings_read(FILE *file, lab_program_findings *findings)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    bool is_good = true;
    *findings = (lab_program_findings){0};
    rewind(file);
    while (is_good && (length = getline(&line, &capacity, file)) > 0)
        is_good = read_line(findings, line, (size_t)length);
    free(line);
    return is_good;
}

void lab_program_findings_free(lab_program_findings *findings)
{
    free(findings->list);
    *findings = (lab_program_findings){0};
}

/* ---- Printing --------------------------------------------------------------------------------------------- */

/* Prints a line of a source file, if the file can be read. */
static void print_source(const char *file, int64_t wanted, FILE *out)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length = 0;
    FILE *source = file[0] && wanted > 0 ? fopen(file, "re") : NULL;
    for (int64_t i = 0; source && i < wanted && length >= 0; i++)
        length = getline(&line, &capacity, source);
    if (source && length > 0)
        fprintf(out, "    %lld | %.*s\n", (long long)wanted, (int)strcspn(line, "\n"), line);
    free(line);
    if (source)
        fclose(source);
}

static void print_finding(const lab_program_finding *finding, FILE *out)
{
    if (finding->file[0])
        fprintf(out, "%s:%lld: ", finding->file, (long long)finding->line);
    else if (finding->line > 0)
        fprintf(out, "PTX line %lld: ", (long long)finding->line);
    fprintf(out, "%s in %s: %s\n", finding->kind, finding->kernel, finding->text);
    print_source(finding->file, finding->line, out);
    if (finding->other_line > 0 && finding->other_line != finding->line)
        print_source(finding->other_file, finding->other_line, out);
    if (finding->launches > 1)
        fprintf(out, "    found in %lld launches\n", (long long)finding->launches);
    if (*finding->fix)
        fprintf(out, "    fix: %s\n", finding->fix);
}

void lab_program_findings_print(const lab_program_findings *findings, FILE *out)
{
    bool has_lines = true;
    for (int64_t i = 0; i < findings->count; i++) {
        print_finding(&findings->list[i], out);
        has_lines = has_lines && (findings->list[i].file[0] || findings->list[i].line == 0);
    }
    if (!has_lines)
        fprintf(out, "rung: compile with nvcc -lineinfo to see lines of the source instead of lines of the PTX\n");
}
