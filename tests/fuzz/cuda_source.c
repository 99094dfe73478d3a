/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_source.c - any bytes as a CUDA C++ file: tokens, outline, includes, the text for the device, launches with the program that
 * evaluates them, and its comment lines "// rung:". Every token is part of the file. */
#include "byte_reader.h"

#include "check/launch_line.h"
#include "cuda_source/cuda_outline.h"
#include "cuda_source/device_view.h"
#include "cuda_source/include_scan.h"
#include "cuda_source/launch_program.h"
#include "cuda_source/public_view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_range(const lab_tokens *tokens, lab_token_range range)
{
    if (range.last >= range.first)
        MUST(range.first >= 0 && range.last < tokens->count);
}

static void write_launch(const lab_cuda_outline *outline, int kernel, const lab_cuda_launch *launch)
{
    lab_launch_source source = {.kernel = kernel, .launch = launch};
    lab_launch_program program;
    if (!launch) {
        source.grid = "(n + 255) / 256";
        source.block = "256";
    }
    for (int evaluates = 0; evaluates < 2; evaluates++)
        if (lab_launch_program_write(outline, &source, evaluates, &program)) {
            MUST(program.text && program.name);
            lab_launch_program_free(&program);
        }
}

static void check_outline(const char *text, size_t size)
{
    lab_cuda_outline outline;
    lab_cuda_field fields[LAB_CUDA_FIELDS_MAX];
    size_t bytes;
    MUST(lab_cuda_outline_read(text, size, &outline));
    for (int i = 0; i < outline.tokens.count; i++) {
        const lab_token *token = &outline.tokens.items[i];
        MUST(token->text.text >= text && token->text.text + token->text.length <= text + size);
        MUST(token->match < outline.tokens.count);
    }
    for (int i = 0; i < outline.function_count; i++) {
        check_range(&outline.tokens, outline.functions[i].whole);
        check_range(&outline.tokens, outline.functions[i].body);
        MUST(outline.functions[i].parameter_count <= LAB_CUDA_PARAMETERS_MAX);
    }
    for (int i = 0; i < outline.struct_count; i++)
        MUST(lab_cuda_struct_fields(&outline, &outline.structs[i], fields) <= LAB_CUDA_FIELDS_MAX);
    for (int i = 0; i < outline.launch_count && i < 4; i++) {
        int kernel = lab_cuda_launched_kernel(&outline, &outline.launches[i]);
        check_range(&outline.tokens, outline.launches[i].kernel);
        MUST(kernel < outline.function_count);
        if (kernel >= 0)
            write_launch(&outline, kernel, &outline.launches[i]);
    }
    for (int i = 0; i < outline.function_count && i < 4; i++)
        if (outline.functions[i].kind == LAB_FUNCTION_KERNEL) {
            write_launch(&outline, i, NULL);
            char *view = lab_public_view(&outline, &outline.functions[i], rungi_string_view_of(text, size), "int end;",
                                         &bytes);
            MUST(view && strlen(view) <= bytes);
            free(view);
        }
    lab_cuda_outline_free(&outline);
}

static void check_views(const char *text, size_t size)
{
    for (int helpers = 0; helpers < 2; helpers++) {
        char *view = lab_device_view(text, size, helpers);
        MUST(view);
        for (size_t i = 0; i < size; i++)
            MUST((view[i] == '\n') == (text[i] == '\n')); /* line numbers are unchanged */
        free(view);
    }
}

static void check_includes(const char *text, size_t size)
{
    static const char *const folders[] = {"/nonexistent/rung-fuzz", NULL}, *const none[] = {NULL};
    lab_include_places places = {folders, none};
    lab_include_list list = {0};
    lab_includes_scan(text, size, &places, &list);
    MUST(!list.out_of_memory);
    for (int i = 0; i < list.count; i++)
        MUST(list.items[i].name);
    lab_includes_free(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lab_launch_lines lines = {0};
    char why[512] = "", *text = malloc(size + 1);
    MUST(text);
    memcpy(text, data, size);
    text[size] = '\0';
    check_outline(text, size);
    if (!memchr(text, '\0', size))
        check_views(text, size);
    check_includes(text, size);
    if (!lab_launch_lines_read_comments(text, size, &lines, why, sizeof why))
        MUST(strlen(why) > 5);
    free(lines.items);
    free(text);
    return 0;
}
