/* SPDX-License-Identifier: Apache-2.0 */
/* multiply.c - rung multiply: multiplies two files of any size into a third one with limited memory. */
#include "common/lab_clock.h"
#include "common/text.h"
#include "cli/interrupt.h"
#include "io/json_writer.h"
#include "cli/progress_line.h"
#include "rung/outofcore.h"
#include "verify/verify.h"
#include "cli/table.h"
#include "target/target.h"

enum { MAX_COMMAND_DEVICES = 16 }; /* listed in --device */

/* Options and open objects of the command. */
typedef struct multiply_command {
    const lab_options *options;
    rung_outofcore_problem problem;
    rung_outofcore_matrix *a, *b, *c;
    rung_matrix a_view, b_view;
    lab_type_pair product; /* of --dtype or of the files */
    lab_target targets[MAX_COMMAND_DEVICES];
    rung_device *devices[MAX_COMMAND_DEVICES];
    int64_t device_memory[MAX_COMMAND_DEVICES];
    int device_count;
    int64_t memory;  /* 0: automatic */
    bool is_sampled; /* elements of the result are checked at the end */
    lab_accuracy rigour;
    lab_sampled_coverage sample;
    rung_outofcore_report *report;
    double check_seconds;
} multiply_command_t;

/* ---- Options -------------------------------------------------------------------------------- */

/* Prints the library's error. Returns an exit code. */
static int code_of(rung_status status)
{
    return status == RUNG_OK ? LAB_EXIT_SUCCESS : lab_fail(LAB_EXIT_USAGE, "%s", rung_error_text());
}

/* Opens a .npy file, or a file of raw rows, which has no header and needs the type and the sizes. */
static int open_file(const char *path, rung_type type, int64_t rows, int64_t cols, rung_outofcore_matrix **matrix)
{
    return code_of(lab_path_ends_in(path, ".npy") ? rung_outofcore_matrix_open_npy(path, type, matrix)
                                                  : rung_outofcore_matrix_open_raw(path, type, rows, cols, matrix));
}

/* Opens an input file. `type` is RUNG_TYPE_NONE if --dtype is not given. */
static int open_operand(const char *path, rung_type type, const char *shape, rung_outofcore_matrix **matrix)
{
    int64_t extents[2] = {0};
    if (!lab_path_ends_in(path, ".npy") &&
        (type == RUNG_TYPE_NONE || !shape || !lab_parse_extents(shape, 2, extents) || extents[0] < 0 || extents[1] < 0))
        return lab_usage_error(
            "multiply", "a file that does not end in .npy has no header: give --dtype and --shape-a or --shape-b, for "
                        "example --dtype f32 --shape-a 300x400");
    return open_file(path, type, extents[0], extents[1], matrix);
}

static int open_operands(multiply_command_t *command)
{
    const lab_options *options = command->options;
    rung_outofcore_problem *problem = &command->problem;
    rung_type in = options->dtype ? command->product.in : RUNG_TYPE_NONE;
    int code = open_operand(options->argument, in, options->shape_a, &command->a);
    if (code == LAB_EXIT_SUCCESS)
        code = open_operand(options->argument2, in, options->shape_b, &command->b);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    problem->a = command->a;
    problem->b = command->b;
    command->a_view = rung_outofcore_matrix_view(command->a);
    command->b_view = rung_outofcore_matrix_view(command->b);
    problem->path = options->output;
    problem->format = lab_path_ends_in(options->output, ".npy") ? RUNG_OUTOFCORE_FORMAT_NPY : RUNG_OUTOFCORE_FORMAT_RAW;
    if (options->dtype)
        problem->type = command->product.out;
    else
        problem->type = command->a_view.type == RUNG_I8 ? RUNG_I32 : command->a_view.type;
    command->product = lab_type_pair_of(command->a_view.type, problem->type);
    return LAB_EXIT_SUCCESS;
}

/* Opens the existing output as C, if beta is not 0. */
static int open_existing_output(multiply_command_t *command)
{
    rung_outofcore_problem *problem = &command->problem;
    if (problem->beta == 0)
        return LAB_EXIT_SUCCESS;
    int code = open_file(problem->path, problem->type, command->a_view.rows, command->b_view.cols, &command->c);
    problem->c = command->c;
    return code;
}

static int read_options(multiply_command_t *command)
{
    const lab_options *options = command->options;
    lab_dtype dtype;
    if (!options->argument || !options->argument2 || !options->output || !*options->output)
        return lab_usage_error("multiply",
                               "two input files and an output file are required: rung multiply A.npy B.npy -o C.npy");
    const char *error = lab_parse_single_dtype(
        options, "--dtype takes one type here, for example f32, or f16:f32 for an F32 result of F16 inputs", &dtype);
    if (error)
        return lab_usage_error("multiply", error);
    command->product = dtype.product;
    command->problem.compute = dtype.compute;
    if ((options->alpha && !lab_parse_number(options->alpha, &command->problem.alpha)) ||
        (options->beta && !lab_parse_number(options->beta, &command->problem.beta)))
        return lab_usage_error("multiply", "--alpha and --beta must be numbers");
    if (options->memory && !lab_parse_bytes(options->memory, &command->memory))
        return lab_usage_error("multiply", "--memory is a number of bytes, or of KiB, MiB or GiB: 256M");
    return LAB_EXIT_SUCCESS;
}

/* ---- Devices ------------------------------------------------------------------------------------------- */

static int open_devices(multiply_command_t *command)
{
    int code = lab_targets_open(command->options, "multiply", command->targets, MAX_COMMAND_DEVICES,
                                &command->device_count);
    for (int i = 0; i < command->device_count; i++) {
        if (lab_kernel_may_use_engine(&command->targets[i], NULL))
            command->rigour = LAB_ACCURACY_ENGINE;
        command->devices[i] = command->targets[i].device;
        command->device_memory[i] = command->memory;
    }
    return code;
}

static void close_command(multiply_command_t *command)
{
    rung_outofcore_report_destroy(command->report);
    rung_outofcore_matrix_destroy(command->a);
    rung_outofcore_matrix_destroy(command->b);
    rung_outofcore_matrix_destroy(command->c);
    for (int i = 0; i < command->device_count; i++)
        lab_target_close(&command->targets[i]);
}

/* ---- Callbacks --------------------------------------------------------------------------------------- */

/* Resumed blocks are not counted: they would distort the displayed speed. */
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
    return lab_is_interrupted();
}

static rung_status check_result(void *user, const rung_outofcore_matrix *d, const rung_outofcore_report *report)
{
    multiply_command_t *command = user;
    if (!command->is_sampled)
        return RUNG_OK;
    int64_t start_ns = lab_now_ns();
    lab_progress_show(&(lab_progress){.what = "checking", .done = 0, .count = 1, .units = "samples"});
    rung_status status = lab_sampled_check(&command->problem, d, report->blocking, command->rigour, (uint64_t)start_ns,
                                           &command->sample);
    command->check_seconds = (double)(lab_now_ns() - start_ns) * 1e-9;
    return status;
}

/* ---- Output --------------------------------------------------------------------------------- */

/* Returns the time of the multiply without the check. */
static double compute_seconds(const multiply_command_t *command, const rung_outofcore_report *report)
{
    double seconds = report->seconds - command->check_seconds;
    return seconds > 0 ? seconds : 1e-9;
}

static double waited_percent(const multiply_command_t *command, const rung_outofcore_report *report)
{
    double waited = 0;
    for (int64_t i = 0; i < report->device_count; i++)
        waited += rung_outofcore_report_device(report, i)->wait_seconds;
    return 100 * waited / ((double)report->device_count * compute_seconds(command, report));
}

static void print_devices(const rung_outofcore_report *report)
{
    for (int64_t i = 0; i < report->device_count; i++) {
        const rung_outofcore_device_report *device = rung_outofcore_report_device(report, i);
        if (report->device_count > 1)
            printf("  %s: %lld blocks\n", device->name, (long long)device->blocks);
        if (*device->failure)
            fprintf(stderr, "rung: warning: %s failed; other devices computed its blocks: %s\n", device->name,
                    device->failure);
    }
}

static void print_report(const multiply_command_t *command, const rung_outofcore_report *report)
{
    const rung_outofcore_blocking *blocking = report->blocking;
    const rung_outofcore_problem *problem = &command->problem;
    char moved[32], memory[32];
    double seconds = compute_seconds(command, report);
    lab_format_bytes((double)(blocking->read_bytes + blocking->written_bytes), moved, sizeof moved);
    lab_format_bytes((double)blocking->memory_bytes, memory, sizeof memory);
    printf("%s: %lld x %lld x %lld %s in %.3g s, %.4g GFLOPS\n", problem->path, (long long)command->a_view.rows,
           (long long)command->b_view.cols, (long long)command->a_view.cols, lab_type_pair_name(command->product),
           seconds, report->flops / seconds * 1e-9);
    printf("  memory %s: %lld x %lld blocks of %lld x %lld, panels of %lld\n", memory, (long long)blocking->row_blocks,
           (long long)blocking->col_blocks, (long long)blocking->block_rows, (long long)blocking->block_cols,
           (long long)blocking->panel_depth);
    printf("  moved %s%s, %.3f times the bound; waited %.1f %% of the time\n", moved,
           report->resumed_blocks > 0 ? ", an earlier run's too" : "",
           (double)(blocking->read_bytes + blocking->written_bytes) /
               (blocking->bound_bytes > 0 ? blocking->bound_bytes : 1),
           waited_percent(command, report));
    if (report->resumed_blocks > 0)
        printf("  resumed after %lld of %lld blocks\n", (long long)report->resumed_blocks,
               (long long)(blocking->row_blocks * blocking->col_blocks));
    print_devices(report);
    if (command->options->checked)
        printf("  all products checked, %lld elements corrected\n", (long long)report->corrected);
    if (!command->is_sampled)
        printf("  not checked\n");
    else
        printf("  checked %s%lld elements, each within its bound\n", command->sample.is_all ? "all " : "",
               (long long)command->sample.elements);
}

static void print_json(const multiply_command_t *command, const rung_outofcore_report *report)
{
    const rung_outofcore_blocking *blocking = report->blocking;
    const rung_outofcore_problem *problem = &command->problem;
    double seconds = compute_seconds(command, report);
    lab_json json = lab_json_open(stdout, "rung-multiply/1");
    LAB_JSON_STRINGS(&json, {"path", problem->path}, {"dtype", lab_type_pair_name(command->product)});
    LAB_JSON_INTEGERS(&json, {"m", command->a_view.rows}, {"n", command->b_view.cols}, {"k", command->a_view.cols});
    lab_json_number(&json, "seconds", seconds);
    lab_json_number(&json, "gflops", report->flops / seconds * 1e-9);
    LAB_JSON_INTEGERS(&json, {"memory", blocking->memory_bytes}, {"used", blocking->used_bytes},
                      {"block_rows", blocking->block_rows}, {"block_cols", blocking->block_cols},
                      {"panel_depth", blocking->panel_depth}, {"blocks", blocking->row_blocks * blocking->col_blocks},
                      {"blocks_before", report->resumed_blocks}, {"read", report->read_bytes},
                      {"written", report->written_bytes}, {"up", report->upload_bytes},
                      {"down", report->download_bytes});
    lab_json_number(&json, "bound", blocking->bound_bytes);
    lab_json_number(&json, "waited_percent", waited_percent(command, report));
    lab_json_integer(&json, "checked_elements", command->sample.elements);
    lab_json_boolean(&json, "checked", command->options->checked != NULL);
    lab_json_integer(&json, "corrected", report->corrected);
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

static int run_multiply(multiply_command_t *command)
{
    rung_outofcore_options options = rung_outofcore_options_default();
    options.devices = command->devices;
    options.device_memory_bytes = command->device_memory;
    options.device_count = command->device_count;
    options.restart = command->options->restart != NULL;
    options.checked = command->options->checked != NULL;
    options.progress = show_progress;
    options.accept = check_result;
    options.user = command;
    command->is_sampled = !command->options->unchecked &&
                          lab_type_pair_accumulator(command->product) != RUNG_TYPE_NONE &&
                          lab_oracle_can_check_k(command->product, command->a_view.cols);
    lab_interrupt_watch();
    lab_progress_begin(command->options->quiet != NULL);
    rung_status status = rung_outofcore_multiply(NULL, &command->problem, &options, &command->report);
    lab_progress_end();
    if (status == RUNG_STATUS_CANCELLED)
        lab_interrupt_report("run the same command again to resume; --restart discards the completed blocks");
    else if (status != RUNG_OK)
        code_of(status);
    else if (command->options->json)
        print_json(command, command->report);
    else
        print_report(command, command->report);
    return lab_exit_code(status);
}

int lab_command_multiply(const lab_options *options)
{
    multiply_command_t command = {.options = options, .problem = rung_outofcore_problem_of(NULL, NULL)};
    int (*const steps[])(multiply_command_t *) = {read_options, open_operands, open_existing_output, open_devices,
                                                  run_multiply};
    int code = LAB_EXIT_SUCCESS;
    for (size_t i = 0; code == LAB_EXIT_SUCCESS && i < sizeof steps / sizeof *steps; i++)
        code = steps[i](&command);
    close_command(&command);
    return code;
}
