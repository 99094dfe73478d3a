/* SPDX-License-Identifier: Apache-2.0 */
/* command_multiply.c - rung multiply: two files into a third, however large, with as much memory as is given. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "interrupt.h"
#include "json.h"
#include "options.h"
#include "progress.h"
#include "rung/outofcore.h"
#include "sampled.h"
#include "table.h"
#include "target.h"

enum { DEVICES_MAX = 16 }; /* of --device */

/* What the command line asks for, and what is open for it. */
typedef struct task {
    const lab_options *options;
    rung_outofcore_problem problem;
    rung_outofcore_matrix *a, *b, *c;
    rung_matrix a_view, b_view;
    lab_product product; /* of --dtype, or of the files */
    lab_target targets[DEVICES_MAX];
    rung_device *devices[DEVICES_MAX];
    int64_t device_memory[DEVICES_MAX];
    int device_count;
    int64_t memory; /* 0: not told */
    bool is_checked;
    lab_rigour rigour;
    lab_sample sample;
    rung_outofcore_report *report;
    double check_seconds;
} task_t;

/* ---- The command line -------------------------------------------------------------------------------- */

/* "256M" and the like; bytes without a letter. */
static bool read_bytes(const char *text, int64_t *bytes)
{
    static const char letters[] = "KMGT";
    char number[32];
    size_t length = strlen(text);
    const char *letter = length > 0 ? strchr(letters, text[length - 1]) : NULL;
    int shift = letter && *letter ? 10 * (int)(letter - letters + 1) : 0;
    if (length >= sizeof number)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)length - (shift > 0), text);
    if (!lab_read_integer(number, bytes) || *bytes <= 0 || *bytes > INT64_MAX >> shift)
        return false;
    *bytes <<= shift;
    return true;
}

/* "300x400". */
static bool read_shape(const char *text, int64_t *rows, int64_t *cols)
{
    char number[32];
    const char *x = text ? strchr(text, 'x') : NULL;
    if (!x || x - text >= (long)sizeof number)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)(x - text), text);
    return lab_read_integer(number, rows) && lab_read_integer(x + 1, cols) && *rows >= 0 && *cols >= 0;
}

static bool is_npy(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".npy") == 0;
}

static int complain(void)
{
    fprintf(stderr, "rung: %s\n", rung_error_text());
    return LAB_USAGE;
}

/* A file by its name: .npy, or bare rows of the type and shape that were told. `type` is RUNG_TYPE_NONE if none
 * was. */
static int open_operand(const char *path, rung_type type, const char *shape, rung_outofcore_matrix **matrix)
{
    int64_t rows, cols;
    if (is_npy(path))
        return rung_outofcore_matrix_open_npy(path, type, matrix) == RUNG_OK ? LAB_GOOD : complain();
    if (type == RUNG_TYPE_NONE || !read_shape(shape, &rows, &cols))
        return lab_usage("multiply", "a file that is not called .npy is bare rows: say --dtype f32 and --shape-a or "
                                     "--shape-b, like 300x400");
    return rung_outofcore_matrix_open_raw(path, type, rows, cols, matrix) == RUNG_OK ? LAB_GOOD : complain();
}

static int open_operands(task_t *task)
{
    const lab_options *options = task->options;
    rung_outofcore_problem *problem = &task->problem;
    rung_type in = options->dtype ? task->product.in : RUNG_TYPE_NONE;
    int code = open_operand(options->argument, in, options->shape_a, &task->a);
    if (code == LAB_GOOD)
        code = open_operand(options->argument2, in, options->shape_b, &task->b);
    if (code != LAB_GOOD)
        return code;
    problem->a = task->a;
    problem->b = task->b;
    task->a_view = rung_outofcore_matrix_view(task->a);
    task->b_view = rung_outofcore_matrix_view(task->b);
    problem->path = options->output;
    problem->format = is_npy(options->output) ? RUNG_OUTOFCORE_FORMAT_NPY : RUNG_OUTOFCORE_FORMAT_RAW;
    if (options->dtype)
        problem->type = task->product.out;
    else
        problem->type = task->a_view.type == RUNG_I8 ? RUNG_I32 : task->a_view.type;
    task->product = (lab_product){task->a_view.type, problem->type};
    return LAB_GOOD;
}

/* C as it is, which the result replaces. */
static int open_before(task_t *task)
{
    rung_outofcore_problem *problem = &task->problem;
    rung_status status;
    if (problem->beta == 0)
        return LAB_GOOD;
    if (problem->format == RUNG_OUTOFCORE_FORMAT_RAW)
        status = rung_outofcore_matrix_open_raw(problem->path, problem->type, task->a_view.rows, task->b_view.cols,
                                                &task->c);
    else
        status = rung_outofcore_matrix_open_npy(problem->path, problem->type, &task->c);
    problem->c = task->c;
    return status == RUNG_OK ? LAB_GOOD : complain();
}

static int read_scalars(task_t *task)
{
    const lab_options *options = task->options;
    task->problem.alpha = 1;
    task->problem.beta = 0;
    if ((options->alpha && !lab_read_number(options->alpha, &task->problem.alpha)) ||
        (options->beta && !lab_read_number(options->beta, &task->problem.beta)))
        return lab_usage("multiply", "--alpha and --beta are numbers");
    if (options->memory && !read_bytes(options->memory, &task->memory))
        return lab_usage("multiply", "--memory is a number of bytes, or of KiB, MiB or GiB: 256M");
    return LAB_GOOD;
}

static int read_task(task_t *task)
{
    const lab_options *options = task->options;
    lab_dtype dtypes[LAB_DTYPES_MAX];
    rung_compute compute;
    int count;
    if (!options->argument || !options->argument2 || !options->output || !*options->output)
        return lab_usage("multiply", "two files are multiplied into a third: rung multiply A.npy B.npy -o C.npy");
    const char *wrong = lab_read_dtypes(options, &compute, dtypes, &count);
    if (!wrong && count != 1)
        wrong = "--dtype is one type here, like f32, or f16:f32 for F32 from F16";
    if (wrong)
        return lab_usage("multiply", wrong);
    task->product = dtypes[0].product;
    task->problem.compute = dtypes[0].compute;
    return read_scalars(task);
}

/* ---- Devices ------------------------------------------------------------------------------------------- */

static int open_device(task_t *task, const char *name)
{
    lab_options one = *task->options;
    lab_target *target = &task->targets[task->device_count];
    one.device = name;
    int code = lab_target_open(&one, NULL, target);
    if (code != LAB_GOOD) {
        lab_target_close(target);
        return code;
    }
    if (lab_may_use_engine(target, NULL))
        task->rigour = LAB_ON_ENGINE;
    task->devices[task->device_count] = target->device;
    task->device_memory[task->device_count++] = task->memory;
    return LAB_GOOD;
}

static int open_devices(task_t *task)
{
    const char *list = task->options->device, *environment = getenv("RUNG_DEVICE");
    if (!list)
        list = environment && *environment ? environment : "cpu";
    int code = LAB_GOOD;
    if (!*list)
        return lab_usage("multiply", "--device is empty; name a device, or leave the option out for the CPU");
    while (code == LAB_GOOD && *list) {
        char name[64];
        size_t length = strcspn(list, ",");
        if (length >= sizeof name)
            return lab_usage("multiply",
                             "--device lists a name of more than 63 letters; names are like opencl:1, see rung "
                             "devices");
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        if (task->device_count == DEVICES_MAX)
            return lab_usage("multiply", "--device lists 16 devices at most");
        code = open_device(task, name);
        list += length + (list[length] == ',');
    }
    return code;
}

static void close_task(task_t *task)
{
    rung_outofcore_report_destroy(task->report);
    rung_outofcore_matrix_destroy(task->a);
    rung_outofcore_matrix_destroy(task->b);
    rung_outofcore_matrix_destroy(task->c);
    for (int i = 0; i < task->device_count; i++)
        lab_target_close(&task->targets[i]);
}

/* ---- While it runs --------------------------------------------------------------------------------------- */

/* What an earlier call did is not counted: it would be taken for this one's speed. */
static int show_progress(void *user, const rung_outofcore_progress *progress)
{
    double blocks = (double)progress->total_blocks, before = progress->resumed * blocks;
    char what[64] = "multiplying";
    if (before > 0)
        snprintf(what, sizeof what, "resuming after %.0f blocks", before);
    lab_progress shown = {
        .what = what, .done = progress->done * blocks - before, .count = blocks - before, .units = "blocks"};
    lab_progress_show(&shown);
    (void)user;
    return lab_interrupted();
}

static rung_status check(void *user, const rung_outofcore_matrix *d, const rung_outofcore_report *report)
{
    task_t *task = user;
    if (!task->is_checked)
        return RUNG_OK;
    int64_t began = lab_now();
    lab_progress shown = {.what = "checking", .done = 0, .count = 1, .units = "samples"};
    lab_progress_show(&shown);
    rung_status status = lab_sampled_judge(&task->problem, d, report->blocking, task->rigour, (uint64_t)began,
                                           &task->sample);
    task->check_seconds = (double)(lab_now() - began) * 1e-9;
    return status;
}

/* ---- What there is to tell --------------------------------------------------------------------------------- */

/* The computing itself, without the check behind it. */
static double seconds_of(const task_t *task, const rung_outofcore_report *report)
{
    double seconds = report->seconds - task->check_seconds;
    return seconds > 0 ? seconds : 1e-9;
}

static double waited_percent(const task_t *task, const rung_outofcore_report *report)
{
    double waited = 0;
    for (int64_t i = 0; i < report->device_count; i++)
        waited += rung_outofcore_report_device(report, i)->wait_seconds;
    return 100 * waited / ((double)report->device_count * seconds_of(task, report));
}

static void print_devices(const rung_outofcore_report *report)
{
    for (int64_t i = 0; i < report->device_count; i++) {
        const rung_outofcore_device_report *share = rung_outofcore_report_device(report, i);
        if (report->device_count > 1)
            printf("  %s: %lld blocks\n", share->name, (long long)share->blocks);
        if (*share->failure)
            fprintf(stderr, "rung: warning: %s failed, and others did its blocks: %s\n", share->name, share->failure);
    }
}

static void print_report(const task_t *task, const rung_outofcore_report *report)
{
    const rung_outofcore_blocking *blocking = report->blocking;
    const rung_outofcore_problem *problem = &task->problem;
    char moved[32], memory[32];
    double seconds = seconds_of(task, report);
    lab_write_bytes((double)(blocking->read_bytes + blocking->written_bytes), moved, sizeof moved);
    lab_write_bytes((double)blocking->memory_bytes, memory, sizeof memory);
    printf("%s: %lld x %lld x %lld %s in %.3g s, %.4g GFLOPS\n", problem->path, (long long)task->a_view.rows,
           (long long)task->b_view.cols, (long long)task->a_view.cols, lab_product_name(task->product), seconds,
           report->flops / seconds * 1e-9);
    printf("  memory %s: %lld x %lld blocks of %lld x %lld, panels of %lld\n", memory, (long long)blocking->row_blocks,
           (long long)blocking->col_blocks, (long long)blocking->block_rows, (long long)blocking->block_cols,
           (long long)blocking->panel_depth);
    printf("  moved %s%s, %.3f times the bound; waited %.1f %% of the time\n", moved,
           report->resumed_blocks > 0 ? ", an earlier run's too" : "",
           (double)(blocking->read_bytes + blocking->written_bytes) /
               (blocking->bound_bytes > 0 ? blocking->bound_bytes : 1),
           waited_percent(task, report));
    if (report->resumed_blocks > 0)
        printf("  resumed after %lld of %lld blocks\n", (long long)report->resumed_blocks,
               (long long)(blocking->row_blocks * blocking->col_blocks));
    print_devices(report);
    if (!task->is_checked)
        printf("  not checked\n");
    else
        printf("  checked %s%lld elements, each within its bound\n", task->sample.is_all ? "all " : "",
               (long long)task->sample.elements);
}

static void print_json(const task_t *task, const rung_outofcore_report *report)
{
    const rung_outofcore_blocking *blocking = report->blocking;
    const rung_outofcore_problem *problem = &task->problem;
    double seconds = seconds_of(task, report);
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-multiply/1");
    lab_json_string(&json, "path", problem->path);
    lab_json_string(&json, "dtype", lab_product_name(task->product));
    lab_json_integer(&json, "m", task->a_view.rows);
    lab_json_integer(&json, "n", task->b_view.cols);
    lab_json_integer(&json, "k", task->a_view.cols);
    lab_json_number(&json, "seconds", seconds);
    lab_json_number(&json, "gflops", report->flops / seconds * 1e-9);
    lab_json_integer(&json, "memory", blocking->memory_bytes);
    lab_json_integer(&json, "used", blocking->used_bytes);
    lab_json_integer(&json, "block_rows", blocking->block_rows);
    lab_json_integer(&json, "block_cols", blocking->block_cols);
    lab_json_integer(&json, "panel_depth", blocking->panel_depth);
    lab_json_integer(&json, "blocks", blocking->row_blocks * blocking->col_blocks);
    lab_json_integer(&json, "blocks_before", report->resumed_blocks);
    lab_json_integer(&json, "read", report->read_bytes);
    lab_json_integer(&json, "written", report->written_bytes);
    lab_json_integer(&json, "up", report->upload_bytes);
    lab_json_integer(&json, "down", report->download_bytes);
    lab_json_number(&json, "bound", blocking->bound_bytes);
    lab_json_number(&json, "waited_percent", waited_percent(task, report));
    lab_json_integer(&json, "checked_elements", task->sample.elements);
    lab_json_begin(&json, "devices", '[');
    for (int64_t i = 0; i < report->device_count; i++) {
        lab_json_begin(&json, NULL, '{');
        const rung_outofcore_device_report *device = rung_outofcore_report_device(report, i);
        lab_json_string(&json, "name", device->name);
        lab_json_integer(&json, "blocks", device->blocks);
        lab_json_string(&json, "failure", device->failure);
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

/* A refusal is the caller's to mend; what computed wrongly, or failed, is not. */
static int code_of(rung_status status)
{
    switch (status) {
    case RUNG_OK: return LAB_GOOD;
    case RUNG_STATUS_CANCELLED: return LAB_INTERRUPTED;
    case RUNG_STATUS_DEVICE_LOST:
    case RUNG_STATUS_COMPILE_FAILED:
    case RUNG_STATUS_NO_MEMORY: return LAB_WRONG;
    default: return LAB_USAGE;
    }
}

static int run(task_t *task)
{
    rung_outofcore_options options = rung_outofcore_options_default();
    options.devices = task->devices;
    options.device_memory_bytes = task->device_memory;
    options.device_count = task->device_count;
    options.restart = task->options->restart != NULL;
    options.progress = show_progress;
    options.accept = check;
    options.user = task;
    task->is_checked = !task->options->unchecked && lab_product_sum(task->product) != RUNG_TYPE_NONE &&
                       lab_oracle_takes_k(task->product, task->a_view.cols);
    lab_interrupt_watch();
    lab_progress_begin(task->options->quiet != NULL);
    rung_status status = rung_outofcore_multiply(NULL, &task->problem, &options, &task->report);
    lab_progress_end();
    if (status == RUNG_STATUS_CANCELLED)
        lab_interrupt_tell("run the same command again to resume; --restart discards the completed blocks");
    else if (status != RUNG_OK)
        complain();
    else if (task->options->json)
        print_json(task, task->report);
    else
        print_report(task, task->report);
    return code_of(status);
}

int lab_command_multiply(const lab_options *options)
{
    task_t task = {.options = options, .problem = rung_outofcore_problem_of(NULL, NULL)};
    int code = read_task(&task);
    if (code == LAB_GOOD)
        code = open_operands(&task);
    if (code == LAB_GOOD)
        code = open_before(&task);
    if (code == LAB_GOOD)
        code = open_devices(&task);
    if (code == LAB_GOOD)
        code = run(&task);
    close_task(&task);
    return code;
}
