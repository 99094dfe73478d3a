/* SPDX-License-Identifier: Apache-2.0 */
/* section_fields.c - all data of the files as tables: machines, ceilings, and every field of every row, without
 * rounding. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 128, NAME_MAX_TEXT = 96, TABLES_MAX = 16, VALUE_TEXT = 4096, LIST_TEXT = 512 };

/* Formats a number with the fewest digits that restore the same value. */
static void format_exact(double value, char *text, size_t capacity)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, capacity, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

static bool is_table(const lab_json_value *value)
{
    return value->kind == LAB_JSON_ARRAY && value->first && value->first->kind == LAB_JSON_OBJECT;
}

/* Writes a value as text; of a long list, the beginning. */
static void format_value(const lab_json_value *value, char *text, size_t capacity)
{
    if (value->kind == LAB_JSON_ARRAY && capacity > LIST_TEXT)
        capacity = LIST_TEXT;
    *text = '\0';
    if (value->kind == LAB_JSON_NUMBER)
        format_exact(value->number, text, capacity);
    else if (value->kind == LAB_JSON_BOOLEAN)
        snprintf(text, capacity, value->number != 0 ? "yes" : "no");
    else if (value->kind == LAB_JSON_STRING)
        snprintf(text, capacity, "%s", value->text);
    for (const lab_json_value *at = value->kind == LAB_JSON_ARRAY ? value->first : NULL; at; at = at->next) {
        char part[256];
        size_t length = strlen(text);
        format_value(at, part, sizeof part);
        if (length + strlen(part) + 8 >= capacity) {
            snprintf(text + length, capacity - length, ", ...");
            break;
        }
        snprintf(text + length, capacity - length, "%s%s", length > 0 ? ", " : "", part);
    }
}

/* ---- Fields of an object ---- */

typedef void (*field_visitor_t)(void *to, const char *name, const lab_json_value *value);

/* Calls `each` for the fields of an object and, as "name.name", for the fields of objects in it. */
static void visit(const lab_json_value *object, const char *before, field_visitor_t each, void *to)
{
    for (const lab_json_value *at = object->kind == LAB_JSON_OBJECT ? object->first : NULL; at; at = at->next) {
        char name[NAME_MAX_TEXT];
        snprintf(name, sizeof name, "%.40s%s%.50s", before, *before ? "." : "", at->name);
        if (at->kind == LAB_JSON_OBJECT)
            visit(at, name, each, to);
        else if (!is_table(at))
            each(to, name, at);
    }
}

typedef struct field_columns {
    char names[COLUMNS_MAX][NAME_MAX_TEXT];
    char values[COLUMNS_MAX][VALUE_TEXT]; /* of the current row; of the first row while columns are collected */
    bool is_constant[COLUMNS_MAX];        /* in all rows so far */
    bool is_full;                         /* there are more fields than columns */
    int count;
} field_columns_t;

static int column_of(const field_columns_t *columns, const char *name)
{
    for (int i = 0; i < columns->count; i++)
        if (strcmp(columns->names[i], name) == 0)
            return i;
    return -1;
}

static void add_column(void *to, const char *name, const lab_json_value *value)
{
    field_columns_t *columns = to;
    char text[VALUE_TEXT];
    int i = column_of(columns, name);
    format_value(value, text, sizeof text);
    columns->is_full = columns->is_full || (i < 0 && columns->count == COLUMNS_MAX);
    if (i < 0 && columns->count < COLUMNS_MAX) {
        i = columns->count++;
        snprintf(columns->names[i], sizeof columns->names[i], "%s", name);
        snprintf(columns->values[i], sizeof columns->values[i], "%s", text);
        columns->is_constant[i] = true;
    } else if (i >= 0 && strcmp(columns->values[i], text) != 0) {
        columns->is_constant[i] = false;
    }
}

static void store_value(void *to, const char *name, const lab_json_value *value)
{
    field_columns_t *columns = to;
    int i = column_of(columns, name);
    if (i >= 0)
        format_value(value, columns->values[i], sizeof columns->values[i]);
}

static void read_values(const lab_json_value *row, field_columns_t *columns)
{
    for (int i = 0; i < columns->count; i++)
        columns->values[i][0] = '\0';
    visit(row, "", store_value, columns);
}

static bool has_field(const lab_json_value *object, const char *path)
{
    size_t length = strcspn(path, ".");
    for (const lab_json_value *at = object->kind == LAB_JSON_OBJECT ? object->first : NULL; at; at = at->next)
        if (strlen(at->name) == length && strncmp(at->name, path, length) == 0)
            return !path[length] || has_field(at, path + length + 1);
    return false;
}

/* Collects the columns of all rows. A column that some rows lack is not constant. */
static void find_columns(const lab_json_value *rows, field_columns_t *columns)
{
    memset(columns, 0, sizeof *columns);
    for (const lab_json_value *at = rows->first; at; at = at->next)
        visit(at, "", add_column, columns);
    for (int i = 0; i < columns->count; i++)
        for (const lab_json_value *at = rows->first; at && columns->is_constant[i]; at = at->next)
            columns->is_constant[i] = has_field(at, columns->names[i]);
}

/* ---- A table of rows; constant fields in a table above it ---- */

static void write_constants(lab_page *page, const field_columns_t *columns, int64_t rows)
{
    bool any = false;
    for (int i = 0; i < columns->count && rows > 1; i++) {
        if (!columns->is_constant[i] || !*columns->values[i])
            continue;
        fputs(any ? "<tr>"
                  : "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"The same in every "
                    "row\"><table><caption>The same in every row</caption><thead><tr><th scope=\"col\">in every "
                    "row</th><th scope=\"col\">is</th></tr></thead><tbody><tr>",
              page->out);
        lab_html_write(page->out, "<th scope=\"row\">%s</th><td>%s</td></tr>\n", columns->names[i], columns->values[i]);
        any = true;
    }
    if (any)
        fputs("</tbody></table></div>\n", page->out);
}

static void write_rows(lab_page *page, const char *summary, const lab_json_value *rows, field_columns_t *columns)
{
    const char *heads[COLUMNS_MAX];
    int shown[COLUMNS_MAX], count = 0;
    lab_data_table grid;
    find_columns(rows, columns);
    for (int i = 0; i < columns->count; i++)
        if (rows->count == 1 || !columns->is_constant[i]) {
            shown[count] = i;
            heads[count++] = columns->names[i];
        }
    lab_html_write(page->out, "<details><summary>%s</summary>\n", summary);
    write_constants(page, columns, rows->count);
    lab_data_table_begin(&grid, count, NULL, heads);
    for (const lab_json_value *at = rows->first; at && count > 0; at = at->next) {
        read_values(at, columns);
        for (int i = 0; i < count; i++)
            lab_data_table_add(&grid, "%s", columns->values[shown[i]]);
    }
    lab_page_table(page, summary, &grid);
    lab_data_table_free(&grid);
    if (columns->is_full)
        lab_page_text(page, "warn", "The rows have more than %d fields; only these are shown.", COLUMNS_MAX);
    fputs("</details>\n", page->out);
}

/* ---- Tables inside rows, such as the lines of a kernel: one table per name ---- */

static void write_nested_table(lab_page *page, const char *summary, const lab_json_value *rows, const char *name,
                               field_columns_t *columns)
{
    const char *heads[COLUMNS_MAX + 1] = {"of"};
    lab_data_table grid;
    memset(columns, 0, sizeof *columns);
    for (const lab_json_value *row = rows->first; row; row = row->next)
        for (const lab_json_value *at = lab_json_get(row, name)->first; at; at = at->next)
            visit(at, "", add_column, columns);
    for (int i = 0; i < columns->count; i++)
        heads[i + 1] = columns->names[i];
    lab_data_table_begin(&grid, columns->count + 1, NULL, heads);
    for (const lab_json_value *row = rows->first; row; row = row->next)
        for (const lab_json_value *at = lab_json_get(row, name)->first; at; at = at->next) {
            read_values(at, columns);
            lab_data_table_add(&grid, "%s", lab_json_get_text(row, "kernel", "?"));
            for (int i = 0; i < columns->count; i++)
                lab_data_table_add(&grid, "%s", columns->values[i]);
        }
    lab_page_details(page, summary, &grid);
    lab_data_table_free(&grid);
}

static void write_nested_tables(lab_page *page, const char *file, const lab_json_value *rows, field_columns_t *columns)
{
    const char *names[TABLES_MAX];
    int count = 0;
    for (const lab_json_value *row = rows->first; row; row = row->next)
        for (const lab_json_value *at = row->kind == LAB_JSON_OBJECT ? row->first : NULL; at; at = at->next) {
            bool is_known = !is_table(at);
            for (int i = 0; i < count; i++)
                is_known = is_known || strcmp(names[i], at->name) == 0;
            if (!is_known && count < TABLES_MAX)
                names[count++] = at->name;
        }
    for (int i = 0; i < count; i++) {
        char summary[400];
        snprintf(summary, sizeof summary, "%.200s, %.60s of its rows", file, names[i]);
        write_nested_table(page, summary, rows, names[i], columns);
    }
}

void lab_report_fields_section(lab_report *report)
{
    field_columns_t *columns = calloc(1, sizeof *columns);
    lab_page_section(&report->page, "fields", "Every field of every row");
    lab_page_text(&report->page, "lead", "All fields of the files, without rounding. Long lists are truncated.");
    for (int i = 0; i < report->input_count && columns; i++) {
        const lab_report_input *input = &report->inputs[i];
        char summary[300];
        if (input->rows->count == 0)
            continue;
        snprintf(summary, sizeof summary, "%.200s, %lld row%s", input->name, (long long)input->rows->count,
                 input->rows->count == 1 ? "" : "s");
        write_rows(&report->page, summary, input->rows, columns);
        write_nested_tables(&report->page, input->name, input->rows, columns);
    }
    free(columns);
}

/* ---- Machines ---- */

typedef struct machine_fact {
    char name[NAME_MAX_TEXT], value[512];
    char files[600];
    int count;
    bool is_setting; /* an environment variable that rung bench set */
} machine_fact_t;

typedef struct machine_facts {
    machine_fact_t *list;
    int count, room;
    const char *file;
    bool has_settings; /* the facts that are being added are settings */
} machine_facts_t;

/* Adds a fact of a file. Equal facts of several files share a line. */
static void add_fact(void *to, const char *name, const lab_json_value *value)
{
    machine_facts_t *facts = to;
    char text[512];
    format_value(value, text, sizeof text);
    for (int i = 0; i < facts->count; i++) {
        machine_fact_t *fact = &facts->list[i];
        size_t length = strlen(fact->files);
        if (strcmp(fact->name, name) != 0 || strcmp(fact->value, text) != 0)
            continue;
        fact->count++;
        if (length + strlen(facts->file) + 3 < sizeof fact->files)
            snprintf(fact->files + length, sizeof fact->files - length, ", %s", facts->file);
        return;
    }
    if (facts->count == facts->room)
        return;
    machine_fact_t *fact = &facts->list[facts->count++];
    snprintf(fact->name, sizeof fact->name, "%s", name);
    snprintf(fact->value, sizeof fact->value, "%s", text);
    snprintf(fact->files, sizeof fact->files, "%.200s", facts->file);
    fact->count = 1;
    fact->is_setting = facts->has_settings;
}

static int by_name(const void *a, const void *b)
{
    const machine_fact_t *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Calls `each` for the facts of a file: machine, conditions and plain values. */
static void visit_facts(const lab_json_value *root, field_visitor_t each, void *to)
{
    visit(lab_json_get(root, "machine"), "", each, to);
    visit(lab_json_get(root, "conditions"), "conditions", each, to);
    for (const lab_json_value *at = root->kind == LAB_JSON_OBJECT ? root->first : NULL; at; at = at->next)
        if (at->kind == LAB_JSON_NUMBER || at->kind == LAB_JSON_STRING || at->kind == LAB_JSON_BOOLEAN)
            each(to, at->name, at);
}

static void gather_facts(const lab_report *report, machine_facts_t *facts)
{
    for (int i = 0; i < report->input_count; i++) {
        const lab_json_value *root = report->inputs[i].root;
        facts->file = report->inputs[i].name;
        facts->has_settings = false;
        visit_facts(root, add_fact, facts);
        facts->has_settings = true;
        for (const lab_json_value *at = lab_json_get(root, "settings")->first; at; at = at->next) {
            char name[NAME_MAX_TEXT], value[400];
            snprintf(name, sizeof name, "set: %.80s", lab_json_get_text(at, "name", "?"));
            snprintf(value, sizeof value, "%.100s: %.280s", lab_json_get_text(at, "value", ""),
                     lab_json_get_text(at, "why", ""));
            add_fact(facts, name, &(lab_json_value){.kind = LAB_JSON_STRING, .text = value, .name = ""});
        }
    }
}

/* Returns whether a fact has too many values for one line and is listed per file. */
static bool differs_by_file(const machine_facts_t *facts, const machine_fact_t *fact)
{
    int count = 0;
    for (int i = 0; i < facts->count; i++)
        count += strcmp(facts->list[i].name, fact->name) == 0;
    return count >= 3 && !fact->is_setting;
}

static void tabulate_facts(const lab_report *report, const machine_facts_t *facts, lab_data_table *grid)
{
    lab_data_table_begin(grid, 3, "lll", (const char *[]){"what", "is", "in"});
    for (int i = 0; i < facts->count; i++) {
        const machine_fact_t *fact = &facts->list[i];
        if (differs_by_file(facts, fact))
            continue;
        lab_data_table_add(grid, "%s", fact->name);
        lab_data_table_add(grid, "%s", fact->value);
        if (fact->count == report->input_count && report->input_count > 1)
            lab_data_table_add(grid, "every file");
        else if (fact->count > 3)
            lab_data_table_add(grid, "%d files", fact->count);
        else
            lab_data_table_add(grid, "%s", fact->files);
    }
}

typedef struct fact_query {
    const char *name;
    char value[512];
} fact_query_t;

static void match_fact(void *to, const char *name, const lab_json_value *value)
{
    fact_query_t *query = to;
    if (strcmp(query->name, name) == 0)
        format_value(value, query->value, sizeof query->value);
}

static void tabulate_files(const lab_report *report, const machine_facts_t *facts, lab_data_table *grid)
{
    const char *heads[COLUMNS_MAX] = {"file", "rows"};
    int count = 2;
    for (int i = 0; i < facts->count && count < COLUMNS_MAX; i++)
        if (differs_by_file(facts, &facts->list[i]) &&
            (i == 0 || strcmp(facts->list[i].name, facts->list[i - 1].name) != 0))
            heads[count++] = facts->list[i].name;
    lab_data_table_begin(grid, count, NULL, heads);
    for (int i = 0; i < report->input_count; i++) {
        lab_data_table_add(grid, "%s", report->inputs[i].name);
        lab_data_table_add(grid, "%lld", (long long)report->inputs[i].rows->count);
        for (int j = 2; j < count; j++) {
            fact_query_t query = {.name = heads[j]};
            visit_facts(report->inputs[i].root, match_fact, &query);
            lab_data_table_add(grid, "%s", query.value);
        }
    }
}

void lab_report_machines_section(lab_report *report)
{
    int room = 64 * (report->input_count + 1);
    machine_facts_t facts = {.list = calloc((size_t)room, sizeof(machine_fact_t)), .room = room};
    lab_data_table grid;
    if (!facts.list)
        return;
    lab_page_section(&report->page, "machine", "Machine and conditions");
    lab_page_text(&report->page, "lead", "Machine and settings of the measurements, as recorded in the files.");
    gather_facts(report, &facts);
    qsort(facts.list, (size_t)facts.count, sizeof(machine_fact_t), by_name);
    tabulate_facts(report, &facts, &grid);
    lab_page_table(&report->page, "Machine and conditions", &grid);
    lab_data_table_free(&grid);
    tabulate_files(report, &facts, &grid);
    lab_page_table(&report->page, "The files", &grid);
    lab_data_table_free(&grid);
    free(facts.list);
}

/* ---- Ceilings ---- */

void lab_report_peaks_section(lab_report *report)
{
    lab_data_table grid;
    if (!lab_report_has_kind(report, LAB_REPORT_INPUT_PEAK))
        return;
    lab_page_section(&report->page, "peaks", "Peak of the machine");
    lab_page_text(&report->page, "lead", "Measured with loops that only compute or only copy.");
    lab_data_table_begin(&grid, 6, "llrrrr",
                         (const char *[]){"ceiling", "level", "threads", "bytes", "GFLOPS", "GB/s"});
    for (int i = 0; i < report->input_count; i++)
        for (const lab_json_value *at = lab_report_first_row(report, i, LAB_REPORT_INPUT_PEAK); at; at = at->next) {
            lab_data_table_add(&grid, "%s", lab_json_get_text(at, "ceiling", "?"));
            lab_data_table_add(&grid, "%s", lab_json_get_text(at, "level", ""));
            lab_data_table_add(&grid, "%lld", (long long)lab_json_get_integer(at, "threads", 1));
            lab_data_table_add(&grid, lab_json_get_number(at, "bytes", 0) > 0 ? "%lld" : "-",
                               (long long)lab_json_get_integer(at, "bytes", 0));
            lab_data_table_add_number(&grid, lab_json_get_number(at, "gflops", 0));
            lab_data_table_add_number(&grid, lab_json_get_number(at, "gb_s", 0));
        }
    lab_page_table(&report->page, "Peak of the machine", &grid);
    lab_data_table_free(&grid);
}
