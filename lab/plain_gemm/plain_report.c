/* SPDX-License-Identifier: Apache-2.0 */
/* plain_report.c - see plain_report.h. */
#include "plain_gemm/plain_report.h"

#include <stdio.h>
#include <string.h>

#include "cli/terminal.h"
#include "common/text.h"

/* ---- Text ---- */

static void print_field(const char *name, const char *text)
{
    printf("  %-9s ", name);
    lab_text_wrap(text, 12, 12, lab_terminal_width(stdout), stdout);
}

/* Says what the kernel gets for a parameter, as far as its name does not say it. */
static void describe_slot(const lab_plain_report *report, int index, char *text, size_t capacity)
{
    const lab_gemm_slot *slot = &report->kernel.slots[index];
    lab_role role = lab_gemm_slot_role(&report->kernel, &report->meaning, index);
    *text = '\0';
    if (slot->has_value)
        lab_append(text, capacity, "%g", slot->value);
    else if (role == LAB_ROLE_VALUE && slot->type.is_integer)
        lab_append(text, capacity, "%lld", (long long)report->first.launch.arguments[slot->parameter]);
    else if (role != LAB_ROLE_UNKNOWN)
        lab_append(text, capacity, "%s", lab_role_name(role));
    else
        lab_append(text, capacity, slot->type.pointers > 0 ? "a null pointer" : "unknown");
}

static void print_parameters(const lab_plain_report *report)
{
    char text[1024] = "", value[64];
    for (int i = 0; i < report->kernel.slot_count; i++) {
        const lab_gemm_slot *slot = &report->kernel.slots[i];
        if (slot->type.is_struct || report->kernel.is_copied[slot->parameter])
            continue;
        describe_slot(report, i, value, sizeof value);
        lab_append(text, sizeof text, "%s%s", *text ? ", " : "", slot->name);
        if (strcmp(value, slot->name) != 0)
            lab_append(text, sizeof text, " = %s", value);
    }
    print_field("takes", text);
}

static void print_launch(const lab_plain_report *report)
{
    const lab_gemm_launch *launch = &report->first.launch;
    const lab_launch_source *source = &report->kernel.source;
    char text[1024], place[128];
    snprintf(text, sizeof text, "%u x %u x %u blocks of %u x %u x %u threads for %lld x %lld x %lld", launch->grid[0],
             launch->grid[1], launch->grid[2], launch->block[0], launch->block[1], launch->block[2],
             (long long)report->sizes.base[0], (long long)report->sizes.base[1], (long long)report->sizes.base[2]);
    if (launch->shared_bytes > 0)
        lab_append(text, sizeof text, ", %lld bytes of dynamic shared memory", (long long)launch->shared_bytes);
    if (source->grid || source->block)
        lab_append(text, sizeof text,
                   report->kernel.options.line > 0 ? " (from the comment in line %d)" : " (as given)",
                   report->kernel.options.line);
    else if (source->launch) {
        lab_gemm_name_launches(report->launch_lines, place, sizeof place);
        lab_append(text, sizeof text, " (from %s)", place);
    }
    print_field("launch", text);
    if (*report->not_run)
        print_field("not run", report->not_run);
}

static void print_assumption(const lab_plain_report *report)
{
    char text[512];
    if (!*report->kernel.assumed)
        return;
    snprintf(text, sizeof text, "%s, because the file does not name the type; choose another with --template",
             report->kernel.assumed);
    print_field("assumes", text);
}

/* Prints which headers were replaced by empty ones. */
static void print_notes(const lab_plain_report *report)
{
    char note[512];
    for (const char *at = report->kernel.code.log; lab_cuda_note_next(&at, note, sizeof note);)
        print_field("note", note);
}

static void print_sizes(const lab_plain_report *report)
{
    char text[1536], sizes[512];
    const lab_gemm_sizes *all = &report->sizes;
    if (lab_gemm_takes_any_size(all)) {
        snprintf(text, sizeof text, "any; tested up to %lld x %lld x %lld", (long long)all->largest[0],
                 (long long)all->largest[1], (long long)all->largest[2]);
        print_field("sizes", text);
        return;
    }
    lab_gemm_describe_sizes(&report->kernel, all, sizes, sizeof sizes);
    snprintf(text, sizeof text, "correct only when %s", sizes);
    print_field("sizes", text);
    if (*report->kernel.constants) {
        snprintf(text, sizeof text, "constants of the file: %s", report->kernel.constants);
        print_field("", text);
    }
    for (int i = 0; i < 3; i++) {
        lab_gemm_describe_failure(all, i, text, sizeof text);
        if (*text)
            print_field("", text);
    }
}

static void print_result(const lab_plain_report *report, double seconds)
{
    char text[1536];
    snprintf(text, sizeof text, "%d of %d right", report->cases - report->wrong, report->cases);
    if (report->first.batch > 1)
        lab_append(text, sizeof text, ", each a batch of %lld products", (long long)report->first.batch);
    if (report->is_low_precision)
        lab_append(text, sizeof text, "; the sums are rounded to the type of C at every step");
    else if (report->precision)
        lab_append(text, sizeof text, "; the precision is that of %s, not of float", report->precision);
    print_field("cases", text);
    if (report->is_late) {
        snprintf(text, sizeof text,
                 "the time limit of %g seconds ended the verification early; raise it with --time-limit SECONDS",
                 seconds);
        print_field("limit", text);
    }
    if (report->wrong > 0)
        print_field("wrong", report->first_wrong);
}

/* Writes what the kernel computes: the formula with layouts, the formula that is almost right, or "". */
static void describe_computation(const lab_plain_report *report, char *text, size_t capacity)
{
    char what[512];
    *text = '\0';
    if (report->is_understood)
        lab_gemm_describe_meaning(&report->kernel, &report->meaning, text, capacity);
    else if (lab_gemm_formula_is_good(&report->formula)) {
        lab_gemm_formula_describe(&report->formula, what, sizeof what);
        lab_gemm_describe_meaning(&report->kernel, &report->meaning, text, capacity);
        text[strcspn(text, ";")] = '\0';
        lab_append(text, capacity, ", but %s", what);
    }
}

void lab_plain_report_print(const lab_plain_report *report, const lab_gemm_file *file, double seconds)
{
    char text[1024];
    if (!report->is_open) {
        printf("%s\n", *report->kernel.title ? report->kernel.title : file->path);
        print_field("not run", report->why);
        return;
    }
    printf("%s, %s:%d\n", report->kernel.title, lab_base_name(file->path), report->kernel.line);
    print_parameters(report);
    print_assumption(report);
    print_notes(report);
    describe_computation(report, text, sizeof text);
    bool has_ended = report->first.outcome == LAB_GEMM_RIGHT || report->first.outcome == LAB_GEMM_WRONG;
    print_field("computes", *text       ? text
                            : has_ended ? "no matrix product: no layout and no order of the sizes explains the result"
                                        : "unknown: the kernel does not run to its end");
    if (report->is_understood)
        lab_gemm_describe_unusual(&report->kernel, &report->meaning, text, sizeof text);
    if (report->is_understood && *text)
        print_field("note", text);
    print_launch(report);
    if (report->is_understood && !report->is_late)
        print_sizes(report);
    print_result(report, seconds);
    if (report->findings.count == 0)
        print_field("findings", "none");
    else
        lab_finding_list_print(&report->findings, file->text, stdout);
}

/* ---- JSON ---- */

static void write_integers(lab_json *json, const char *name, const int64_t values[3])
{
    lab_json_begin(json, name, '[');
    for (int i = 0; i < 3; i++)
        lab_json_integer(json, NULL, values[i]);
    lab_json_end(json, ']');
}

static void write_parameters(const lab_plain_report *report, lab_json *json)
{
    char value[64];
    lab_json_begin(json, "takes", '[');
    for (int i = 0; i < report->kernel.slot_count; i++) {
        if (report->kernel.slots[i].type.is_struct || report->kernel.is_copied[report->kernel.slots[i].parameter])
            continue;
        describe_slot(report, i, value, sizeof value);
        lab_json_begin(json, NULL, '{');
        LAB_JSON_STRINGS(json, {"name", report->kernel.slots[i].name}, {"value", value});
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void write_notes(const lab_plain_report *report, lab_json *json)
{
    char note[512];
    lab_json_begin(json, "notes", '[');
    for (const char *at = report->kernel.code.log; lab_cuda_note_next(&at, note, sizeof note);)
        lab_json_string(json, NULL, note);
    lab_json_end(json, ']');
}

static void write_launch(const lab_plain_report *report, lab_json *json)
{
    const lab_gemm_launch *launch = &report->first.launch;
    lab_json_begin(json, "launch", '{');
    write_integers(json, "size", report->sizes.base);
    write_integers(json, "grid", (const int64_t[]){launch->grid[0], launch->grid[1], launch->grid[2]});
    write_integers(json, "block", (const int64_t[]){launch->block[0], launch->block[1], launch->block[2]});
    LAB_JSON_INTEGERS(json, {"shared_bytes", launch->shared_bytes}, {"batch", report->first.batch});
    lab_json_end(json, '}');
}

static void write_failures(const lab_gemm_sizes *sizes, lab_json *json)
{
    lab_json_begin(json, "failing_sizes", '[');
    for (int i = 0; i < sizes->failure_count; i++) {
        const lab_gemm_failure *failure = &sizes->failures[i];
        lab_json_begin(json, NULL, '{');
        write_integers(json, "size", failure->size);
        lab_json_string(json, "kind", failure->kind);
        lab_json_integer(json, "line", failure->line);
        lab_json_string(json, "text", failure->text);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void write_sizes(const lab_plain_report *report, lab_json *json)
{
    char text[512] = "";
    if (report->is_understood && !report->is_late) {
        lab_gemm_describe_sizes(&report->kernel, &report->sizes, text, sizeof text);
        lab_json_string(json, "sizes", *text ? text : "any");
    } else
        lab_json_string(json, "sizes", "");
    write_integers(json, "largest_size", report->sizes.largest);
    write_failures(&report->sizes, json);
}

void lab_plain_report_write(const lab_plain_report *report, lab_json *json)
{
    char text[1024] = "";
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "kernel", report->kernel.title);
    lab_json_boolean(json, "ran", report->is_open);
    if (!report->is_open)
        lab_json_string(json, "reason", report->why);
    else {
        lab_json_integer(json, "line", report->kernel.line);
        LAB_JSON_STRINGS(json, {"launch_lines", report->launch_lines}, {"launches_not_run", report->not_run},
                         {"assumed", report->kernel.assumed});
        write_notes(report, json);
        write_parameters(report, json);
        write_launch(report, json);
        describe_computation(report, text, sizeof text);
        lab_json_string(json, "computes", text);
        write_sizes(report, json);
        lab_json_boolean(json, "complete", !report->is_late);
        lab_json_string(json, "precision", report->precision ? report->precision : "");
        LAB_JSON_INTEGERS(json, {"cases", report->cases}, {"wrong", report->wrong});
        lab_json_string(json, "first_wrong", report->first_wrong);
    }
    lab_json_end(json, '}');
}
