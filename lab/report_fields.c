/* SPDX-License-Identifier: Apache-2.0 */
/* report_fields.c - everything that the files hold, as tables: the machines, the ceilings, and every field of every row.
 * A picture chooses; here nothing is left out, and no digit is rounded away. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 128, NAME_MAX_TEXT = 96, TABLES_MAX = 16 };

static bool is_table(const lab_value *value)
{
    return value->kind == LAB_ARRAY && value->first && value->first->kind == LAB_OBJECT;
}

static void write_value(const lab_value *value, char *text, size_t capacity)
{
    *text = '\0';
    if (value->kind == LAB_NUMBER)
        lab_write_exact(value->number, text, capacity);
    else if (value->kind == LAB_BOOLEAN)
        snprintf(text, capacity, value->number != 0 ? "yes" : "no");
    else if (value->kind == LAB_STRING)
        snprintf(text, capacity, "%s", value->text);
    for (const lab_value *at = value->kind == LAB_ARRAY ? value->first : NULL; at; at = at->next) {
        char part[256];
        size_t length = strlen(text);
        write_value(at, part, sizeof part);
        if (length + strlen(part) + 3 < capacity)
            snprintf(text + length, capacity - length, "%s%s", length > 0 ? ", " : "", part);
    }
}

/* ---- Fields of one object, those of objects in it by "name.name" ---- */

typedef void (*visitor)(void *to, const char *name, const lab_value *value);

static void visit(const lab_value *object, const char *before, visitor each, void *to)
{
    for (const lab_value *at = object->kind == LAB_OBJECT ? object->first : NULL; at; at = at->next) {
        char name[NAME_MAX_TEXT];
        snprintf(name, sizeof name, "%.40s%s%.50s", before, *before ? "." : "", at->name);
        if (at->kind == LAB_OBJECT)
            visit(at, name, each, to);
        else if (!is_table(at))
            each(to, name, at);
    }
}

typedef struct columns {
    char names[COLUMNS_MAX][NAME_MAX_TEXT];
    char values[COLUMNS_MAX][512]; /* of the row that is looked at; of the first one while columns are sought */
    bool is_same[COLUMNS_MAX];     /* in all rows so far */
    int  count;
} columns;

static int column_of(const columns *columns, const char *name)
{
    for (int i = 0; i < columns->count; i++)
        if (strcmp(columns->names[i], name) == 0)
            return i;
    return -1;
}

static void note_column(void *to, const char *name, const lab_value *value)
{
    columns *columns = to;
    char text[512];
    int i = column_of(columns, name);
    write_value(value, text, sizeof text);
    if (i < 0 && columns->count < COLUMNS_MAX) {
        i = columns->count++;
        snprintf(columns->names[i], sizeof columns->names[i], "%s", name);
        snprintf(columns->values[i], sizeof columns->values[i], "%s", text);
        columns->is_same[i] = true;
    } else if (i >= 0 && strcmp(columns->values[i], text) != 0) {
        columns->is_same[i] = false;
    }
}

static void take_value(void *to, const char *name, const lab_value *value)
{
    columns *columns = to;
    int i = column_of(columns, name);
    if (i >= 0)
        write_value(value, columns->values[i], sizeof columns->values[i]);
}

static bool has_field(const lab_value *object, const char *path)
{
    size_t length = strcspn(path, ".");
    for (const lab_value *at = object->kind == LAB_OBJECT ? object->first : NULL; at; at = at->next)
        if (strlen(at->name) == length && strncmp(at->name, path, length) == 0)
            return !path[length] || has_field(at, path + length + 1);
    return false;
}

/* A column that some rows lack is no constant of the table. */
static void find_columns(const lab_value *rows, columns *columns)
{
    memset(columns, 0, sizeof *columns);
    for (const lab_value *at = rows->first; at; at = at->next)
        visit(at, "", note_column, columns);
    for (int i = 0; i < columns->count; i++)
        for (const lab_value *at = rows->first; at && columns->is_same[i]; at = at->next)
            columns->is_same[i] = has_field(at, columns->names[i]);
}

/* ---- A table of rows, what is the same in all of them in a line above it ---- */

static void write_constants(lab_page *page, const columns *columns, int64_t rows)
{
    bool any = false;
    for (int i = 0; i < columns->count && rows > 1; i++) {
        if (!columns->is_same[i] || !*columns->values[i])
            continue;
        fputs(any ? "<tr>" : "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"The same in every row\"><table><caption>The same in every "
              "row</caption><thead><tr><th scope=\"col\">in every row</th><th scope=\"col\">is</th></tr></thead><tbody><tr>", page->out);
        fputs("<th scope=\"row\">", page->out);
        lab_escape(page->out, columns->names[i]);
        fputs("</th><td>", page->out);
        lab_escape(page->out, columns->values[i]);
        fputs("</td></tr>\n", page->out);
        any = true;
    }
    if (any)
        fputs("</tbody></table></div>\n", page->out);
}

static void write_rows(lab_page *page, const char *summary, const lab_value *rows, columns *columns)
{
    const char *heads[COLUMNS_MAX];
    int shown[COLUMNS_MAX], count = 0;
    lab_grid grid;
    find_columns(rows, columns);
    for (int i = 0; i < columns->count; i++)
        if (rows->count == 1 || !columns->is_same[i]) {
            shown[count] = i;
            heads[count++] = columns->names[i];
        }
    fputs("<details><summary>", page->out);
    lab_escape(page->out, summary);
    fputs("</summary>\n", page->out);
    write_constants(page, columns, rows->count);
    lab_grid_begin(&grid, count, NULL, heads);
    for (const lab_value *at = rows->first; at && count > 0; at = at->next) {
        for (int i = 0; i < columns->count; i++)
            columns->values[i][0] = '\0';
        visit(at, "", take_value, columns);
        for (int i = 0; i < count; i++)
            lab_grid_add(&grid, "%s", columns->values[shown[i]]);
    }
    lab_page_table(page, summary, &grid);
    lab_grid_free(&grid);
    fputs("</details>\n", page->out);
}

/* Tables that stand in rows, such as the lines of a kernel. */
static void write_inner(lab_page *page, const char *file, const lab_value *rows, columns *columns)
{
    int64_t number = 0;
    for (const lab_value *row = rows->first; row; row = row->next) {
        number++;
        for (const lab_value *at = row->kind == LAB_OBJECT ? row->first : NULL; at; at = at->next) {
            char summary[400];
            if (!is_table(at))
                continue;
            snprintf(summary, sizeof summary, "%.120s, row %lld (%.60s): %.60s", file, (long long)number, lab_text(row, "kernel", "?"), at->name);
            write_rows(page, summary, at, columns);
        }
    }
}

void lab_report_fields(lab_report *report)
{
    columns *columns = calloc(1, sizeof *columns);
    lab_page_section(&report->page, "fields", "Every field of every row");
    lab_page_text(&report->page, "lead", "All that the files hold, as they hold it: nothing is rounded.");
    for (int i = 0; i < report->input_count && columns; i++) {
        const lab_input *input = &report->inputs[i];
        char summary[300];
        if (input->rows->count == 0)
            continue;
        snprintf(summary, sizeof summary, "%.200s, %lld row%s", input->name, (long long)input->rows->count, input->rows->count == 1 ? "" : "s");
        write_rows(&report->page, summary, input->rows, columns);
        write_inner(&report->page, input->name, input->rows, columns);
    }
    free(columns);
}

/* ---- Machines --------------------------------------------------------------------------------------- */

typedef struct fact {
    char name[NAME_MAX_TEXT], value[512];
    char files[600];
    int  count;
} fact;

typedef struct facts {
    fact       *list;
    int         count, room;
    const char *file;
} facts;

/* The same of several files is one line. */
static void note_fact(void *to, const char *name, const lab_value *value)
{
    facts *facts = to;
    char text[512];
    write_value(value, text, sizeof text);
    for (int i = 0; i < facts->count; i++) {
        fact *fact = &facts->list[i];
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
    fact *fact = &facts->list[facts->count++];
    snprintf(fact->name, sizeof fact->name, "%s", name);
    snprintf(fact->value, sizeof fact->value, "%s", text);
    snprintf(fact->files, sizeof fact->files, "%.200s", facts->file);
    fact->count = 1;
}

static int by_name(const void *a, const void *b)
{
    const fact *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void gather_facts(const lab_report *report, facts *facts)
{
    for (int i = 0; i < report->input_count; i++) {
        const lab_value *root = report->inputs[i].root;
        facts->file = report->inputs[i].name;
        visit(lab_field(root, "machine"), "", note_fact, facts);
        visit(lab_field(root, "conditions"), "conditions", note_fact, facts);
        for (const lab_value *at = root->kind == LAB_OBJECT ? root->first : NULL; at; at = at->next)
            if (at->kind == LAB_NUMBER || at->kind == LAB_STRING || at->kind == LAB_BOOLEAN)
                note_fact(facts, at->name, at);
        for (const lab_value *at = lab_field(root, "settings")->first; at; at = at->next) {
            char name[NAME_MAX_TEXT], value[400];
            snprintf(name, sizeof name, "set: %.80s", lab_text(at, "name", "?"));
            snprintf(value, sizeof value, "%.100s: %.280s", lab_text(at, "value", ""), lab_text(at, "why", ""));
            note_fact(facts, name, &(lab_value){.kind = LAB_STRING, .text = value, .name = ""});
        }
    }
}

void lab_report_machines(lab_report *report)
{
    enum { FACTS_MAX = 512 };
    facts facts = {.list = calloc(FACTS_MAX, sizeof(fact)), .room = FACTS_MAX};
    lab_grid grid;
    lab_page_section(&report->page, "machine", "Machine and conditions");
    lab_page_text(&report->page, "lead", "What the files say of where and how they were made.");
    lab_grid_begin(&grid, 3, "lll", (const char *[]){"what", "is", "in"});
    if (facts.list)
        gather_facts(report, &facts);
    qsort(facts.list, (size_t)facts.count, sizeof(fact), by_name);
    for (int i = 0; i < facts.count; i++) {
        lab_grid_add(&grid, "%s", facts.list[i].name);
        lab_grid_add(&grid, "%s", facts.list[i].value);
        if (facts.list[i].count == report->input_count)
            lab_grid_add(&grid, report->input_count > 1 ? "every file" : "%s", facts.list[i].files);
        else if (facts.list[i].count > 3)
            lab_grid_add(&grid, "%d files", facts.list[i].count);
        else
            lab_grid_add(&grid, "%s", facts.list[i].files);
    }
    lab_page_table(&report->page, "Machine and conditions", &grid);
    lab_grid_free(&grid);
    free(facts.list);
}

/* ---- Ceilings --------------------------------------------------------------------------------------- */

void lab_report_peaks(lab_report *report)
{
    lab_grid grid;
    if (!lab_has_kind(report, LAB_INPUT_PEAK))
        return;
    lab_page_section(&report->page, "peaks", "What the machine gives at most");
    lab_page_text(&report->page, "lead", "Measured by loops that do nothing else.");
    lab_grid_begin(&grid, 6, "llrrrr", (const char *[]){"ceiling", "level", "threads", "bytes", "GFLOPS", "GB/s"});
    for (int i = 0; i < report->input_count; i++)
        for (const lab_value *at = report->inputs[i].kind == LAB_INPUT_PEAK ? report->inputs[i].rows->first : NULL; at; at = at->next) {
            lab_grid_add(&grid, "%s", lab_text(at, "ceiling", "?"));
            lab_grid_add(&grid, "%s", lab_text(at, "level", ""));
            lab_grid_add(&grid, "%lld", (long long)lab_integer(at, "threads", 1));
            lab_grid_add(&grid, lab_number(at, "bytes", 0) > 0 ? "%lld" : "-", (long long)lab_integer(at, "bytes", 0));
            lab_grid_number(&grid, lab_number(at, "gflops", 0));
            lab_grid_number(&grid, lab_number(at, "gb_s", 0));
        }
    lab_page_table(&report->page, "What the machine gives at most", &grid);
    lab_grid_free(&grid);
}
