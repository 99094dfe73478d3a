/* SPDX-License-Identifier: Apache-2.0 */
/* check_program.c - see check_program.h. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "check/check_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VIEW(view) (int)(view).length, (view).text

/* Template parameters have long names, because files define macros such as R and T. The text has no "(...) {" outside of device functions, because the front end may blank functions of the host. */
static const char helpers[] =
    "template <class... Rung_p> struct rung_list {};\n"
    "template <int Rung_i, class Rung_l> struct rung_parameter;\n"
    "template <class Rung_p, class... Rung_r> struct rung_parameter<0, rung_list<Rung_p, Rung_r...>> { typedef Rung_p type; };\n"
    "template <int Rung_i, class Rung_p, class... Rung_r> struct rung_parameter<Rung_i, rung_list<Rung_p, Rung_r...>>\n"
    "    : rung_parameter<Rung_i - 1, rung_list<Rung_r...>> {};\n"
    "template <class... Rung_p> __device__ rung_list<Rung_p...> rung_parameters(void (*)(Rung_p...));\n"
    "template <class Rung_t> struct rung_kind { enum { value = 0 }; };\n"
    "template <class Rung_t> struct rung_kind<const Rung_t> : rung_kind<Rung_t> {};\n"
    "template <class Rung_t> struct rung_kind<volatile Rung_t> : rung_kind<Rung_t> {};\n"
    "template <class Rung_t> struct rung_kind<const volatile Rung_t> : rung_kind<Rung_t> {};\n"
    "template <> struct rung_kind<float> { enum { value = 1 }; };\n"
    "template <> struct rung_kind<double> { enum { value = 1 }; };\n"
    "template <> struct rung_kind<short> { enum { value = 2 }; };\n"
    "template <> struct rung_kind<unsigned short> { enum { value = 0 }; };\n" /* often the bits of a half */
    "template <> struct rung_kind<int> { enum { value = 2 }; };\n"
    "template <> struct rung_kind<unsigned> { enum { value = 0 }; };\n" /* often packed data */
    "template <> struct rung_kind<long> { enum { value = 2 }; };\n"
    "template <> struct rung_kind<unsigned long> { enum { value = 2 }; };\n"
    "template <> struct rung_kind<long long> { enum { value = 2 }; };\n"
    "template <> struct rung_kind<unsigned long long> { enum { value = 2 }; };\n"
    "template <class Rung_t> struct rung_integer { enum { value = 0 }; };\n"
    "template <> struct rung_integer<char> { enum { value = 1 }; };\n"
    "template <> struct rung_integer<signed char> { enum { value = 1 }; };\n"
    "template <> struct rung_integer<unsigned char> { enum { value = 1 }; };\n"
    "template <> struct rung_integer<short> { enum { value = 1 }; };\n"
    "template <> struct rung_integer<unsigned short> { enum { value = 1 }; };\n"
    "template <> struct rung_integer<int> { enum { value = 1 }; };\n"
    "template <> struct rung_integer<unsigned> { enum { value = 1 }; };\n"
    "template <> struct rung_integer<long> { enum { value = 1 }; };\n"
    "template <> struct rung_integer<unsigned long> { enum { value = 1 }; };\n"
    "template <> struct rung_integer<long long> { enum { value = 1 }; };\n"
    "template <> struct rung_integer<unsigned long long> { enum { value = 1 }; };\n"
    "template <bool Rung_b> struct rung_cut {\n"
    "  template <class Rung_t, class Rung_v> static __device__ int of(const Rung_v &) { return 0; }\n"
    "};\n"
    "template <> struct rung_cut<true> {\n"
    "  template <class Rung_t, class Rung_v> static __device__ int of(const Rung_v &value) { return (Rung_v)(Rung_t)value != value; }\n"
    "};\n"
    "template <class Rung_t, class Rung_v> __device__ int rung_is_cut(const Rung_v &value) {\n"
    "  return rung_cut<rung_integer<Rung_t>::value && rung_kind<Rung_v>::value == 1>::template of<Rung_t>(value);\n"
    "}\n"
    "template <class Rung_t> struct rung_size { enum { value = sizeof(Rung_t) }; };\n"
    "template <> struct rung_size<void> { enum { value = 0 }; };\n"
    "template <> struct rung_size<const void> { enum { value = 0 }; };\n"
    "template <class Rung_t> struct rung_pointed { enum { bytes = -1, kind = 0 }; };\n"
    "template <class Rung_t> struct rung_pointed<Rung_t *> { enum { bytes = rung_size<Rung_t>::value, kind = rung_kind<Rung_t>::value }; };\n"
    "template <class Rung_t> struct rung_pointed<Rung_t *const> : rung_pointed<Rung_t *> {};\n"
    "template <class Rung_t> struct rung_pointed<Rung_t *__restrict__> : rung_pointed<Rung_t *> {};\n"
    "template <class Rung_t> __device__ void rung_store(unsigned char *to, const Rung_t &value) {\n"
    "  static_assert(sizeof(Rung_t) <= 1024, \"a parameter has more than 1024 bytes\");\n"
    "  for (unsigned long long i = 0; i < sizeof(Rung_t); i++) to[i] = reinterpret_cast<const unsigned char *>(&value)[i];\n"
    "}\n";

/* A program that is being written. */
typedef struct program {
    const lab_cuda_outline *outline;
    const lab_check_program_launch *launch;
    const lab_cuda_function *kernel;
    FILE *out;
} program_t;

/* ---- Templates ---- */

/* Template parameters of the kernel may be used in expressions. */
static void write_templates(const program_t *program)
{
    lab_tokens tokens = {.count = 0};
    lab_token_range parts[LAB_CUDA_PARAMETERS_MAX];
    rungi_string_view given = program->launch->line->templates;
    bool is_read = given.length > 0 && lab_tokens_read(given.text, given.length, &tokens);
    int count = is_read
                    ? lab_cuda_split(&tokens, (lab_token_range){0, tokens.count - 1}, parts, LAB_CUDA_PARAMETERS_MAX)
                    : 0;
    for (int i = 0; i < program->kernel->template_count; i++) {
        const lab_cuda_parameter *parameter = &program->kernel->template_parameters[i];
        const lab_tokens *own = &program->outline->tokens;
        rungi_string_view name = lab_cuda_name(program->outline, parameter->name);
        rungi_string_view type = lab_tokens_text(own, parameter->type.first, parameter->type.last);
        rungi_string_view value = i < count ? lab_tokens_text(&tokens, parts[i].first, parts[i].last)
                                            : lab_tokens_text(own, parameter->preset.first, parameter->preset.last);
        bool is_type = lab_token_is(own, parameter->type.first, "typename") ||
                       lab_token_is(own, parameter->type.first, "class");
        if (name.length == 0 || value.length == 0 || rungi_string_views_equal(name, value))
            continue;
        if (is_type)
            fprintf(program->out, "using %.*s = %.*s;\n", VIEW(name), VIEW(value));
        else
            fprintf(program->out, "constexpr %.*s %.*s = %.*s;\n", VIEW(type), VIEW(name), VIEW(value));
    }
    lab_tokens_free(&tokens);
}

/* ---- Arguments ---- */

/* Splits "A.width" into the parameter and the field, which is empty for a whole parameter. */
static rungi_string_view split_field(rungi_string_view name, rungi_string_view *field)
{
    rungi_string_view parameter = rungi_string_view_split(&name, '.');
    *field = name.text ? name : rungi_string_view_of("", 0);
    return parameter;
}

/* Returns whether an earlier argument has a field of the same parameter. */
static bool is_later_field(const program_t *program, int argument)
{
    for (int i = 0; i < argument; i++)
        if (program->launch->parameters[i] == program->launch->parameters[argument])
            return true;
    return false;
}

/* Returns whether the text of a value may be a number with a fraction. */
static bool has_fraction(rungi_string_view value)
{
    return value.length > 0 && value.text[0] != '{' && memchr(value.text, '.', value.length) != NULL;
}

/* Declares the parameter of a scalar or of a field, and sets its value. */
static void write_value(const program_t *program, int index)
{
    const lab_launch_argument *argument = &program->launch->line->arguments[index];
    rungi_string_view field, name = split_field(argument->name, &field);
    int parameter = program->launch->parameters[index];
    if (parameter < 0)
        return;
    if (field.length > 0 && !is_later_field(program, index))
        fprintf(program->out, "rung_host::rung_parameter<%d, rung_list>::type %.*s = {};\n", parameter, VIEW(name));
    if (program->launch->is_pointer[index])
        return;
    if (field.length > 0)
        fprintf(program->out, "%.*s = %.*s;\n", VIEW(argument->name), VIEW(argument->value));
    else
        fprintf(program->out, "rung_host::rung_parameter<%d, rung_list>::type %.*s = %.*s;\n", parameter, VIEW(name),
                VIEW(argument->value));
    if (has_fraction(argument->value))
        fprintf(program->out, "rung_results[%d] = rung_host::rung_is_cut<decltype(%.*s)>(%.*s);\n",
                LAB_CHECK_RESULT_ARGUMENTS + index * LAB_CHECK_ARGUMENT_RESULTS + LAB_CHECK_ARGUMENT_IS_CUT,
                VIEW(argument->name), VIEW(argument->value));
    fprintf(program->out, "rung_host::rung_store(rung_values + %d, %.*s);\n", parameter * LAB_CHECK_VALUE_BYTES,
            VIEW(name));
}

/* Writes what an array needs: its count, and what the parameter points to. */
static void write_array(const program_t *program, int index)
{
    const lab_launch_argument *argument = &program->launch->line->arguments[index];
    rungi_string_view field;
    int result = LAB_CHECK_RESULT_ARGUMENTS + index * LAB_CHECK_ARGUMENT_RESULTS;
    int parameter = program->launch->parameters[index];
    split_field(argument->name, &field);
    if (argument->is_array)
        fprintf(program->out, "rung_results[%d] = (long long)(%.*s);\n", result + LAB_CHECK_ARGUMENT_COUNT,
                VIEW(argument->count));
    if (parameter < 0)
        return;
    fprintf(program->out, "{ typedef rung_host::rung_parameter<%d, rung_list>::type rung_type;\n", parameter);
    if (field.length > 0)
        fprintf(program->out,
                "typedef decltype(rung_type::%.*s) rung_field;\n"
                "rung_results[%d] = (long long)&((rung_type *)0)->%.*s;\n",
                VIEW(field), result + LAB_CHECK_ARGUMENT_OFFSET, VIEW(field));
    const char *type = field.length > 0 ? "rung_field" : "rung_type";
    fprintf(program->out,
            "rung_results[%d] = rung_host::rung_pointed<%s>::bytes;\n"
            "rung_results[%d] = rung_host::rung_pointed<%s>::kind; }\n",
            result + LAB_CHECK_ARGUMENT_BYTES, type, result + LAB_CHECK_ARGUMENT_KIND, type);
}

/* ---- Launches ---- */

static void write_dimensions(const program_t *program, rungi_string_view text, const char *name, int result)
{
    if (text.length == 0)
        return;
    fprintf(program->out,
            "const dim3 rung_%s = dim3(%.*s);\n"
            "rung_results[%d] = rung_%s.x; rung_results[%d] = rung_%s.y; rung_results[%d] = rung_%s.z;\n",
            name, VIEW(text), result, name, result + 1, name, result + 2, name);
}

static void write_launch(program_t *program, int index)
{
    const lab_launch_line *line = program->launch->line;
    size_t scope = strlen(program->kernel->scope);
    fprintf(program->out,
            "extern \"C\" __global__ void rung_check_launch_%d(long long *rung_results, unsigned char *rung_values) {\n"
            "typedef decltype(rung_host::rung_parameters((decltype(%s)%s)0)) rung_list;\n",
            index, program->launch->expression, program->launch->is_cast ? "" : " *");
    if (scope > 2)
        fprintf(program->out, "using namespace %.*s;\n", (int)scope - 2, program->kernel->scope);
    write_templates(program);
    for (int i = 0; i < line->argument_count; i++)
        write_value(program, i);
    for (int i = 0; i < line->argument_count; i++)
        if (program->launch->is_pointer[i])
            write_array(program, i);
    write_dimensions(program, line->block, "block", LAB_CHECK_RESULT_BLOCK);
    write_dimensions(program, line->grid, "grid", LAB_CHECK_RESULT_GRID);
    write_dimensions(program, line->cluster, "cluster", LAB_CHECK_RESULT_CLUSTER);
    if (line->shared.length > 0)
        fprintf(program->out, "rung_results[%d] = (long long)(%.*s);\n", LAB_CHECK_RESULT_SHARED, VIEW(line->shared));
    fputs("}\n", program->out);
}

char *lab_check_program_write(const lab_cuda_outline *outline, const lab_check_program_launch *launches, int count)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    fprintf(out, "\n#line 1 \"launch\"\nnamespace rung_host {\n%s}\n", helpers);
    for (int i = 0; i < count; i++) {
        program_t program = {outline, &launches[i], &outline->functions[launches[i].kernel], out};
        fprintf(out, "#line 1 \"launch %d\"\n", i + 1);
        write_launch(&program, i);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
