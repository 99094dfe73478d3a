/* SPDX-License-Identifier: Apache-2.0 */
/* conform.c - one problem, from making its matrices to judging the result.
 *
 * Everything that must not be read is NaN: gaps in A and B and what lies behind
 * them, C where beta is 0, A and B where alpha is 0. Everything that must not be
 * written, the gaps of C and what lies behind it, holds a pattern of its own, which
 * no arithmetic on the rest gives, and must come back bit for bit. */
#include "conform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "random.h"

enum { GUARD = 64 }; /* elements behind the last, where there are any */

/* All ones is NaN in every floating type, and -1 in the whole ones. */
enum { UNREADABLE = 0xff, UNTOUCHED = 0xa5 };

/* More than any problem of a suite; one on the command line is held to it. */
static const int64_t bytes_max = (int64_t)4 << 30;

/* A matrix in memory of its own. */
typedef struct storage {
    rung_matrix view;
    int64_t     bytes;
} storage;

/* The three operands, and C as it was before. */
typedef struct setting {
    storage a, b, c, before;
} setting;

/* ---- Making the matrices ------------------------------------------------------------------ */

/* The bytes up to the last element; false if they are more than we care to make. */
static bool measure(rung_type type, int64_t rows, int64_t cols, lab_form form, int64_t *bytes)
{
    double elements = rows > 0 && cols > 0
                          ? (double)form.offset + (double)(rows - 1) * (double)form.row_stride +
                                (double)(cols - 1) * (double)form.col_stride + 1
                          : 0;
    *bytes = 0;
    if (elements * (double)rung_type_size(type) > (double)bytes_max)
        return false;
    *bytes = (int64_t)elements * rung_type_size(type);
    return true;
}

static bool make_storage(rung_type type, int64_t rows, int64_t cols, lab_form form, bool guarded,
                         int pattern, storage *storage)
{
    if (!measure(type, rows, cols, form, &storage->bytes))
        return false;
    if (guarded)
        storage->bytes += GUARD * rung_type_size(type);
    storage->view = rung_matrix_of(type, rows, cols, malloc(storage->bytes ? (size_t)storage->bytes : 1));
    storage->view.row_stride = form.row_stride;
    storage->view.col_stride = form.col_stride;
    storage->view.offset = form.offset;
    if (!storage->view.data)
        return false;
    memset(storage->view.data, pattern, (size_t)storage->bytes);
    return true;
}

/* The same for whole numbers: the full range, so that sums wrap around; small ones;
 * few bits; and the ends of the range among the others. */
static double whole_value_of(lab_content content, uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t bits = lab_random(seed, stream, index), other = lab_random(seed, stream + 100, index);
    switch (content) {
    case LAB_INTEGERS: return (double)(other % 17) - 8;
    case LAB_WIDE: return (double)((int32_t)bits >> other % 31);
    case LAB_SPECIAL:
        if (other % 5 == 0)
            return other % 2 ? INT32_MAX : INT32_MIN;
        break;
    case LAB_REALS:
    case LAB_CONTENT_COUNT: break;
    }
    return (double)(int32_t)bits;
}

static double value_of(lab_content content, uint64_t seed, uint64_t stream, uint64_t index)
{
    double real = lab_random_real(seed, stream, index);
    uint32_t other = lab_random(seed, stream + 100, index);
    switch (content) {
    case LAB_INTEGERS: return (double)(other % 17) - 8;
    case LAB_WIDE: return ldexp(real, (int)(other % 41) - 20);
    case LAB_SPECIAL:
        /* Few, so that most elements of C stay finite and are judged as such. */
        if (other % 199 == 0)
            return NAN;
        if (other % 199 < 3)
            return other % 2 ? INFINITY : -INFINITY;
        return real;
    case LAB_REALS:
    case LAB_CONTENT_COUNT: break;
    }
    return real;
}

static void fill(const storage *storage, lab_content content, uint64_t seed, uint64_t stream)
{
    const rung_matrix *view = &storage->view;
    for (int64_t row = 0; row < view->rows; row++)
        for (int64_t col = 0; col < view->cols; col++)
            lab_element_set(view, row, col,
                            (view->type == RUNG_I32 ? whole_value_of : value_of)(
                                content, seed, stream, (uint64_t)(row * view->cols + col)));
}

/* Elements that must not be read. */
static void make_unreadable(const storage *storage)
{
    const rung_matrix *view = &storage->view;
    for (int64_t row = 0; row < view->rows; row++)
        for (int64_t col = 0; col < view->cols; col++)
            lab_element_set(view, row, col, NAN);
}

static void free_setting(setting *setting)
{
    free(setting->a.view.data);
    free(setting->b.view.data);
    free(setting->c.view.data);
    free(setting->before.view.data);
}

static bool make_setting(const lab_subject *subject, const lab_case *problem, setting *setting)
{
    bool guarded = problem->guarded;
    rung_type type = subject->type;
    memset(setting, 0, sizeof *setting);
    if (!make_storage(type, problem->m, problem->k, problem->a, guarded, UNREADABLE, &setting->a) ||
        !make_storage(type, problem->k, problem->n, problem->b, guarded, UNREADABLE, &setting->b) ||
        !make_storage(type, problem->m, problem->n, problem->c, guarded, UNTOUCHED, &setting->c) ||
        !make_storage(type, problem->m, problem->n, problem->c, guarded, UNTOUCHED,
                      &setting->before))
        return false;
    if (problem->alpha != 0) {
        fill(&setting->a, problem->content, subject->seed, 1);
        fill(&setting->b, problem->content, subject->seed, 2);
    }
    if (problem->beta != 0)
        fill(&setting->c, problem->content, subject->seed, 3);
    else
        make_unreadable(&setting->c);
    memcpy(setting->before.view.data, setting->c.view.data, (size_t)setting->c.bytes);
    return true;
}

static rung_problem problem_of(const lab_case *problem, const setting *setting)
{
    return (rung_problem){problem->alpha, setting->a.view, setting->b.view, problem->beta,
                          setting->c.view};
}

/* ---- Running --------------------------------------------------------------------------------- */

/* The operand in a buffer of just its size, so that a checker sees what leaves it. */
static rung_status to_device(const lab_subject *subject, const storage *storage, rung_matrix *there)
{
    *there = storage->view;
    there->data = NULL;
    rung_status status = rung_buffer_create(subject->device, storage->bytes, &there->buffer);
    if (status == RUNG_OK)
        status = rung_buffer_write(subject->queue, there->buffer, 0, storage->bytes,
                                   storage->view.data, NULL);
    return status;
}

/* Runs the plan into memory of its own, with other scalars, signalling `done`: what
 * follows must not be touched by it. */
static rung_status rehearse(const lab_subject *subject, rung_plan *plan, const rung_problem *problem,
                            int64_t c_bytes, rung_buffer *workspace, rung_event *done)
{
    rung_problem other = *problem;
    rung_run_options options = {.workspace = workspace, .signal = done};
    other.alpha = 2 * problem->alpha + 1;
    other.beta = 0;
    rung_status status = rung_buffer_create(subject->device, c_bytes, &other.c.buffer);
    if (status == RUNG_OK)
        status = rung_plan_run(plan, subject->queue, &other, &options);
    rung_buffer_destroy(other.c.buffer);
    return status;
}

static rung_status run_on_plan(const lab_subject *subject, rung_plan *plan,
                               const rung_problem *problem, int64_t c_bytes, bool rehearsed)
{
    rung_run_options options = {0};
    rung_event *done = NULL;
    int64_t bytes = rung_plan_describe(plan)->workspace;
    rung_status status = RUNG_OK;
    if (bytes > 0)
        status = rung_buffer_create(subject->device, bytes, &options.workspace);
    if (status == RUNG_OK && rehearsed) {
        status = rung_event_create(subject->device, &done);
        if (status == RUNG_OK)
            status = rehearse(subject, plan, problem, c_bytes, options.workspace, done);
        options.wait = &done;
        options.wait_count = 1;
    }
    if (status == RUNG_OK)
        status = rung_plan_run(plan, subject->queue, problem, &options);
    rung_status finished = rung_queue_finish(subject->queue);
    rung_event_destroy(done);
    rung_buffer_destroy(options.workspace);
    return status == RUNG_OK ? finished : status;
}

static rung_status run_plan(const lab_subject *subject, const rung_problem *problem, int64_t c_bytes,
                            bool rehearsed)
{
    rung_plan *plan;
    rung_plan_options options = {subject->kernel, subject->parameters};
    rung_status status = rung_plan_create(subject->device, problem, &options, &plan);
    if (status != RUNG_OK)
        return status;
    status = run_on_plan(subject, plan, problem, c_bytes, rehearsed);
    rung_plan_destroy(plan);
    return status;
}

static rung_status run_on_device(const lab_subject *subject, const lab_case *problem,
                                 const setting *setting)
{
    rung_problem there = {.alpha = problem->alpha, .beta = problem->beta};
    rung_status status = to_device(subject, &setting->a, &there.a);
    if (status == RUNG_OK)
        status = to_device(subject, &setting->b, &there.b);
    if (status == RUNG_OK)
        status = to_device(subject, &setting->c, &there.c);
    if (status == RUNG_OK)
        status = run_plan(subject, &there, setting->c.bytes, problem->rehearsed);
    if (status == RUNG_OK)
        status = rung_buffer_read(subject->queue, there.c.buffer, 0, setting->c.bytes,
                                  setting->c.view.data, NULL);
    rung_status finished = rung_queue_finish(subject->queue);
    rung_buffer_destroy(there.a.buffer);
    rung_buffer_destroy(there.b.buffer);
    rung_buffer_destroy(there.c.buffer);
    return status == RUNG_OK ? finished : status;
}

/* ---- Judging ----------------------------------------------------------------------------------- */

/* What is not an element must be as before. Returns the first byte that is not.
 * The elements, judged by now, are taken over into `before`. */
static int64_t first_changed_gap(const setting *setting)
{
    const rung_matrix *after = &setting->c.view;
    char *expected = setting->before.view.data;
    const char *found = after->data;
    int64_t size = rung_type_size(after->type);
    for (int64_t row = 0; row < after->rows; row++)
        for (int64_t col = 0; col < after->cols; col++) {
            int64_t place = size * (after->offset + row * after->row_stride + col * after->col_stride);
            memcpy(expected + place, found + place, (size_t)size);
        }
    for (int64_t i = 0; i < setting->c.bytes; i++)
        if (expected[i] != found[i])
            return i;
    return -1;
}

/* Whether whole matrices give a whole result that no rounding touches. */
static bool is_exact(const lab_case *problem)
{
    double largest = 64.0 * (double)problem->k * fabs(problem->alpha) + 8 * fabs(problem->beta);
    return problem->content == LAB_INTEGERS && problem->alpha == floor(problem->alpha) &&
           problem->beta == floor(problem->beta) && largest < 0x1p24;
}

static void judge(const lab_case *problem, const setting *setting, lab_outcome *outcome)
{
    rung_problem run = problem_of(problem, setting);
    lab_verdict verdict = lab_oracle_judge(&run, &setting->before.view,
                                           is_exact(problem));
    int64_t gap = first_changed_gap(setting);
    if (!verdict.right) {
        outcome->kind = LAB_WRONG_RESULT;
        snprintf(outcome->message, sizeof outcome->message,
                 "element (%lld, %lld) is %.9g, expected %.9g within %.3g", (long long)verdict.row,
                 (long long)verdict.col, verdict.got, verdict.expected, verdict.bound);
    } else if (gap >= 0) {
        outcome->kind = LAB_WRONG_RESULT;
        snprintf(outcome->message, sizeof outcome->message,
                 "wrote outside C: byte %lld of its memory is no element's and has changed",
                 (long long)gap);
    } else {
        outcome->kind = LAB_RIGHT;
    }
}

static void tell_failure(rung_status status, lab_outcome *outcome)
{
    outcome->kind = status == RUNG_UNSUPPORTED || status == RUNG_NO_MEMORY ? LAB_REFUSED : LAB_FAILED;
    snprintf(outcome->message, sizeof outcome->message, "%s", rung_error_text());
}

void lab_conform(const lab_subject *subject, const lab_case *problem, lab_outcome *outcome)
{
    setting setting;
    outcome->message[0] = '\0';
    if (!make_setting(subject, problem, &setting)) {
        outcome->kind = LAB_REFUSED;
        snprintf(outcome->message, sizeof outcome->message,
                 "there is no memory for the matrices, or they pass 4 GiB");
        free_setting(&setting);
        return;
    }
    rung_status status;
    if (subject->kernel) {
        status = run_on_device(subject, problem, &setting);
    } else {
        rung_problem run = problem_of(problem, &setting);
        status = rung_gemm(subject->context, run.alpha, run.a, run.b, run.beta, run.c);
    }
    if (status == RUNG_OK)
        judge(problem, &setting, outcome);
    else
        tell_failure(status, outcome);
    free_setting(&setting);
}

void lab_replay(const lab_subject *subject, const lab_case *problem, char *text, size_t capacity)
{
    const char *parameters = subject->parameters ? subject->parameters : "";
    snprintf(text, capacity,
             "rung verify --device %s --kernels %s%s%s --dtype %s --m %lld --n %lld --k %lld "
             "--a-strides %lld,%lld,%lld --b-strides %lld,%lld,%lld --c-strides %lld,%lld,%lld "
             "--alpha %.17g --beta %.17g --seed %llu", rung_device_describe(subject->device)->name,
             subject->kernel ? rung_kernel_describe(subject->kernel)->name : "rung_gemm",
             *parameters ? " --params " : "", parameters, rung_type_name(subject->type),
             (long long)problem->m, (long long)problem->n, (long long)problem->k,
             (long long)problem->a.row_stride, (long long)problem->a.col_stride,
             (long long)problem->a.offset, (long long)problem->b.row_stride,
             (long long)problem->b.col_stride, (long long)problem->b.offset,
             (long long)problem->c.row_stride, (long long)problem->c.col_stride,
             (long long)problem->c.offset, problem->alpha, problem->beta,
             (unsigned long long)subject->seed);
}
