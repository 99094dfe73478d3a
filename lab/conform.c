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

/* A matrix, or a batch of them, in memory of its own. */
typedef struct storage {
    rung_matrix view;
    int64_t bytes;
    int64_t *offsets; /* of its items, where they are scattered */
} storage_t;

/* The operands, and the output, D or C, as it was before. */
typedef struct setting {
    storage_t a, b, c, d, bias, residual, before;
} setting_t;

/* Where the result is. */
static const storage_t *output_of(const setting_t *setting)
{
    return setting->d.view.data ? &setting->d : &setting->c;
}

/* ---- Making the matrices ------------------------------------------------------------------ */

/* The bytes up to the last element; false if they are more than we care to make. */
static bool measure(rung_type type, int64_t rows, int64_t cols, lab_form form, int64_t batch, int64_t *bytes)
{
    double elements = rows > 0 && cols > 0 && batch > 0
                          ? (double)form.offset + (double)(rows - 1) * (double)form.row_stride +
                                (double)(cols - 1) * (double)form.col_stride +
                                (double)(batch - 1) * (double)form.batch_stride + 1
                          : 0;
    *bytes = 0;
    if (elements * (double)rung_type_size(type) > (double)bytes_max)
        return false;
    *bytes = (int64_t)elements * rung_type_size(type);
    return true;
}

static bool make_storage(rung_type type, int64_t rows, int64_t cols, lab_form form, const lab_case *problem,
                         int pattern, storage_t *storage)
{
    if (!measure(type, rows, cols, form, problem->batch, &storage->bytes))
        return false;
    if (problem->guarded)
        storage->bytes += GUARD * rung_type_size(type);
    storage->view = rung_matrix_of(type, rows, cols, malloc(storage->bytes ? (size_t)storage->bytes : 1));
    storage->view.row_stride = form.row_stride;
    storage->view.col_stride = form.col_stride;
    storage->view.offset = form.offset;
    storage->view.batch_stride = form.batch_stride;
    if (!storage->view.data)
        return false;
    memset(storage->view.data, pattern, (size_t)storage->bytes);
    return true;
}

/* Gives the items of a batch places of their own: ascending for C, else in an order of
 * their own, every fourth the place of the one before. */
static bool scatter(storage_t *storage, int64_t batch, bool ascending)
{
    storage->offsets = malloc((size_t)(batch + 1) * sizeof *storage->offsets);
    if (!storage->offsets)
        return false;
    for (int64_t i = 0; i < batch; i++) {
        int64_t place = ascending ? i : batch - 1 - (i % 4 == 3 ? i - 1 : i);
        storage->offsets[i] = place * storage->view.batch_stride;
    }
    storage->view.batch_offsets = storage->offsets;
    return true;
}

/* The same for whole numbers: the full range, so that sums wrap around; small ones;
 * few bits; and the ends of the range among the others. */
static double whole_value_of(rung_type type, lab_content content, uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t bits = lab_random(seed, stream, index), other = lab_random(seed, stream + 100, index);
    int32_t value = type == RUNG_I8 ? (int32_t)(bits % 256) - 128 : (int32_t)bits;
    switch (content) {
    case LAB_INTEGERS: return (double)(other % 17) - 8;
    case LAB_WIDE: return (double)(value >> other % (type == RUNG_I8 ? 7 : 31));
    case LAB_SPECIAL:
        if (other % 5 == 0)
            return type == RUNG_I8 ? (other % 2 ? INT8_MAX : INT8_MIN) : other % 2 ? INT32_MAX : INT32_MIN;
        break;
    case LAB_REALS:
    case LAB_CONTENT_COUNT: break;
    }
    return value;
}

static double value_of(rung_type type, lab_content content, uint64_t seed, uint64_t stream, uint64_t index)
{
    double real = lab_random_real(seed, stream, index);
    uint32_t other = lab_random(seed, stream + 100, index);
    if (type == RUNG_F64) /* all its bits */
        real += 0x1p-24 * lab_random_real(seed, stream + 200, index);
    switch (content) {
    case LAB_INTEGERS: return (double)(other % 17) - 8;
    case LAB_WIDE: /* F16 from its denormals on, so that few sums pass its end */
        return type == RUNG_F16 ? ldexp(real, (int)(other % 25) - 19) : ldexp(real, (int)(other % 41) - 20);
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

/* Elements of every item; items that share a place get the last one's. */
static void fill(const storage_t *storage, const lab_case *problem, uint64_t seed, uint64_t stream)
{
    const rung_matrix *view = &storage->view;
    for (int64_t item = 0; item < problem->batch; item++) {
        rung_matrix one = lab_item(view, item);
        for (int64_t row = 0; row < view->rows; row++)
            for (int64_t col = 0; col < view->cols; col++)
                lab_element_set(&one, row, col,
                                (lab_is_whole(view->type) ? whole_value_of : value_of)(
                                    view->type, problem->content, seed, stream,
                                    (uint64_t)((item * view->rows + row) * view->cols + col)));
    }
}

/* Elements that must not be read. */
static void make_unreadable(const storage_t *storage, int64_t batch)
{
    const rung_matrix *view = &storage->view;
    for (int64_t item = 0; item < batch; item++) {
        rung_matrix one = lab_item(view, item);
        for (int64_t row = 0; row < view->rows; row++)
            for (int64_t col = 0; col < view->cols; col++)
                lab_element_set(&one, row, col, NAN);
    }
}

static void free_setting(setting_t *setting)
{
    storage_t *all[] = {&setting->a,    &setting->b,        &setting->c,     &setting->d,
                        &setting->bias, &setting->residual, &setting->before};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]->view.data);
        free(all[i]->offsets);
    }
}

/* A bias has elements of its own for each item of a batch, at an odd place. */
static lab_form bias_form(const lab_case *problem)
{
    int64_t m = problem->m, n = problem->n;
    switch (problem->epilogue.bias) {
    case LAB_BIAS_ROW: return (lab_form){1, 0, 1, m};
    case LAB_BIAS_COL: return (lab_form){0, 1, 1, n};
    case LAB_BIAS_FULL: return (lab_form){1, m, 3, m * n};
    case LAB_BIAS_NONE:
    case LAB_BIAS_COUNT: break;
    }
    return (lab_form){0, 0, 0, 0};
}

static bool make_epilogue(const lab_subject *subject, const lab_case *problem, setting_t *setting)
{
    rung_type type = subject->product.out;
    int64_t m = problem->m, n = problem->n;
    const lab_form residual = {n + 1, 1, 2, m * (n + 1) + 3};
    if (problem->epilogue.bias != LAB_BIAS_NONE) {
        if (!make_storage(type, m, n, bias_form(problem), problem, UNREADABLE, &setting->bias))
            return false;
        fill(&setting->bias, problem, subject->seed, 4);
    }
    if (problem->epilogue.residual) {
        if (!make_storage(type, m, n, residual, problem, UNREADABLE, &setting->residual))
            return false;
        fill(&setting->residual, problem, subject->seed, 5);
    }
    return true;
}

static bool make_matrices(const lab_subject *subject, const lab_case *problem, setting_t *setting)
{
    rung_type in = subject->product.in, out = subject->product.out;
    int64_t batch = problem->batch;
    memset(setting, 0, sizeof *setting);
    if (!make_storage(in, problem->m, problem->k, problem->a, problem, UNREADABLE, &setting->a) ||
        !make_storage(in, problem->k, problem->n, problem->b, problem, UNREADABLE, &setting->b) ||
        !make_storage(out, problem->m, problem->n, problem->c, problem, UNTOUCHED, &setting->c) ||
        (problem->has_d && !make_storage(out, problem->m, problem->n, problem->d, problem, UNTOUCHED, &setting->d)) ||
        !make_storage(out, problem->m, problem->n, problem->has_d ? problem->d : problem->c, problem, UNTOUCHED,
                      &setting->before) ||
        !make_epilogue(subject, problem, setting))
        return false;
    if (problem->scattered &&
        (!scatter(&setting->a, batch, false) || (!subject->is_packed && !scatter(&setting->b, batch, false)) ||
         !scatter(&setting->c, batch, !problem->has_d) || !scatter(&setting->before, batch, true) ||
         (problem->has_d && !scatter(&setting->d, batch, true))))
        return false;
    if (problem->alpha != 0) {
        fill(&setting->a, problem, subject->seed, 1);
        fill(&setting->b, problem, subject->seed, 2);
    }
    if (problem->beta != 0)
        fill(&setting->c, problem, subject->seed, 3);
    else
        make_unreadable(&setting->c, batch);
    if (problem->has_d)
        make_unreadable(&setting->d, batch);
    memcpy(setting->before.view.data, output_of(setting)->view.data, (size_t)setting->before.bytes);
    return true;
}

/* A packed B is one matrix for all items, and is packed even for a batch of 0. */
static bool make_setting(const lab_subject *subject, const lab_case *problem, setting_t *setting)
{
    lab_case made = *problem;
    if (subject->is_packed) {
        made.b.batch_stride = 0;
        made.batch = made.batch > 0 ? made.batch : 1;
    }
    return make_matrices(subject, &made, setting);
}

static rung_problem problem_of(const lab_subject *subject, const lab_case *problem, const setting_t *setting)
{
    rung_problem run = rung_problem_of(setting->a.view, setting->b.view, setting->c.view);
    run.alpha = problem->alpha;
    run.beta = problem->beta;
    run.batch = problem->batch;
    run.compute = subject->compute;
    run.bias = setting->bias.view;
    run.activation = problem->epilogue.activation;
    run.residual = setting->residual.view;
    run.d = setting->d.view;
    return run;
}

/* ---- Running --------------------------------------------------------------------------------- */

/* The operand in a buffer of just its size, so that a checker sees what leaves it. */
static rung_status to_device(const lab_subject *subject, const storage_t *storage, rung_matrix *there)
{
    *there = storage->view;
    there->data = NULL;
    if (!storage->view.data)
        return RUNG_OK;
    rung_status status = rung_buffer_create(subject->device, storage->bytes, &there->buffer);
    if (status == RUNG_OK)
        status = rung_buffer_write(subject->queue, there->buffer, 0, storage->bytes, storage->view.data, NULL);
    return status;
}

/* Runs the plan into memory of its own, with other scalars, signalling `done`: what
 * follows must not be touched by it. */
static rung_status rehearse(const lab_subject *subject, rung_plan *plan, const rung_problem *problem, int64_t c_bytes,
                            rung_run_options options, rung_event *done)
{
    rung_problem other = *problem;
    rung_matrix *output = other.d.type != RUNG_TYPE_NONE ? &other.d : &other.c;
    options.signal = done;
    other.alpha = problem->alpha == 1 ? 2 : 1;
    other.beta = 0;
    rung_status status = rung_buffer_create(subject->device, c_bytes, &output->buffer);
    if (status == RUNG_OK)
        status = rung_plan_run(plan, subject->queue, &other, &options);
    rung_buffer_destroy(output->buffer);
    return status;
}

/* A workspace that holds nothing but NaN: a partial sum that was never written shows. */
static rung_status make_workspace(const lab_subject *subject, int64_t bytes, rung_buffer **workspace)
{
    if (bytes == 0)
        return RUNG_OK;
    void *pattern = malloc((size_t)bytes);
    if (!pattern)
        return RUNG_STATUS_NO_MEMORY;
    memset(pattern, UNREADABLE, (size_t)bytes);
    rung_status status = rung_buffer_create(subject->device, bytes, workspace);
    if (status == RUNG_OK)
        status = rung_buffer_write(subject->queue, *workspace, 0, bytes, pattern, NULL);
    rung_status finished = rung_queue_finish(subject->queue);
    free(pattern);
    return status == RUNG_OK ? finished : status;
}

/* Packs B. The runs that follow have the packed B alone. */
static rung_status make_packed(const lab_subject *subject, rung_plan *plan, rung_problem *problem, rung_buffer **packed)
{
    if (!subject->is_packed)
        return RUNG_OK;
    rung_status status = rung_buffer_create(subject->device, rung_plan_describe(plan)->packed_b_bytes, packed);
    if (status == RUNG_OK)
        status = rung_plan_pack_b(plan, subject->queue, &problem->b, *packed, NULL);
    problem->b.buffer = NULL;
    return status;
}

static rung_status run_on_plan(const lab_subject *subject, rung_plan *plan, const rung_problem *given, int64_t c_bytes,
                               bool rehearsed)
{
    rung_problem run = *given, *problem = &run;
    rung_run_options options = {.size = sizeof(rung_run_options)};
    rung_event *done = NULL;
    rung_status status = make_workspace(subject, rung_plan_describe(plan)->workspace_bytes, &options.workspace);
    if (status == RUNG_OK)
        status = make_packed(subject, plan, problem, &options.packed_b);
    if (status == RUNG_OK && rehearsed) {
        status = rung_event_create(subject->device, &done);
        if (status == RUNG_OK)
            status = rehearse(subject, plan, problem, c_bytes, options, done);
        options.wait = &done;
        options.wait_count = 1;
    }
    if (status == RUNG_OK)
        status = rung_plan_run(plan, subject->queue, problem, &options);
    rung_status finished = rung_queue_finish(subject->queue);
    rung_event_destroy(done);
    rung_buffer_destroy(options.workspace);
    rung_buffer_destroy(options.packed_b);
    return status == RUNG_OK ? finished : status;
}

static rung_status run_plan(const lab_subject *subject, const rung_problem *problem, int64_t c_bytes, int64_t splits,
                            bool rehearsed)
{
    rung_plan *plan;
    rung_plan_options options = {.size = sizeof(rung_plan_options),
                                 .kernel = subject->kernel,
                                 .parameters = subject->parameters,
                                 .split_k = splits,
                                 .max_workspace_bytes = LAB_WORKSPACE_MAX,
                                 .shared_carveout_percent = (int)subject->carveout,
                                 .threads = subject->threads,
                                 .packed_b = subject->is_packed};
    rung_status status = rung_plan_create(subject->device, problem, &options, &plan);
    if (status != RUNG_OK)
        return status;
    status = run_on_plan(subject, plan, problem, c_bytes, rehearsed);
    rung_plan_destroy(plan);
    return status;
}

static rung_status run_on_device(const lab_subject *subject, const lab_case *problem, const setting_t *setting)
{
    rung_problem there = problem_of(subject, problem, setting);
    const storage_t *here[] = {&setting->a, &setting->b, &setting->c, &setting->bias, &setting->residual, &setting->d};
    const storage_t *output = output_of(setting);
    rung_matrix *views[] = {&there.a, &there.b, &there.c, &there.bias, &there.residual, &there.d};
    enum { VIEWS = sizeof views / sizeof *views };
    rung_status status = RUNG_OK;
    for (int i = 0; i < VIEWS; i++)
        views[i]->data = NULL;
    for (int i = 0; status == RUNG_OK && i < VIEWS; i++)
        status = to_device(subject, here[i], views[i]);
    if (status == RUNG_OK)
        status = run_plan(subject, &there, output->bytes, problem->splits, problem->rehearsed);
    if (status == RUNG_OK)
        status = rung_buffer_read(subject->queue, (problem->has_d ? there.d : there.c).buffer, 0, output->bytes,
                                  output->view.data, NULL);
    rung_status finished = rung_queue_finish(subject->queue);
    for (int i = 0; i < VIEWS; i++)
        rung_buffer_destroy(views[i]->buffer);
    return status == RUNG_OK ? finished : status;
}

static rung_status run_case(const lab_subject *subject, const lab_case *problem, const setting_t *setting)
{
    rung_problem run = problem_of(subject, problem, setting);
    return subject->kernel ? run_on_device(subject, problem, setting) : rung_multiply(subject->context, &run, NULL);
}

/* ---- Judging ----------------------------------------------------------------------------------- */

/* What is not an element must be as before. Returns the first byte that is not.
 * The elements, judged by now, are taken over into `before`. */
static int64_t first_changed_gap(const setting_t *setting, int64_t batch)
{
    char *expected = setting->before.view.data;
    const storage_t *output = output_of(setting);
    const char *found = output->view.data;
    int64_t size = rung_type_size(output->view.type);
    for (int64_t item = 0; item < batch; item++) {
        rung_matrix after = lab_item(&output->view, item);
        for (int64_t row = 0; row < after.rows; row++)
            for (int64_t col = 0; col < after.cols; col++) {
                int64_t place = size * (after.offset + row * after.row_stride + col * after.col_stride);
                memcpy(expected + place, found + place, (size_t)size);
            }
    }
    for (int64_t i = 0; i < output->bytes; i++)
        if (expected[i] != found[i])
            return i;
    return -1;
}

/* Whether whole matrices give a whole result that no rounding touches. */
static bool is_exact(const lab_subject *subject, const lab_case *problem)
{
    double largest = 64.0 * (double)problem->k * fabs(problem->alpha) + 8 * fabs(problem->beta) + 16;
    double limit = fmin(lab_whole_limit(lab_product_sum(subject->product)), lab_whole_limit(subject->product.out));
    return problem->content == LAB_INTEGERS && problem->alpha == floor(problem->alpha) &&
           problem->beta == floor(problem->beta) && problem->epilogue.activation <= RUNG_ACTIVATION_RELU &&
           largest < limit;
}

static void judge(const lab_subject *subject, const lab_case *problem, const setting_t *setting, lab_outcome *outcome)
{
    rung_problem run = problem_of(subject, problem, setting);
    run.c = output_of(setting)->view;
    lab_verdict verdict = lab_oracle_judge(&run, problem->has_d ? &setting->c.view : &setting->before.view,
                                           is_exact(subject, problem) ? LAB_EXACT : subject->rigour);
    int64_t gap = first_changed_gap(setting, problem->batch);
    if (!verdict.right) {
        char item[48] = "";
        if (problem->batch > 1)
            snprintf(item, sizeof item, " of item %lld", (long long)verdict.item);
        *outcome = (lab_outcome){.kind = LAB_WRONG_RESULT, .fault = LAB_FAULT_ELEMENT};
        snprintf(outcome->message, sizeof outcome->message, "element (%lld, %lld)%s is %.9g, expected %.9g within %.3g",
                 (long long)verdict.row, (long long)verdict.col, item, verdict.got, verdict.expected, verdict.bound);
    } else if (gap >= 0) {
        *outcome = (lab_outcome){.kind = LAB_WRONG_RESULT, .fault = LAB_FAULT_OUTSIDE};
        snprintf(outcome->message, sizeof outcome->message,
                 "wrote outside %s: byte %lld of its memory is no element's and has changed",
                 problem->has_d ? "D" : "C", (long long)gap);
    } else {
        outcome->kind = LAB_RIGHT;
    }
}

static void tell_failure(rung_status status, lab_outcome *outcome)
{
    outcome->kind = status == RUNG_STATUS_UNSUPPORTED || status == RUNG_STATUS_NO_MEMORY ? LAB_REFUSED : LAB_FAILED;
    snprintf(outcome->message, sizeof outcome->message, "%s", rung_error_text());
}

static void tell_no_memory(lab_outcome *outcome)
{
    outcome->kind = LAB_REFUSED;
    snprintf(outcome->message, sizeof outcome->message, "there is no memory for the matrices, or they pass 4 GiB");
}

void lab_conform(const lab_subject *subject, const lab_case *problem, lab_outcome *outcome)
{
    setting_t setting;
    *outcome = (lab_outcome){.fault = LAB_FAULT_NONE};
    if (make_setting(subject, problem, &setting)) {
        rung_status status = run_case(subject, problem, &setting);
        if (status == RUNG_OK)
            judge(subject, problem, &setting, outcome);
        else
            tell_failure(status, outcome);
    } else {
        tell_no_memory(outcome);
    }
    free_setting(&setting);
}

/* C is put back before each run, and compared with the first after it. */
static void repeat(const lab_subject *subject, const lab_case *problem, int64_t times, const setting_t *setting,
                   void *first, lab_outcome *outcome)
{
    void *output = output_of(setting)->view.data;
    size_t bytes = (size_t)output_of(setting)->bytes;
    outcome->kind = LAB_RIGHT;
    for (int64_t i = 0; outcome->kind == LAB_RIGHT && i <= times; i++) {
        memcpy(output, setting->before.view.data, bytes);
        rung_status status = run_case(subject, problem, setting);
        if (status != RUNG_OK) {
            tell_failure(status, outcome);
        } else if (i == 0) {
            memcpy(first, output, bytes);
        } else if (memcmp(first, output, bytes) != 0) {
            *outcome = (lab_outcome){.kind = LAB_WRONG_RESULT, .fault = LAB_FAULT_REPEAT};
            snprintf(outcome->message, sizeof outcome->message, "repeat %lld has other bits", (long long)i);
        }
    }
}

void lab_conform_repeat(const lab_subject *subject, const lab_case *problem, int64_t times, lab_outcome *outcome)
{
    setting_t setting;
    *outcome = (lab_outcome){.fault = LAB_FAULT_NONE};
    bool made = make_setting(subject, problem, &setting);
    void *first = made ? malloc((size_t)output_of(&setting)->bytes + 1) : NULL;
    if (first)
        repeat(subject, problem, times, &setting, first, outcome);
    else
        tell_no_memory(outcome);
    free(first);
    free_setting(&setting);
}

/* One operand's strides as an option, unless they are what --m and its sizes stand for. */
static void write_strides(char *text, size_t capacity, const char *name, lab_form form, int64_t rows, int64_t cols,
                          int64_t batch)
{
    lab_form dense = lab_form_of(LAB_LAYOUT_rows, rows, cols);
    size_t used = strlen(text);
    if (form.row_stride == dense.row_stride && form.col_stride == 1 && form.offset == 0 &&
        (batch == 1 || form.batch_stride == lab_span(dense, rows, cols)))
        return;
    used += (size_t)snprintf(text + used, capacity - used, " --%s-strides %lld,%lld,%lld", name,
                             (long long)form.row_stride, (long long)form.col_stride, (long long)form.offset);
    if (batch != 1 && used < capacity)
        snprintf(text + used, capacity - used, ",%lld", (long long)form.batch_stride);
}

/* D's strides, which also say that there is a D. */
static void write_d(char *text, size_t capacity, const lab_case *problem)
{
    size_t used = strlen(text);
    if (problem->has_d)
        snprintf(text + used, capacity - used, " --d-strides %lld,%lld,%lld,%lld", (long long)problem->d.row_stride,
                 (long long)problem->d.col_stride, (long long)problem->d.offset, (long long)problem->d.batch_stride);
}

/* The options that a plain problem has not. */
static void write_extras(char *text, size_t capacity, const lab_subject *subject, const lab_case *problem)
{
    char epilogue[64], numbers[2][48] = {"", ""};
    size_t used = strlen(text);
    lab_write_epilogue(problem->epilogue, epilogue, sizeof epilogue);
    if (problem->batch != 1)
        snprintf(numbers[0], sizeof numbers[0], " --batch %lld", (long long)problem->batch);
    if (problem->splits > 0)
        snprintf(numbers[1], sizeof numbers[1], " --splits %lld", (long long)problem->splits);
    snprintf(text + used, capacity - used, "%s%s%s%s%s%s%s%s", subject->is_packed ? " --packed" : "", numbers[0],
             problem->scattered ? " --scattered" : "", numbers[1], *epilogue ? " --epilogue " : "", epilogue,
             subject->compute == RUNG_COMPUTE_STRICT ? "" : " --compute ",
             subject->compute == RUNG_COMPUTE_STRICT ? "" : rung_compute_name(subject->compute));
}

/* What the command would take otherwise: scalars, seed and threads. */
static void write_defaults(char *text, size_t capacity, const lab_subject *subject, const lab_case *problem)
{
    char scalars[96] = "", seed[32] = "", threads[32] = "";
    size_t used = strlen(text);
    if (problem->alpha != 1 || problem->beta != 0)
        snprintf(scalars, sizeof scalars, " --alpha %.17g --beta %.17g", problem->alpha, problem->beta);
    if (subject->seed != 1)
        snprintf(seed, sizeof seed, " --seed %llu", (unsigned long long)subject->seed);
    if (subject->threads > 0)
        snprintf(threads, sizeof threads, " --threads %lld", (long long)subject->threads);
    snprintf(text + used, capacity - used, "%s%s%s", scalars, seed, threads);
}

void lab_replay(const lab_subject *subject, const lab_case *problem, char *text, size_t capacity)
{
    const char *parameters = subject->parameters ? subject->parameters : "";
    snprintf(text, capacity, "rung verify --device %s --kernels %s%s%s --dtype %s --m %lld --n %lld --k %lld",
             rung_device_describe(subject->device)->name,
             subject->kernel ? rung_kernel_describe(subject->kernel)->name : "rung_gemm",
             *parameters ? " --params " : "", parameters, lab_product_name(subject->product), (long long)problem->m,
             (long long)problem->n, (long long)problem->k);
    write_strides(text, capacity, "a", problem->a, problem->m, problem->k, problem->batch);
    write_strides(text, capacity, "b", problem->b, problem->k, problem->n, problem->batch);
    write_strides(text, capacity, "c", problem->c, problem->m, problem->n, problem->batch);
    write_d(text, capacity, problem);
    write_extras(text, capacity, subject, problem);
    write_defaults(text, capacity, subject, problem);
}
