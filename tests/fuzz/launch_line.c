/* SPDX-License-Identifier: Apache-2.0 */
/* launch_line.c - any bytes as the value of --launch: a launch that is accepted has arguments that point into the text, and its
 * expressions have values or are refused. */
#include "byte_reader.h"

#include "check/integer_expression.h"
#include "check/launch_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *start;
static size_t length;

static void must_be_inside(rungi_string_view view)
{
    MUST(view.length == 0 || (view.text >= start && view.text + view.length <= start + length));
}

static void check_line(const lab_launch_line *line)
{
    const rungi_string_view views[] = {line->kernel, line->templates, line->grid,  line->block,
                                       line->shared, line->cluster,   line->roles, line->cooperative};
    lab_integer_name n = {rungi_string_view_of("n", 1), 1000};
    char why[256];
    int64_t value;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        must_be_inside(views[i]);
    MUST(line->argument_count <= LAB_LINE_ARGUMENTS_MAX);
    for (int i = 0; i < line->argument_count; i++) {
        const lab_launch_argument *argument = &line->arguments[i];
        must_be_inside(argument->name);
        must_be_inside(argument->value);
        must_be_inside(argument->count);
        must_be_inside(argument->file);
        MUST(argument->name.length > 0);
        lab_integer_evaluate(argument->is_array ? argument->count : argument->value, &n, 1, &value, why, sizeof why);
    }
    lab_integer_evaluate(line->grid, &n, 1, &value, why, sizeof why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lab_launch_lines lines = {0};
    char why[512] = "", *text = malloc(size + 1);
    MUST(text);
    memcpy(text, data, size);
    text[size] = '\0';
    start = text;
    length = strlen(text);
    if (lab_launch_lines_read(text, &lines, why, sizeof why)) {
        MUST(lines.count <= LAB_LINES_MAX);
        for (int i = 0; i < lines.count; i++)
            check_line(&lines.items[i]);
    } else {
        MUST(strlen(why) > 5);
    }
    free(lines.items);
    free(text);
    return 0;
}
