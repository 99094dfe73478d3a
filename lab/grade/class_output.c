/* SPDX-License-Identifier: Apache-2.0 */
/* class_output.c - the grades of a class as text and as JSON; see class.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/table.h"
#include "grade/class.h"

/* ---- Text ---- */

/* Names the parts that a student lost, or the problem. */
static void name_losses(const lab_class *class, const lab_grade_result *result, char *text, size_t capacity)
{
    *text = '\0';
    if (result->obstacle)
        lab_append(text, capacity, "%s", result->obstacle);
    for (int i = 0; !result->obstacle && i < class->task->part_count; i++)
        if (!result->parts[i].is_reached)
            lab_append(text, capacity, "%s%s", *text ? ", " : "", class->task->parts[i].name);
}

static void add_student_row(const lab_class *class, const lab_class_student *student, lab_table *table)
{
    char losses[LAB_TABLE_CELL_BYTES * 2];
    name_losses(class, student->result, losses, sizeof losses);
    lab_table_begin_row(table);
    lab_table_cell(table, "%s", student->name);
    lab_table_cell(table, "%lld", (long long)student->result->points);
    lab_table_cell(table, "%s", losses);
    if (student->result->points < class->task->points)
        lab_table_colour(table, LAB_RED);
}

/* Prints the students, in several tables if one cannot hold all rows. */
static void print_students(const lab_class *class, lab_table *table)
{
    static const char *const header[] = {"student", "points", "lost"};
    for (int first = 0; first < class->count;) {
        *table = (lab_table){.rows = 0};
        lab_table_add(table, 3, header);
        for (int row = 1; row < LAB_TABLE_ROWS_MAX && first < class->count; row++)
            add_student_row(class, &class->students[first++], table);
        lab_table_print(table, "lrl", stdout);
    }
}

static void print_parts(const lab_class *class, const lab_class_summary *summary, lab_table *table)
{
    static const char *const header[] = {"part", "students", "mean", "of"};
    *table = (lab_table){.rows = 0};
    lab_table_add(table, 4, header);
    for (int i = 0; i < class->task->part_count; i++) {
        lab_table_begin_row(table);
        lab_table_cell(table, "%s", class->task->parts[i].name);
        lab_table_cell(table, "%d", summary->parts[i].students);
        lab_table_cell(table, "%.1f", (double)summary->parts[i].points / class->count);
        lab_table_cell(table, "%lld", (long long)class->task->parts[i].points);
    }
    printf("\nPoints per part:\n");
    lab_table_print(table, "lrrr", stdout);
}

static void print_mistakes(const lab_class *class, const lab_class_summary *summary)
{
    char text[LAB_GRADE_PROBLEM_BYTES + 512];
    if (summary->mistake_count > 0)
        printf("\nMost common mistakes:\n");
    for (int i = 0; i < summary->mistake_count; i++) {
        const lab_class_mistake *mistake = &summary->mistakes[i];
        snprintf(text, sizeof text, "%s: %s", class->students[mistake->example].name, mistake->text);
        if (*mistake->source)
            lab_append(text, sizeof text, ". Line %d: %s", mistake->line, mistake->source);
        printf("  %4d  %s\n        ", mistake->students, mistake->reason);
        lab_text_wrap(text, 8, 8, lab_terminal_width(stdout), stdout);
    }
}

void lab_class_print(const lab_class *class, const lab_class_summary *summary)
{
    lab_table *table = calloc(1, sizeof *table);
    printf("%s: %d submission%s in %s, seed %llu\n", class->task->name, class->count, class->count == 1 ? "" : "s",
           class->folder, (unsigned long long)class->seed);
    printf("%d with all %lld points; mean %.1f, median %.1f\n\n", summary->full, (long long)class->task->points,
           summary->mean, summary->median);
    if (table) {
        print_students(class, table);
        print_parts(class, summary, table);
    }
    free(table);
    print_mistakes(class, summary);
}

/* ---- JSON ---- */

static void write_parts(const lab_class *class, const lab_class_summary *summary, lab_json *json)
{
    lab_json_begin(json, "parts", '[');
    for (int i = 0; i < class->task->part_count; i++) {
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "name", class->task->parts[i].name);
        LAB_JSON_INTEGERS(json, {"max_points", class->task->parts[i].points}, {"students", summary->parts[i].students},
                          {"points_of_all", summary->parts[i].points});
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void write_distribution(const lab_class_summary *summary, lab_json *json)
{
    lab_json_begin(json, "distribution", '[');
    for (int i = 0; i < LAB_CLASS_BINS; i++) {
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "points", lab_class_bin_text(i));
        lab_json_integer(json, "students", summary->bins[i]);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void write_mistakes(const lab_class *class, const lab_class_summary *summary, lab_json *json)
{
    lab_json_begin(json, "mistakes", '[');
    for (int i = 0; i < summary->mistake_count; i++) {
        const lab_class_mistake *mistake = &summary->mistakes[i];
        lab_json_begin(json, NULL, '{');
        LAB_JSON_STRINGS(json, {"kind", mistake->kind}, {"reason", mistake->reason});
        lab_json_integer(json, "students", mistake->students);
        lab_json_begin(json, "example", '{');
        LAB_JSON_STRINGS(json, {"student", class->students[mistake->example].name}, {"text", mistake->text});
        lab_json_integer(json, "line", mistake->line);
        lab_json_string(json, "source", mistake->source);
        lab_json_end(json, '}');
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void write_students(const lab_class *class, lab_json *json)
{
    lab_json_begin(json, "students", '[');
    for (int i = 0; i < class->count; i++) {
        const lab_class_student *student = &class->students[i];
        lab_json_begin(json, NULL, '{');
        LAB_JSON_STRINGS(json, {"name", student->name}, {"file", student->path});
        if (student->variant)
            lab_grade_write_variant(student->variant, student->name, json);
        lab_grade_write_fields(class->task, student->result, json);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

void lab_class_write_json(const lab_class *class, const lab_class_summary *summary, FILE *out)
{
    lab_json json = lab_json_open(out, "rung-class/1");
    LAB_JSON_STRINGS(&json, {"task", class->task->name}, {"folder", class->folder});
    LAB_JSON_INTEGERS(&json, {"seed", (int64_t) class->seed}, {"max_points", class->task->points},
                      {"submissions", class->count}, {"full", summary->full});
    lab_json_number(&json, "mean", summary->mean);
    lab_json_number(&json, "median", summary->median);
    write_distribution(summary, &json);
    write_parts(class, summary, &json);
    write_mistakes(class, summary, &json);
    write_students(class, &json);
    lab_json_end(&json, '}');
}
