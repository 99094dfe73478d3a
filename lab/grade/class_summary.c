/* SPDX-License-Identifier: Apache-2.0 */
/* class_summary.c - the sums of a class: points per part, the distribution, and the most common mistakes; see class.h. */
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "grade/class.h"
#include "io/input_file.h"

/* ---- Points ---- */

static int compare_points(const void *x, const void *y)
{
    int64_t one = *(const int64_t *)x, other = *(const int64_t *)y;
    return (one > other) - (one < other);
}

/* Returns the median of the points; 0 if there are no students or memory is exhausted. */
static double find_median(const lab_class *class)
{
    int64_t *points = class->count > 0 ? calloc((size_t) class->count, sizeof *points) : NULL;
    if (!points)
        return 0;
    for (int i = 0; i < class->count; i++)
        points[i] = class->students[i].result->points;
    qsort(points, (size_t) class->count, sizeof *points, compare_points);
    double median = (double)(points[(class->count - 1) / 2] + points[class->count / 2]) / 2;
    free(points);
    return median;
}

static void add_points(const lab_class *class, lab_class_summary *summary)
{
    const lab_task *task = class->task;
    for (int i = 0; i < class->count; i++) {
        const lab_grade_result *result = class->students[i].result;
        int bin = task->points > 0 ? (int)(result->points * 10 / task->points) : 10;
        summary->bins[bin]++;
        summary->points += result->points;
        summary->full += result->points == task->points;
        for (int part = 0; part < task->part_count; part++) {
            summary->parts[part].students += result->parts[part].is_reached;
            summary->parts[part].points += result->parts[part].points;
        }
    }
    summary->mean = (double)summary->points / class->count;
    summary->median = find_median(class);
}

const char *lab_class_bin_text(int bin)
{
    static const char *const texts[LAB_CLASS_BINS] = {"0 to 9 %",   "10 to 19 %", "20 to 29 %", "30 to 39 %",
                                                      "40 to 49 %", "50 to 59 %", "60 to 69 %", "70 to 79 %",
                                                      "80 to 89 %", "90 to 99 %", "100 %"};
    return texts[bin];
}

/* ---- Mistakes ---- */

/* Adds a mistake of a student. Mistakes beyond the list are dropped: there are fewer kinds of them. */
static void add_mistake(lab_class_summary *summary, int student, const char *kind, const char *reason, int line,
                        const char *text)
{
    lab_class_mistake *mistake = summary->mistakes, *end = mistake + summary->mistake_count;
    while (mistake < end && (strcmp(mistake->kind, kind) != 0 || strcmp(mistake->reason, reason) != 0))
        mistake++;
    if (mistake == end) {
        if (summary->mistake_count == LAB_CLASS_MISTAKES_MAX)
            return;
        summary->mistake_count++;
        *mistake = (lab_class_mistake){.kind = kind, .example = student, .line = line};
        snprintf(mistake->reason, sizeof mistake->reason, "%s", reason);
        snprintf(mistake->text, sizeof mistake->text, "%s", text);
    }
    mistake->students++;
}

/* Adds each kind of finding once. */
static void add_findings(lab_class_summary *summary, int student, const lab_finding_list *list)
{
    for (int i = 0; i < list->count; i++) {
        bool is_new = true;
        for (int other = 0; other < i; other++)
            is_new = is_new && strcmp(list->items[other].kind, list->items[i].kind) != 0;
        if (is_new)
            add_mistake(summary, student, "finding", list->items[i].kind, list->items[i].line, list->items[i].text);
    }
}

/* Parts about findings are left out: the findings themselves are mistakes. */
static void add_mistakes(const lab_class *class, lab_class_summary *summary, int student)
{
    const lab_grade_result *result = class->students[student].result;
    if (result->obstacle)
        add_mistake(summary, student, "problem", result->obstacle, 0, result->problem);
    for (int i = 0; i < class->task->part_count; i++) {
        const lab_task_part *part = &class->task->parts[i];
        const lab_grade_part *graded = &result->parts[i];
        if (!graded->is_reached && graded->is_decided && part->kind != LAB_PART_FINDINGS)
            add_mistake(summary, student, part->kind == LAB_PART_SHAPES ? "results" : "metric", part->name, 0,
                        graded->text);
    }
    add_findings(summary, student, &result->findings);
}

static int compare_mistakes(const void *x, const void *y)
{
    const lab_class_mistake *one = x, *other = y;
    if (one->students != other->students)
        return one->students > other->students ? -1 : 1;
    int order = strcmp(one->kind, other->kind);
    return order != 0 ? order : strcmp(one->reason, other->reason);
}

/* Reads the line of the example, without blanks at its ends. */
static void read_source(const lab_class *class, lab_class_mistake *mistake)
{
    char why[256];
    size_t bytes;
    if (mistake->line < 1)
        return;
    char *text = lab_file_read(class->students[mistake->example].path, LAB_KERNEL_BYTES_MAX, &bytes, why, sizeof why);
    const char *at = text;
    for (int line = 1; at && line < mistake->line; line++) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (at) {
        at += strspn(at, " \t");
        int length = (int)strcspn(at, "\r\n");
        while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t'))
            length--;
        snprintf(mistake->source, sizeof mistake->source, "%.*s", length, at);
    }
    free(text);
}

lab_class_summary *lab_class_summarize(const lab_class *class)
{
    lab_class_summary *summary = calloc(1, sizeof *summary);
    if (!summary)
        return NULL;
    add_points(class, summary);
    for (int i = 0; i < class->count; i++)
        add_mistakes(class, summary, i);
    qsort(summary->mistakes, (size_t)summary->mistake_count, sizeof *summary->mistakes, compare_mistakes);
    for (int i = 0; i < summary->mistake_count; i++)
        read_source(class, &summary->mistakes[i]);
    return summary;
}

/* ---- One student ---- */

void lab_class_describe_losses(const lab_class *class, const lab_class_student *student, char *text, size_t capacity)
{
    const lab_grade_result *result = student->result;
    *text = '\0';
    if (*result->problem) {
        lab_append(text, capacity, "%s", result->problem);
        return;
    }
    for (int i = 0; i < class->task->part_count; i++)
        if (!result->parts[i].is_reached && result->parts[i].is_decided)
            lab_append(text, capacity, "%s%s: %s", *text ? "\n" : "", class->task->parts[i].name,
                       result->parts[i].text);
}
