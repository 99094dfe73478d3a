/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c - rung convert: reads the options, converts a file of matrices or weights, and prints what was written. */
#include <stdio.h>
#include <string.h>

#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "common/text.h"
#include "convert/convert.h"
#include "io/json_writer.h"
#include "target/target.h"

/* ---- Options -------------------------------------------------------------------------------------------- */

/* Parses --to. The default of .npy files, which cannot hold blocks, is F32. */
static bool parse_type(const char *name, bool is_npy, rung_type *type)
{
    static const rung_type types[] = {RUNG_F32, RUNG_F16, RUNG_BF16, RUNG_Q8_0, RUNG_Q4_0};
    size_t count = is_npy ? 3 : sizeof types / sizeof *types;
    *type = RUNG_F32;
    if (!name)
        return is_npy;
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, rung_type_name(types[i])) == 0) {
            *type = types[i];
            return true;
        }
    return false;
}

static int read_options(const lab_options *options, lab_convert_request *request)
{
    if (!options->argument || options->argument2 || !options->output)
        return lab_usage_error("convert", "an input file and an output file are required: rung convert IN -o OUT.gguf "
                                          "--to q4_0");
    bool is_npy = lab_path_ends_in(options->output, ".npy");
    if (!is_npy && !lab_path_ends_in(options->output, ".gguf"))
        return lab_option_error("convert", "--output", options->output, "the name must end in .gguf or .npy");
    *request = (lab_convert_request){.input = options->argument, .output = options->output, .tensor = options->tensor};
    if (!parse_type(options->to, is_npy, &request->type))
        return options->to ? lab_option_error("convert", "--to", options->to,
                                              is_npy ? "an .npy file takes f32, f16 or bf16"
                                                     : "valid types are q8_0, q4_0, f32, f16 and bf16")
                           : lab_usage_error("convert", "--to TYPE is required for a .gguf file: q8_0, q4_0, f32, f16 "
                                                        "or bf16");
    return LAB_EXIT_SUCCESS;
}

/* ---- Output --------------------------------------------------------------------------------------------- */

static void format_shape(const lab_converted_tensor *tensor, char *text, size_t capacity)
{
    *text = '\0';
    for (int64_t i = 0; i < tensor->dimension_count; i++)
        lab_append(text, capacity, "%s%lld", i > 0 ? " x " : "", (long long)tensor->dimensions[i]);
    if (tensor->dimension_count == 0)
        lab_append(text, capacity, "scalar");
}

static void print_text(const char *path, const lab_conversion *conversion)
{
    int64_t count = lab_conversion_count(conversion);
    printf("%s: %lld tensor%s\n", path, (long long)count, count == 1 ? "" : "s");
    for (int64_t i = 0; i < count; i++) {
        const lab_converted_tensor *tensor = lab_conversion_at(conversion, i);
        char shape[256];
        format_shape(tensor, shape, sizeof shape);
        printf("  %s: %s, %s to %s, %lld bytes, ", tensor->name, shape, rung_type_name(tensor->from),
               rung_type_name(tensor->to), (long long)tensor->bytes);
        if (tensor->error > 0)
            printf("largest relative error %.3g (bound %.3g)\n", tensor->error, tensor->bound);
        else
            printf("exact\n");
    }
}

static void print_json(const char *path, const lab_conversion *conversion)
{
    lab_json json = lab_json_open(stdout, "rung-convert/1");
    lab_json_string(&json, "path", path);
    lab_json_begin(&json, "tensors", '[');
    for (int64_t i = 0; i < lab_conversion_count(conversion); i++) {
        const lab_converted_tensor *tensor = lab_conversion_at(conversion, i);
        lab_json_begin(&json, NULL, '{');
        lab_json_string(&json, "name", tensor->name);
        lab_json_begin(&json, "shape", '[');
        for (int64_t d = 0; d < tensor->dimension_count; d++)
            lab_json_integer(&json, NULL, tensor->dimensions[d]);
        lab_json_end(&json, ']');
        LAB_JSON_STRINGS(&json, {"from", rung_type_name(tensor->from)}, {"to", rung_type_name(tensor->to)});
        lab_json_integer(&json, "bytes", tensor->bytes);
        lab_json_number(&json, "error", tensor->error);
        lab_json_number(&json, "bound", tensor->bound);
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

int lab_command_convert(const lab_options *options)
{
    lab_convert_request request;
    lab_conversion *conversion = NULL;
    int code = read_options(options, &request);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    lab_interrupt_watch();
    lab_progress_begin(options->quiet != NULL);
    rung_status status = lab_convert(&request, &conversion);
    lab_progress_end();
    if (status == RUNG_STATUS_CANCELLED)
        lab_interrupt_report("the output file was not written; run the same command again");
    else if (status != RUNG_OK)
        lab_fail(LAB_EXIT_USAGE, "%s", rung_error_text());
    else if (options->json)
        print_json(request.output, conversion);
    else
        print_text(request.output, conversion);
    lab_conversion_destroy(conversion);
    return lab_exit_code(status);
}
