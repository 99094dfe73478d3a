/* SPDX-License-Identifier: Apache-2.0 */
/* class_grade.c - grades the submissions of a class, several at a time; see class.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "common/failure.h"
#include "grade/class.h"
#include "grade/grade_submission.h"
#include "grade/variant.h"
#include "target/target.h"

/* The gradings that run now: a grading must not move, so each has a place. */
typedef struct grading_pool {
    lab_class *class;
    lab_grading *places;
    int *students; /* of the places; -1: free */
    int next, done;
    int code; /* why the grading failed; LAB_EXIT_SUCCESS so far */
} grading_pool_t;

/* Gives the student the own variant of the task. */
static bool choose_variant(const lab_class *class, lab_class_student *student)
{
    char why[512];
    student->variant = malloc(sizeof *student->variant);
    if (!student->variant)
        return lab_fail(LAB_EXIT_USAGE, "out of memory") == LAB_EXIT_SUCCESS;
    *student->variant = *class->task;
    return lab_variant_choose(student->variant, student->name, why, sizeof why) ||
           lab_fail(LAB_EXIT_USAGE, "%s", why) == LAB_EXIT_SUCCESS;
}

static void start(grading_pool_t *pool, int place)
{
    lab_class *class = pool->class;
    lab_class_student *student = &class->students[pool->next];
    const lab_task *task = lab_class_task_of(class, student);
    if (*student->missing) {
        lab_grade_fail(task, student->result, LAB_OBSTACLE_FILE, student->missing);
        pool->next++;
        pool->done++;
        return;
    }
    lab_grading *grading = &pool->places[place];
    *grading = (lab_grading){
        .task = task, .path = student->path, .seed = class->seed, .seconds = class->seconds, .result = student->result};
    int error = lab_grading_start(grading);
    if (error != 0) {
        pool->code = lab_fail(LAB_EXIT_UNAVAILABLE, "cannot start a process for the grading: %s", strerror(error));
        return;
    }
    pool->students[place] = pool->next++;
}

/* Takes the result of a child that has ended. */
static void finish(grading_pool_t *pool, int place)
{
    const lab_grading *grading = &pool->places[place];
    bool is_first = pool->code == LAB_EXIT_SUCCESS;
    pool->students[place] = -1;
    pool->done++;
    if (!is_first)
        return;
    if (grading->was_interrupted)
        pool->code = LAB_EXIT_INTERRUPTED;
    else if (grading->result->state == LAB_GRADE_NO_COMPILER)
        pool->code = lab_fail(LAB_EXIT_UNAVAILABLE, "%s", grading->result->problem);
    else if (grading->result->state == LAB_GRADE_TASK_BROKEN)
        pool->code = lab_fail(LAB_EXIT_USAGE, "%s", grading->result->problem);
}

static void run_pool(grading_pool_t *pool)
{
    bool is_busy = true;
    lab_progress_begin(false);
    while (is_busy) {
        is_busy = false;
        for (int place = 0; place < pool->class->jobs; place++) {
            bool goes_on = pool->code == LAB_EXIT_SUCCESS && !lab_is_interrupted();
            if (pool->students[place] < 0 && goes_on && pool->next < pool->class->count)
                start(pool, place);
            else if (pool->students[place] >= 0 && !lab_grading_is_running(&pool->places[place]))
                finish(pool, place);
            is_busy = is_busy || pool->students[place] >= 0 || (goes_on && pool->next < pool->class->count);
        }
        const lab_progress progress = {pool->class->task->name, pool->done, pool->class->count, "submissions"};
        lab_progress_show(&progress);
    }
    lab_progress_end();
    if (pool->code == LAB_EXIT_SUCCESS && pool->done < pool->class->count)
        pool->code = LAB_EXIT_INTERRUPTED;
}

int lab_class_grade(lab_class *class)
{
    grading_pool_t pool = {.class = class, .code = LAB_EXIT_SUCCESS};
    for (int i = 0; i < class->count; i++)
        if (class->has_variants && !choose_variant(class, &class->students[i]))
            return LAB_EXIT_USAGE;
    if (class->jobs > class->count)
        class->jobs = class->count;
    pool.places = calloc((size_t) class->jobs, sizeof *pool.places);
    pool.students = calloc((size_t) class->jobs, sizeof *pool.students);
    if (pool.places && pool.students) {
        for (int place = 0; place < class->jobs; place++)
            pool.students[place] = -1;
        run_pool(&pool);
    } else {
        pool.code = lab_fail(LAB_EXIT_USAGE, "out of memory");
    }
    free(pool.places);
    free(pool.students);
    return pool.code;
}
