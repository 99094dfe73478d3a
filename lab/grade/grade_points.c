/* SPDX-License-Identifier: Apache-2.0 */
/* grade_points.c - see grade_points.h. */
#include "grade/grade_points.h"

#include <math.h>
#include <string.h>

#include "common/text.h"

static const char needs_results[] = "counts only if the results for the public shapes are right";

/* Returns the first case of the kind that is not complete and right; NULL if all are. *ran_all is false if one did not run. */
static const lab_task_run_result *first_wrong(const lab_grade_cases *cases, bool public_shapes, bool hidden_shapes,
                                              bool *ran_all)
{
    *ran_all = true;
    for (int i = 0; i < cases->count; i++) {
        bool is_wanted = cases->cases[i].is_hidden ? hidden_shapes : public_shapes;
        if (!is_wanted)
            continue;
        if (i >= cases->ran) {
            *ran_all = false;
            return NULL;
        }
        if (cases->results[i].ending != LAB_TASK_RUN_COMPLETE || !cases->results[i].is_right)
            return &cases->results[i];
    }
    return NULL;
}

static int count_cases(const lab_grade_cases *cases, bool public_shapes, bool hidden_shapes)
{
    int count = 0;
    for (int i = 0; i < cases->count; i++)
        count += cases->cases[i].is_hidden ? hidden_shapes : public_shapes;
    return count;
}

/* Writes why a case is not right. */
static void describe_case(const lab_grade_cases *cases, const lab_task_run_result *result, char *text, size_t capacity)
{
    char shape[256];
    if (result->ending == LAB_TASK_RUN_COMPLETE) {
        snprintf(text, capacity, "%s", result->wrong);
        return;
    }
    lab_task_case_describe(&cases->cases[result - cases->results], shape, sizeof shape);
    snprintf(text, capacity, "%s: %s", shape, result->stopped);
}

static void grade_shapes(const lab_task_part *part, const lab_grade_cases *cases, lab_grade_part *graded)
{
    bool ran_all;
    const lab_task_run_result *wrong = first_wrong(cases, part->public_shapes, part->hidden_shapes, &ran_all);
    graded->is_reached = ran_all && !wrong;
    int count = count_cases(cases, part->public_shapes, part->hidden_shapes);
    if (wrong)
        describe_case(cases, wrong, graded->text, sizeof graded->text);
    else if (!ran_all) {
        graded->is_decided = false;
        snprintf(graded->text, sizeof graded->text, "not run, because an earlier launch failed");
    } else
        snprintf(graded->text, sizeof graded->text, "right for %d shape%s", count, count == 1 ? "" : "s");
}

static bool has_kind(const lab_task_part *part, const char *kind)
{
    for (int i = 0; i < part->kind_count; i++)
        if (strcmp(part->kinds[i], kind) == 0)
            return true;
    return false;
}

static void grade_findings(const lab_task_part *part, const lab_finding_list *list, lab_grade_part *graded)
{
    const lab_finding *first = NULL;
    int count = 0;
    for (int i = 0; i < list->count; i++)
        if (has_kind(part, list->items[i].kind)) {
            first = first ? first : &list->items[i];
            count++;
        }
    graded->is_reached = count == 0;
    if (count == 0)
        snprintf(graded->text, sizeof graded->text, "none found");
    else
        snprintf(graded->text, sizeof graded->text, "%d finding%s; the first one is in line %d: %s", count,
                 count == 1 ? "" : "s", first->line, first->text);
}

/* Finds the measured case that is farthest from the limit. */
static bool grade_case(const lab_task *task, const lab_task_part *part, const lab_task_case *one,
                       const lab_task_run_result *result, char *text, size_t capacity)
{
    char why[256], shape[256];
    int64_t ideal = 1;
    double value = result->metrics[part->metric];
    lab_task_evaluate(task, one->sizes, part->ideal, &ideal, why, sizeof why);
    double measured = value / (double)(ideal > 0 ? ideal : 1);
    bool is_reached = measured <= part->at_most && measured >= part->at_least;
    lab_task_case_describe(one, shape, sizeof shape);
    *text = '\0';
    lab_append(text, capacity, "%.6g %s", value, lab_metric_unit(part->metric));
    if (strcmp(part->ideal, "1") != 0)
        lab_append(text, capacity, ", %.4g times the ideal %lld", measured, (long long)ideal);
    lab_append(text, capacity, " with %s;", shape);
    if (isfinite(part->at_least))
        lab_append(text, capacity, " at least %.4g", part->at_least);
    if (isfinite(part->at_most))
        lab_append(text, capacity, "%s at most %.4g", isfinite(part->at_least) ? " and" : "", part->at_most);
    lab_append(text, capacity, "%s", strcmp(part->ideal, "1") != 0 ? " times the ideal" : "");
    return is_reached;
}

static void grade_metric(const lab_task *task, const lab_task_part *part, const lab_grade_cases *cases,
                         lab_grade_part *graded)
{
    graded->is_reached = true;
    for (int i = 0; i < cases->ran && graded->is_reached; i++)
        if (cases->cases[i].is_measured)
            graded->is_reached = grade_case(task, part, &cases->cases[i], &cases->results[i], graded->text,
                                            sizeof graded->text);
}

/* Returns whether the hint of a part that is not reached can help: its shapes ran, and the public ones are right. */
static bool hint_helps(const lab_task_part *part, const lab_grade_cases *cases, bool public_are_right)
{
    bool ran_all;
    if (part->kind != LAB_PART_SHAPES || part->public_shapes)
        return true;
    return public_are_right && first_wrong(cases, false, true, &ran_all) != NULL;
}

void lab_grade_give_points(const lab_task *task, const lab_grade_cases *cases, lab_grade_result *result)
{
    bool ran_public;
    const lab_task_run_result *wrong = first_wrong(cases, true, false, &ran_public);
    result->state = LAB_GRADE_DONE;
    result->points = 0;
    for (int i = 0; i < task->part_count; i++) {
        const lab_task_part *part = &task->parts[i];
        lab_grade_part *graded = &result->parts[i];
        bool counts = ran_public && !wrong;
        graded->is_decided = true;
        if (part->kind == LAB_PART_SHAPES)
            grade_shapes(part, cases, graded);
        else if (part->kind == LAB_PART_FINDINGS)
            grade_findings(part, &result->findings, graded);
        else if (counts)
            grade_metric(task, part, cases, graded);
        if (part->kind != LAB_PART_SHAPES && !counts && (graded->is_reached || part->kind == LAB_PART_METRIC)) {
            graded->is_reached = graded->is_decided = false;
            snprintf(graded->text, sizeof graded->text, "%s", needs_results);
        } else if (!graded->is_reached && *part->hint && hint_helps(part, cases, counts)) {
            lab_append(graded->text, sizeof graded->text, ". %s", part->hint);
        }
        graded->points = graded->is_reached ? part->points : 0;
        result->points += graded->points;
    }
}

void lab_grade_fail(const lab_task *task, lab_grade_result *result, const char *obstacle, const char *problem)
{
    result->state = LAB_GRADE_DONE;
    result->points = 0;
    result->obstacle = obstacle;
    snprintf(result->problem, sizeof result->problem, "%s", problem);
    for (int i = 0; i < task->part_count; i++)
        result->parts[i] = (lab_grade_part){.text = "not run"};
}
