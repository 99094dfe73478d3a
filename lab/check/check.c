/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - rung check from options to exit code. */
#include "check/check.h"

#include <string.h>

#include "check/check_session.h"
#include "check/kernel_choice.h"
#include "cli/interrupt.h"
#include "common/failure.h"
#include "common/text.h"
#include "findings/sarif.h"
#include "io/input_file.h"
#include "process/supervise.h"
#include "target/target.h"

enum { DEFAULT_SECONDS = 60, REPEAT_MAX = 1000000 };

/* ---- Options ---- */

static int read_options(const lab_options *options, lab_check_session *session)
{
    char why[1024];
    session->path = options->argument;
    session->findings.names_absolute = session->path && *session->path == '/';
    session->repeat = 1;
    session->tolerance = -1;
    session->counts_accesses = options->counts != NULL;
    session->output = options->json ? stderr : stdout;
    if (!session->path)
        return lab_usage_error("check", "name a file: rung check FILE.cu or FILE.ptx");
    if (!lab_source_options_read(options, &session->source_options, why, sizeof why))
        return lab_usage_error("check", why);
    if (!lab_parse_time_limit(options->time_limit, DEFAULT_SECONDS, &session->seconds))
        return lab_usage_error("check", LAB_TIME_LIMIT_USAGE);
    if (options->repeat &&
        (!lab_parse_integer(options->repeat, &session->repeat) || session->repeat < 1 || session->repeat > REPEAT_MAX))
        return lab_option_error("check", "--repeat", options->repeat, "use a whole number from 1 to 1000000");
    if (options->tolerance && (!lab_parse_number(options->tolerance, &session->tolerance) ||
                               !(session->tolerance >= 0 && session->tolerance < 1e6)))
        return lab_option_error("check", "--tolerance", options->tolerance, "use a number of at least 0, such as 1e-4");
    return LAB_EXIT_SUCCESS;
}

/* ---- Files ---- */

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length > tail && strcmp(text + length - tail, ending) == 0;
}

static bool read_file(lab_check_session *session, bool has_architecture, char *why, size_t capacity)
{
    char reason[512];
    session->is_ptx = ends_with(session->path, ".ptx");
    if (!session->is_ptx && !ends_with(session->path, ".cu") && !ends_with(session->path, ".cuh"))
        return lab_set_reason(why, capacity, "%s is not a .cu or .ptx file", session->path);
    if (session->is_ptx && session->source_options.count > 0)
        return lab_set_reason(why, capacity, "%s is already compiled; -D and -I apply to CUDA files only",
                              session->path);
    session->architecture = session->source_options.architecture;
    if (session->is_ptx && !has_architecture)
        session->architecture = 0; /* the target of the file */
    session->text = lab_file_read(session->path, session->is_ptx ? LAB_TEXT_BYTES_MAX : LAB_KERNEL_BYTES_MAX,
                                  &session->bytes, reason, sizeof reason);
    if (!session->text)
        return lab_set_reason(why, capacity, "%s: %s", session->path, reason);
    if (!session->is_ptx && !lab_cuda_outline_read(session->text, session->bytes, &session->outline))
        return lab_set_reason(why, capacity, "out of memory");
    return true;
}

/* Returns an array for a pointer. */
static const char *suggest_array(const lab_cuda_outline *outline, const lab_cuda_parameter *parameter)
{
    static const char *const arrays[] = {"f64[1024]", "f32[1024]", "f16[1024]", "bf16[1024]", "i64[1024]", "u64[1024]",
                                         "i32[1024]", "u32[1024]", "i16[1024]", "u16[1024]",  "i8[1024]",  "u8[1024]"};
    lab_element_type type = lab_check_pointed_type(&outline->tokens, parameter->type);
    return arrays[type == LAB_ELEMENT_TYPE_COUNT ? LAB_ELEMENT_f32 : type];
}

/* Returns a kernel's launch as an example for the message that it is missing. */
static void suggest_launch(const lab_check_session *session, char *text, size_t capacity)
{
    const lab_cuda_outline *outline = &session->outline;
    snprintf(text, capacity, session->is_ptx ? "grid=4 block=256 p0=f32[1024] p1=1024" : "grid=4 block=256");
    for (int i = 0; i < outline->function_count; i++) {
        const lab_cuda_function *function = &outline->functions[i];
        if (function->kind != LAB_FUNCTION_KERNEL || function->body.last < function->body.first)
            continue;
        rungi_string_view own = lab_cuda_name(outline, function->name);
        snprintf(text, capacity, "kernel=%s%.*s grid=4 block=256", function->scope, LAB_VIEW(own));
        for (int p = 0; p < function->parameter_count; p++) {
            rungi_string_view type = lab_tokens_text(&outline->tokens, function->parameters[p].type.first,
                                                     function->parameters[p].type.last);
            rungi_string_view name = lab_cuda_name(outline, function->parameters[p].name);
            lab_append(text, capacity, " %.*s=%s", LAB_VIEW(name),
                       memchr(type.text, '*', type.length) ? suggest_array(outline, &function->parameters[p]) : "1024");
        }
        return;
    }
}

static bool read_lines(lab_check_session *session, const char *launch, char *why, size_t capacity)
{
    char example[512], kernels[1024], place[64];
    bool good = launch ? lab_launch_lines_read(launch, &session->lines, why, capacity)
                       : lab_launch_lines_read_comments(session->text, session->bytes, &session->lines, why, capacity);
    if (!good)
        return false;
    suggest_launch(session, example, sizeof example);
    if (session->lines.count == 0) {
        lab_check_list_kernels(&session->outline, kernels, sizeof kernels);
        return lab_set_reason(why, capacity,
                              "say how to launch the kernel: --launch '%s', or a comment line // rung: %s%s%s", example,
                              example, *kernels ? "\nThe kernels of the file are: " : "", kernels);
    }
    for (int i = 0; i < session->lines.count; i++) {
        const lab_launch_line *line = &session->lines.items[i];
        if (line->roles.length > 0)
            return lab_set_reason(why, capacity,
                                  "%s: args= is for rung verify and rung explain; rung check takes every argument as "
                                  "NAME=VALUE",
                                  lab_check_place(session, line, place, sizeof place));
        const char *missing = line->grid.length == 0 ? "grid" : line->block.length == 0 ? "block" : NULL;
        if (missing)
            return lab_set_reason(why, capacity, "%s: %s=X[,Y[,Z]] is missing, for example %s=%s",
                                  lab_check_place(session, line, place, sizeof place), missing, missing,
                                  line->grid.length == 0 ? "4 or grid=(n+255)/256" : "256");
    }
    session->launches = calloc((size_t)session->lines.count, sizeof *session->launches);
    return session->launches || lab_set_reason(why, capacity, "out of memory");
}

/* ---- Running ---- */

static void close_session(lab_check_session *session)
{
    rung_emulator_destroy(session->emulator);
    for (int i = 0; session->launches && i < session->lines.count; i++)
        free(session->launches[i].name);
    free(session->launches);
    free(session->lines.items);
    lab_cuda_code_free(&session->code);
    lab_cuda_outline_free(&session->outline);
    lab_source_options_free(&session->source_options);
    free(session->text);
    free(session);
}

static bool run_once(const lab_options *options, lab_check_session *session, char *why, size_t capacity)
{
    return read_file(session, options->arch != NULL, why, capacity) &&
           read_lines(session, options->launch, why, capacity) &&
           lab_check_read_expectations(session, options->expect, why, capacity) &&
           (session->is_ptx ? lab_check_open_ptx : lab_check_open_cuda)(session, why, capacity) &&
           lab_check_plan(session, why, capacity) && lab_check_run_launches(session, why, capacity);
}

/* Replaces a trap without a line by its cause. The compiler replaces what it knows to be invalid, such as a store to constant
 * memory, by a trap; without optimisation, it does not. */
static void find_cause(const lab_options *options, lab_check_session *session)
{
    char why[4096] = "";
    lab_check_session *second = calloc(1, sizeof *second);
    FILE *nowhere = fopen("/dev/null", "we"); /* printf() of the kernel has printed already */
    if (second && nowhere && read_options(options, second) == LAB_EXIT_SUCCESS) {
        second->output = nowhere;
        second->is_unoptimised = true;
        if (run_once(options, second, why, sizeof why) && second->findings.count > 0 && !second->has_hidden_cause)
            session->findings = second->findings; /* with the same path */
    }
    if (nowhere)
        (void)fclose(nowhere);
    if (second)
        close_session(second);
}

static bool run(const lab_options *options, lab_check_session *session, char *why, size_t capacity)
{
    if (!run_once(options, session, why, capacity))
        return false;
    if (session->has_hidden_cause && !lab_is_interrupted())
        find_cause(options, session);
    return true;
}

static int exit_code(const lab_check_session *session)
{
    bool is_wrong = session->findings.count > 0 || *session->stopped;
    for (int i = 0; i < session->expectation_count; i++)
        is_wrong = is_wrong || session->expectations[i].wrong > 0;
    return is_wrong ? LAB_EXIT_WRONG : LAB_EXIT_SUCCESS;
}

int lab_check_run(const lab_options *options)
{
    char why[4096] = "";
    lab_check_session *session = calloc(1, sizeof *session);
    if (!session)
        return lab_fail(LAB_EXIT_USAGE, "out of memory");
    int code = read_options(options, session);
    if (code == LAB_EXIT_SUCCESS) {
        lab_interrupt_watch();
        if (!run(options, session, why, sizeof why))
            code = lab_is_interrupted() ? LAB_EXIT_INTERRUPTED : lab_fail(LAB_EXIT_USAGE, "%s", why);
        else if (lab_is_interrupted()) {
            lab_interrupt_report("nothing was printed; run the command again");
            code = LAB_EXIT_INTERRUPTED;
        } else {
            (options->json ? lab_check_write_json : lab_check_print)(session);
            code = exit_code(session);
            if (options->sarif && !lab_sarif_save(&session->findings, options->sarif, why, sizeof why))
                code = lab_fail(LAB_EXIT_USAGE, "%s", why);
        }
    }
    close_session(session);
    return code;
}
