/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_run.c - see gemm_run.h. */
#include "plain_gemm/gemm_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/try.h"
#include "common/elements.h"
#include "common/failure.h"
#include "common/random.h"

enum { OPERAND_A, OPERAND_B, OPERAND_C, OPERAND_D, OPERAND_BIAS, OPERANDS, BATCH = 2, PARAMETER_BYTES_MAX = 4352 };

/* One run. */
typedef struct gemm_run {
    lab_gemm_kernel *kernel;
    const lab_gemm_meaning *meaning;
    const lab_gemm_problem *problem;
    int64_t batch;
    rung_matrix views[OPERANDS]; /* data in host memory; the type of an absent operand is RUNG_TYPE_NONE */
    int64_t bytes[OPERANDS];
    uint64_t addresses[OPERANDS];
    void *before; /* the output before the run */
    uint64_t
        scalars[LAB_GEMM_SLOTS_MAX]; /* device memory of alpha and beta behind pointers, and of arrays of pointers */
    int64_t values[LAB_GEMM_SLOTS_MAX];
    lab_gemm_result *result;
} gemm_run_t;

static const lab_gemm_slot *find_slot(const lab_gemm_kernel *kernel, lab_role role)
{
    for (int i = 0; i < kernel->slot_count; i++)
        if (kernel->slots[i].role == role)
            return &kernel->slots[i];
    return NULL;
}

int64_t lab_gemm_batch(const lab_gemm_kernel *kernel)
{
    return find_slot(kernel, LAB_ROLE_BATCH) || find_slot(kernel, LAB_ROLE_BATCH_A) ? BATCH : 1;
}

static bool fail(gemm_run_t *run, lab_gemm_outcome outcome, const char *text)
{
    run->result->outcome = outcome;
    return lab_set_reason(run->result->text, sizeof run->result->text, "%s", text);
}

static const char *const operand_names[OPERANDS] = {"A", "B", "C", "D", "bias"};
static const lab_role operand_roles[OPERANDS] = {LAB_ROLE_A, LAB_ROLE_B, LAB_ROLE_C, LAB_ROLE_D, LAB_ROLE_BIAS};

/* Returns the role of the slot that has an operand. */
static lab_role operand_role(const gemm_run_t *run, int operand)
{
    bool is_input = operand == OPERAND_A || operand == OPERAND_B;
    return operand_roles[is_input && run->meaning->swaps_inputs ? OPERAND_A + OPERAND_B - operand : operand];
}

static const rung_matrix *view_of_role(const gemm_run_t *run, lab_role role)
{
    for (int i = 0; i < OPERANDS; i++)
        if (operand_role(run, i) == role)
            return &run->views[i];
    return &run->views[OPERAND_C];
}

/* ---- Operands ---- */

/* Returns a dense matrix, by rows or by columns. */
static rung_matrix dense(rung_type type, int64_t rows, int64_t cols, bool is_transposed)
{
    rung_matrix view = rung_matrix_of(type, rows, cols, NULL);
    view.row_stride = is_transposed ? 1 : cols;
    view.col_stride = is_transposed ? rows : 1;
    view.batch_stride = rows * cols;
    return view;
}

static void describe_operands(gemm_run_t *run)
{
    const lab_gemm_meaning *meaning = run->meaning;
    const int64_t m = run->problem->m, n = run->problem->n, k = run->problem->k;
    for (int i = 0; i < OPERANDS; i++) {
        const lab_gemm_slot *slot = find_slot(run->kernel, operand_role(run, i));
        rung_type type = slot ? slot->type.element : RUNG_TYPE_NONE;
        switch (i) {
        case OPERAND_A: run->views[i] = dense(type, m, k, meaning->is_a_transposed); break;
        case OPERAND_B: run->views[i] = dense(type, k, n, meaning->is_b_transposed); break;
        case OPERAND_C:
        case OPERAND_D: run->views[i] = dense(type, m, n, meaning->is_c_transposed); break;
        default:
            run->views[i] = dense(type, m, n, false);
            run->views[i].row_stride = meaning->is_bias_per_row ? 1 : 0;
            run->views[i].col_stride = meaning->is_bias_per_row ? 0 : 1;
            run->views[i].batch_stride = 0;
        }
    }
    run->batch = lab_gemm_batch(run->kernel);
}

/* Small integers: their sums stay exact in the narrowest type of a result, for k up to about 1000. */
static double element(const gemm_run_t *run, int operand, int64_t index)
{
    uint32_t random = lab_random(run->problem->seed, (uint64_t)operand, (uint64_t)index);
    if (run->problem->is_exact || lab_type_is_integer(run->views[operand].type))
        return (double)(random % 5) - 2;
    return lab_random_uniform(run->problem->seed, (uint64_t)operand, (uint64_t)index);
}

static bool create_operand(gemm_run_t *run, int operand)
{
    rung_matrix *view = &run->views[operand];
    if (view->type == RUNG_TYPE_NONE)
        return true;
    int64_t length = operand == OPERAND_BIAS ? (run->meaning->is_bias_per_row ? view->rows : view->cols)
                                             : view->rows * view->cols * run->batch;
    run->bytes[operand] = length * (int64_t)rung_type_size(view->type);
    view->data = malloc((size_t)run->bytes[operand] + 1);
    if (!view->data)
        return fail(run, LAB_GEMM_ERROR, "out of memory");
    rung_matrix flat = rung_matrix_of(view->type, 1, length, view->data);
    for (int64_t i = 0; i < length; i++)
        lab_element_set(&flat, 0, i, element(run, operand, i));
    return true;
}

static int output_of(const gemm_run_t *run)
{
    return run->views[OPERAND_D].type != RUNG_TYPE_NONE ? OPERAND_D : OPERAND_C;
}

static bool create_operands(gemm_run_t *run)
{
    describe_operands(run);
    for (int i = 0; i < OPERANDS; i++)
        if (!create_operand(run, i))
            return false;
    int output = output_of(run);
    run->before = malloc((size_t)run->bytes[output] + 1);
    if (!run->before)
        return fail(run, LAB_GEMM_ERROR, "out of memory");
    memcpy(run->before, run->views[output].data, (size_t)run->bytes[output]);
    return true;
}

/* ---- Parameters ---- */

static int64_t size_of_role(const gemm_run_t *run, lab_role role)
{
    const lab_gemm_problem *problem = run->problem;
    if (role >= LAB_ROLE_M && role <= LAB_ROLE_K)
        role = run->meaning->sizes[role - LAB_ROLE_M];
    return role == LAB_ROLE_N ? problem->n : role == LAB_ROLE_K ? problem->k : problem->m;
}

static int64_t leading_dimension(const rung_matrix *view)
{
    return view->col_stride == 1 ? view->row_stride : view->col_stride;
}

/* Returns the value of an integer slot. `unknown` counts the slots without a role. */
static int64_t integer_value(const gemm_run_t *run, const lab_gemm_slot *slot, int *unknown)
{
    switch (slot->role) {
    case LAB_ROLE_LDA: return leading_dimension(view_of_role(run, LAB_ROLE_A));
    case LAB_ROLE_LDB: return leading_dimension(view_of_role(run, LAB_ROLE_B));
    case LAB_ROLE_LDC: return leading_dimension(view_of_role(run, LAB_ROLE_C));
    case LAB_ROLE_LDD: return leading_dimension(view_of_role(run, LAB_ROLE_D));
    case LAB_ROLE_BATCH: return run->batch;
    case LAB_ROLE_BATCH_A: return view_of_role(run, LAB_ROLE_A)->batch_stride;
    case LAB_ROLE_BATCH_B: return view_of_role(run, LAB_ROLE_B)->batch_stride;
    case LAB_ROLE_BATCH_C: return view_of_role(run, LAB_ROLE_C)->batch_stride;
    case LAB_ROLE_VALUE: return (int64_t)slot->value;
    case LAB_ROLE_UNKNOWN: {
        lab_role role = *unknown < 3 ? run->meaning->unknown[*unknown] : LAB_ROLE_M;
        (*unknown)++;
        return role == LAB_ROLE_N ? run->problem->n : role == LAB_ROLE_K ? run->problem->k : run->problem->m;
    }
    default: return size_of_role(run, slot->role);
    }
}

static void find_values(gemm_run_t *run)
{
    int unknown = 0;
    for (int i = 0; i < run->kernel->slot_count; i++) {
        const lab_gemm_slot *slot = &run->kernel->slots[i];
        run->values[i] = slot->type.is_integer ? integer_value(run, slot, &unknown) : 0;
    }
}

/* Stores a scalar in the type of a slot. */
static void store_scalar(const lab_gemm_slot *slot, double value, unsigned char *to)
{
    rung_type type = slot->type.element == RUNG_TYPE_NONE ? RUNG_I32 : slot->type.element;
    rung_matrix one = rung_matrix_of(type, 1, 1, to);
    lab_element_set(&one, 0, 0, value);
}

static double scalar_value(const gemm_run_t *run, const lab_gemm_slot *slot)
{
    return slot->has_value ? slot->value : slot->role == LAB_ROLE_BETA ? run->problem->beta : run->problem->alpha;
}

/* Allocates what a pointer slot needs beside the operands: a scalar, or an array of pointers to the items of a batch. */
static rung_status upload_indirect(gemm_run_t *run, int index)
{
    const lab_gemm_slot *slot = &run->kernel->slots[index];
    rung_emulator *emulator = run->kernel->emulator;
    unsigned char scalar[16] = {0};
    static const unsigned char zeros[1 << 16]; /* more than the counters of a GEMM need */
    if (slot->role == LAB_ROLE_ZEROS) {
        TRY(rung_emulator_allocate(emulator, sizeof zeros, slot->name, &run->scalars[index]));
        return rung_emulator_write(emulator, run->scalars[index], zeros, sizeof zeros);
    }
    if (slot->role == LAB_ROLE_ALPHA || slot->role == LAB_ROLE_BETA) {
        store_scalar(slot, scalar_value(run, slot), scalar);
        TRY(rung_emulator_allocate(emulator, sizeof scalar, slot->name, &run->scalars[index]));
        return rung_emulator_write(emulator, run->scalars[index], scalar, sizeof scalar);
    }
    for (int i = 0; i < OPERANDS; i++) {
        if (slot->role != operand_role(run, i) || slot->type.pointers < 2)
            continue;
        uint64_t items[BATCH];
        for (int64_t item = 0; item < BATCH; item++)
            items[item] = run->addresses[i] + (uint64_t)((item < run->batch ? item : 0) * run->views[i].batch_stride *
                                                         (int64_t)rung_type_size(run->views[i].type));
        TRY(rung_emulator_allocate(emulator, sizeof items, slot->name, &run->scalars[index]));
        return rung_emulator_write(emulator, run->scalars[index], items, sizeof items);
    }
    return RUNG_OK;
}

static rung_status upload(gemm_run_t *run)
{
    for (int i = 0; i < OPERANDS; i++) {
        if (run->bytes[i] == 0)
            continue;
        const lab_gemm_slot *slot = find_slot(run->kernel, operand_role(run, i));
        TRY(rung_emulator_allocate(run->kernel->emulator, run->bytes[i], slot ? slot->name : operand_names[i],
                                   &run->addresses[i]));
        TRY(rung_emulator_write(run->kernel->emulator, run->addresses[i], run->views[i].data, run->bytes[i]));
    }
    for (int i = 0; i < run->kernel->slot_count; i++)
        if (run->kernel->slots[i].type.pointers > 0)
            TRY(upload_indirect(run, i));
    return RUNG_OK;
}

static uint64_t pointer_value(const gemm_run_t *run, int index)
{
    const lab_gemm_slot *slot = &run->kernel->slots[index];
    if (run->scalars[index])
        return run->scalars[index];
    for (int i = 0; i < OPERANDS; i++)
        if (slot->role == operand_role(run, i))
            return run->addresses[i];
    return 0;
}

/* Fills the parameter buffer. */
static void write_parameters(const gemm_run_t *run, const lab_gemm_launch *launch, unsigned char *buffer)
{
    for (int i = 0; i < run->kernel->slot_count; i++) {
        const lab_gemm_slot *slot = &run->kernel->slots[i];
        unsigned char *to = buffer + slot->offset;
        bool is_evaluated = slot->field < 0 && run->kernel->is_evaluated[slot->parameter] && !slot->has_value;
        int64_t value = is_evaluated ? launch->arguments[slot->parameter] : run->values[i];
        uint64_t pointer = slot->type.pointers > 0 ? pointer_value(run, i) : 0;
        if (slot->field < 0 && run->kernel->is_copied[slot->parameter])
            memcpy(to, launch->structs[slot->parameter],
                   (size_t)(slot->bytes < LAB_LAUNCH_STRUCT_BYTES ? slot->bytes : LAB_LAUNCH_STRUCT_BYTES));
        if (slot->type.is_struct || run->kernel->is_copied[slot->parameter])
            continue;
        if (slot->type.pointers > 0)
            memcpy(to, &pointer, sizeof pointer);
        else if (slot->type.is_integer)
            memcpy(to, &value, (size_t)(slot->bytes < 8 ? slot->bytes : 8));
        else
            store_scalar(slot, scalar_value(run, slot), to);
    }
}

/* ---- Running ---- */

static void release(gemm_run_t *run)
{
    for (int i = 0; i < OPERANDS; i++) {
        rung_emulator_free(run->kernel->emulator, run->addresses[i]);
        free(run->views[i].data);
    }
    for (int i = 0; i < LAB_GEMM_SLOTS_MAX; i++)
        rung_emulator_free(run->kernel->emulator, run->scalars[i]);
    free(run->before);
}

static bool is_endless(rung_emulator *emulator)
{
    for (int64_t i = 0; i < rung_emulator_finding_count(emulator); i++)
        if (rung_emulator_finding_at(emulator, i)->kind == RUNG_EMULATOR_INFINITE_LOOP)
            return true;
    return false;
}

/* Sets the outcome of a launch that failed. The sentence of a finding is better than that of the launch, which has the
 * mangled name of the kernel. */
static bool fail_launch(gemm_run_t *run, rung_status status)
{
    rung_emulator *emulator = run->kernel->emulator;
    int64_t count = rung_emulator_finding_count(emulator);
    if (lab_gemm_is_late(run->kernel))
        return fail(run, LAB_GEMM_LATE, "the time limit is over");
    return fail(run,
                status == RUNG_STATUS_INVALID ? LAB_GEMM_INVALID
                : is_endless(emulator)        ? LAB_GEMM_ENDLESS
                                              : LAB_GEMM_STOPPED,
                count > 0 ? rung_emulator_finding_at(emulator, 0)->text : rung_error_text());
}

/* Returns whether the launch is cooperative and the kernel waits for the whole grid, which reads an environment register. Other
 * launches run block after block, which is faster. */
static bool waits_for_grid(const lab_gemm_kernel *kernel)
{
    const lab_cuda_launch *launch = kernel->source.launch;
    return launch && launch->is_cooperative && strstr(kernel->code.ptx, "%envreg");
}

static bool launch_kernel(gemm_run_t *run)
{
    unsigned char buffer[PARAMETER_BYTES_MAX] = {0};
    const lab_gemm_launch *how = &run->result->launch;
    rung_emulator *emulator = run->kernel->emulator;
    if (run->kernel->parameter_bytes > PARAMETER_BYTES_MAX)
        return fail(run, LAB_GEMM_ERROR, "the kernel has too many parameters");
    write_parameters(run, how, buffer);
    rung_emulator_launch launch = rung_emulator_launch_of(how->grid[0], how->block[0], NULL);
    memcpy(launch.grid, how->grid, sizeof launch.grid);
    memcpy(launch.block, how->block, sizeof launch.block);
    launch.dynamic_shared_bytes = how->shared_bytes;
    launch.is_cooperative = waits_for_grid(run->kernel);
    launch.parameter_buffer = buffer;
    launch.parameter_bytes = run->kernel->parameter_bytes;
    rung_status status = rung_emulator_launch_kernel(run->kernel->handle, &launch);
    run->result->finding_count = rung_emulator_finding_count(emulator);
    if (status != RUNG_OK)
        return fail_launch(run, status);
    int output = output_of(run);
    if (rung_emulator_read(emulator, run->addresses[output], run->views[output].data, run->bytes[output]) != RUNG_OK)
        return fail(run, LAB_GEMM_ERROR, rung_error_text());
    return true;
}

/* Evaluates the launch, copies the operands, and runs the kernel. */
static bool execute(gemm_run_t *run)
{
    lab_gemm_kernel *kernel = run->kernel;
    int64_t sizes[4] = {run->problem->m, run->problem->n, run->problem->k, run->batch};
    bool good = lab_gemm_evaluate(kernel, run->values, sizes, &run->result->launch, run->result->text,
                                  sizeof run->result->text);
    rung_emulator_findings_clear(kernel->emulator);
    rung_emulator_set_checks(kernel->emulator, run->problem->checks, run->problem->counts);
    if (good && upload(run) != RUNG_OK)
        good = fail(run, LAB_GEMM_ERROR, rung_error_text());
    return good && launch_kernel(run);
}

/* ---- Earlier runs ---- */

/* One earlier run: what decides its output, and the output. */
struct lab_gemm_output {
    int64_t values[LAB_GEMM_SLOTS_MAX];
    int64_t bytes[OPERANDS];
    bool swaps_inputs;
    bool is_good; /* the kernel ended */
    lab_gemm_result result;
    void *data;
};

static struct lab_gemm_output *find_output(const gemm_run_t *run)
{
    const lab_gemm_outputs *outputs = run->problem->outputs;
    for (int i = 0; outputs && i < outputs->count; i++) {
        struct lab_gemm_output *item = &outputs->items[i];
        if (item->swaps_inputs == run->meaning->swaps_inputs &&
            memcmp(item->values, run->values, sizeof item->values) == 0 &&
            memcmp(item->bytes, run->bytes, sizeof item->bytes) == 0)
            return item;
    }
    return NULL;
}

/* Keeps the output of the run. Without memory, the kernel runs again for the next interpretation. */
static void keep_output(const gemm_run_t *run, bool is_good)
{
    lab_gemm_outputs *outputs = run->problem->outputs;
    int64_t bytes = run->bytes[output_of(run)];
    struct lab_gemm_output *items = realloc(outputs->items, (size_t)(outputs->count + 1) * sizeof *items);
    void *data = items ? malloc((size_t)bytes + 1) : NULL;
    outputs->items = items ? items : outputs->items;
    if (!data)
        return;
    struct lab_gemm_output *item = &items[outputs->count++];
    *item = (struct lab_gemm_output){
        .swaps_inputs = run->meaning->swaps_inputs, .is_good = is_good, .result = *run->result, .data = data};
    memcpy(item->values, run->values, sizeof item->values);
    memcpy(item->bytes, run->bytes, sizeof item->bytes);
    memcpy(data, run->views[output_of(run)].data, (size_t)bytes);
}

void lab_gemm_outputs_free(lab_gemm_outputs *outputs)
{
    for (int i = 0; i < outputs->count; i++)
        free(outputs->items[i].data);
    free(outputs->items);
    *outputs = (lab_gemm_outputs){.items = NULL};
}

/* Runs the kernel, or takes the output of an earlier run. */
static bool execute_once(gemm_run_t *run)
{
    const struct lab_gemm_output *earlier = find_output(run);
    if (!earlier) {
        bool is_good = execute(run);
        if (run->problem->outputs)
            keep_output(run, is_good);
        return is_good;
    }
    *run->result = earlier->result;
    memcpy(run->views[output_of(run)].data, earlier->data, (size_t)run->bytes[output_of(run)]);
    return earlier->is_good;
}

/* ---- Checking ---- */

static rung_problem described_problem(const gemm_run_t *run)
{
    rung_problem problem = rung_problem_of(run->views[OPERAND_A], run->views[OPERAND_B], run->views[OPERAND_C]);
    bool has_alpha = find_slot(run->kernel, LAB_ROLE_ALPHA), has_beta = find_slot(run->kernel, LAB_ROLE_BETA);
    problem.alpha = has_alpha ? run->problem->alpha : 1;
    problem.beta = has_beta ? run->problem->beta : run->meaning->adds_to_c || output_of(run) == OPERAND_D ? 1 : 0;
    problem.c = run->views[output_of(run)]; /* the oracle takes the result from C, and the addend from elsewhere */
    problem.batch = run->batch;
    problem.bias = run->views[OPERAND_BIAS];
    problem.activation = run->meaning->activation;
    return problem;
}

/* Describes what the kernel computed, if the interpretation is true. */
static lab_gemm_product described_product(const gemm_run_t *run)
{
    lab_gemm_product product = {.problem = described_problem(run),
                                .before = run->views[output_of(run)],
                                .is_exact = run->problem->is_exact,
                                .seed = run->problem->seed,
                                .ptx = run->kernel->code.ptx};
    product.before.data = run->before;
    product.output = product.before;
    if (output_of(run) == OPERAND_D)
        product.before = run->views[OPERAND_C];
    return product;
}

/* ---- Interface ---- */

lab_gemm_result lab_gemm_run(lab_gemm_kernel *kernel, const lab_gemm_meaning *meaning, const lab_gemm_problem *problem)
{
    lab_gemm_result result = {.outcome = LAB_GEMM_ERROR};
    gemm_run_t run = {.kernel = kernel, .meaning = meaning, .problem = problem, .result = &result};
    rung_emulator_findings_clear(kernel->emulator);
    if (lab_gemm_is_late(kernel))
        fail(&run, LAB_GEMM_LATE, "the time limit is over");
    else if (create_operands(&run)) {
        find_values(&run);
        result.batch = run.batch;
        if (execute_once(&run)) {
            lab_gemm_product product = described_product(&run);
            if (problem->inspect)
                problem->inspect(problem->user, &product);
            lab_gemm_check(&product, &result);
        }
    }
    release(&run);
    return result;
}

bool lab_gemm_launch_of(lab_gemm_kernel *kernel, const lab_gemm_meaning *meaning, int64_t m, int64_t n, int64_t k,
                        lab_gemm_launch *launch, char *why, size_t capacity)
{
    lab_gemm_problem problem = {.m = m, .n = n, .k = k};
    gemm_run_t run = {.kernel = kernel, .meaning = meaning, .problem = &problem};
    describe_operands(&run);
    find_values(&run);
    int64_t sizes[4] = {m, n, k, run.batch};
    return lab_gemm_evaluate(kernel, run.values, sizes, launch, why, capacity);
}

lab_gemm_meaning lab_gemm_meaning_default(void)
{
    return (lab_gemm_meaning){.sizes = {LAB_ROLE_M, LAB_ROLE_N, LAB_ROLE_K},
                              .unknown = {LAB_ROLE_M, LAB_ROLE_N, LAB_ROLE_K}};
}
