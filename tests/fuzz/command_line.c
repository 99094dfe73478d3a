/* SPDX-License-Identifier: Apache-2.0 */
/* command_line.c - any bytes as a command line of rung, without the work of the command: one argument per line. Options that are
 * accepted are the same after they were written as arguments and parsed again; and the readers of sizes, types, epilogues and
 * parameters accept a value or refuse it. */
#define _POSIX_C_SOURCE 200809L
#include <getopt.h>
#include <setjmp.h>

#include "byte_reader.h"
#include "cli/options.h"
#include "target/epilogue.h"
#include "target/parameters.h"
#include "target/sweep.h"
#include "target/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
_Noreturn void fuzz_exit(int code);

enum { ARGUMENTS_MAX = 40 };

static jmp_buf help_was_printed;

/* options.c is compiled with this function instead of exit(), which --help calls. */
_Noreturn void fuzz_exit(int code)
{
    longjmp(help_was_printed, code + 1);
}

static int split_lines(char *text, char *arguments[ARGUMENTS_MAX + 1])
{
    int count = 2;
    arguments[0] = arguments[1] = "rung";
    for (char *line = text; line && count < ARGUMENTS_MAX; count++) {
        char *end = strchr(line, '\n');
        arguments[count] = line;
        line = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
    }
    arguments[count] = NULL;
    return count;
}

/* The command parses once; getopt() must forget the letters of another call that ended early. */
static void reset_getopt(void)
{
    char *arguments[] = {"rung", NULL};
    optind = 0;
    getopt(1, arguments, "");
}

static void parse_again(int command, const lab_options *options)
{
    char *list[3 + ARGUMENTS_MAX] = {"rung", "rung"};
    lab_options again;
    int count = 2 + lab_options_to_arguments(options, NULL, list + 2, ARGUMENTS_MAX);
    list[count] = NULL;
    reset_getopt();
    MUST(lab_options_parse(command, count, list, &again));
    const lab_option *option;
    for (int i = 0; (option = lab_option_at(i)); i++) {
        const char *x = lab_option_value(options, option->name), *y = lab_option_value(&again, option->name);
        MUST(!x == !y && (!x || strcmp(x, y) == 0));
    }
    MUST(options->repeated_count == again.repeated_count);
    for (int i = 2; i < count; i++)
        free(list[i]);
}

static void read_types(const lab_options *options)
{
    lab_dtype dtypes[LAB_DTYPES_MAX], dtype;
    rung_compute compute;
    int count = 0;
    const char *wrong = lab_parse_mixed_dtypes(options, &compute, dtypes, &count);
    MUST(wrong ? strlen(wrong) > 5 : count > 0 && count <= LAB_DTYPES_MAX);
    for (int i = 0; !wrong && i < count; i++)
        MUST(dtypes[i].name && rung_accumulator_type(dtypes[i].product.in, lab_type_pair_b(dtypes[i].product),
                                                     dtypes[i].product.out) != RUNG_TYPE_NONE);
    wrong = lab_parse_dtypes(options, &compute, dtypes, &count);
    MUST(!wrong || strlen(wrong) > 5);
    wrong = lab_parse_single_dtype(options, LAB_SEVERAL_DTYPES_USAGE, &dtype);
    MUST(!wrong || strlen(wrong) > 5);
}

static void read_value(const char *text)
{
    static char texts[LAB_SWEEP_MAX][LAB_PARAMETERS_BYTES];
    int64_t sizes[LAB_SWEEP_MAX], extents[3], bytes;
    lab_shape shapes[LAB_SWEEP_MAX];
    lab_epilogue epilogue;
    rung_kernel *kernel;
    char again[128], error[512];
    double number;
    int architecture, count = lab_sweep_sizes(text, sizes);
    MUST(count <= LAB_SWEEP_MAX);
    for (int i = 0; i < count; i++)
        MUST(sizes[i] > 0);
    count = lab_sweep_shapes(text, shapes);
    for (int i = 0; i < count; i++)
        MUST(shapes[i].m > 0 && shapes[i].n > 0 && shapes[i].k > 0);
    MUST(!lab_parse_bytes(text, &bytes) || bytes > 0);
    MUST(!lab_parse_architecture(text, &architecture) || (architecture >= 50 && architecture <= 121));
    lab_parse_extents(text, 3, extents);
    lab_parse_number(text, &number);
    if (lab_epilogue_parse(text, &epilogue)) {
        lab_epilogue parsed;
        lab_epilogue_format(epilogue, again, sizeof again);
        MUST(lab_epilogue_parse(again, &parsed) && parsed.bias == epilogue.bias &&
             parsed.activation == epilogue.activation && parsed.residual == epilogue.residual);
    }
    lab_list_has_file(text);
    if (lab_parameters_length_error(text))
        return;
    MUST(rung_kernel_find(NULL, "cpu", "10", &kernel) == RUNG_OK);
    MUST(lab_sweep_parameters(kernel, text, texts) <= LAB_SWEEP_MAX);
    const rung_kernel *kernels[] = {kernel, NULL};
    if (!lab_sweep_check(kernels, 2, text, error, sizeof error))
        MUST(strlen(error) > 5);
    if (!lab_parameters_check(kernels, 2, text, error, sizeof error))
        MUST(strlen(error) > 5);
}

static void run(int command, int count, char **arguments)
{
    lab_options options;
    if (setjmp(help_was_printed))
        return;
    reset_getopt();
    if (!lab_options_parse(command, count, arguments, &options))
        return;
    if (options.repeated_count + count < ARGUMENTS_MAX)
        parse_again(command, &options);
    read_types(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *quiet;
    char *arguments[ARGUMENTS_MAX + 1], *text = malloc(size + 1);
    if (!quiet) {
        quiet = freopen("/dev/null", "w", stdout);
        MUST(quiet && text);
    }
    memcpy(text, data + (size > 0), size > 0 ? size - 1 : 0);
    text[size > 0 ? size - 1 : 0] = '\0';
    int command = size > 0 ? data[0] % LAB_COMMAND_COUNT : 0;
    int count = split_lines(text, arguments);
    char *copy[ARGUMENTS_MAX + 1];
    memcpy(copy, arguments, sizeof copy);
    run(command, count, copy); /* which sorts them */
    for (int i = 2; i < count; i++)
        read_value(arguments[i]);
    free(text);
    return 0;
}
