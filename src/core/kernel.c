/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c - creates kernels from a backend's ladder or from a caller's file, and parses and checks their parameters. */
#include "core/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cancellation.h"
#include "base/checked_arithmetic.h"
#include "base/text_list.h"
#include "base/try.h"
#include "core/enum_counts.h"
#include "core/kernel_expression.h"
#include "core/problem.h"

/* ---- Creating --------------------------------------------------------------------------- */

void rungi_kernel_free(rung_kernel *kernel)
{
    if (!kernel)
        return;
    rung_context *context = kernel->context;
    rungi_release(context, kernel->text);
    rungi_release(context, kernel->strings);
    rungi_release(context, kernel->parameters);
    rungi_release(context, kernel->constraints);
    rungi_release(context, kernel->presets);
    rungi_release(context, kernel->macros);
    rungi_release(context, kernel->choices);
    bool holds_context = kernel->holds_context;
    RUNGI_ASSERT(!holds_context || atomic_load(&kernel->references) <= 0);
    rungi_release(context, kernel);
    if (holds_context)
        rungi_context_release(context);
}

static void set_defaults(const rung_kernel *kernel, rungi_parameter_values *values)
{
    RUNGI_ASSERT(kernel->info.parameter_count <= RUNGI_PARAMETERS_MAX);
    memset(values, 0, sizeof *values);
    values->in_bytes = RUNGI_DEFAULT_IN_BYTES;
    for (int64_t i = 0; i < kernel->info.parameter_count; i++)
        values->value[i] = kernel->parameters[i].value;
}

static rung_status create_kernel(rung_context *context, const rungi_backend *backend, const char *file,
                                 const char *text, rung_kernel **out)
{
    *out = NULL;
    rung_kernel *kernel = rungi_allocate_zeroed(context, sizeof *kernel);
    TRY(rungi_allocated(kernel));
    kernel->context = context;
    kernel->backend = backend;
    kernel->info.backend = backend->name;
    kernel->info.number = -1;
    rung_status status = rungi_kernel_parse(kernel, file, text);
    if (status != RUNG_OK) {
        rungi_kernel_free(kernel);
        return status;
    }
    rungi_parameter_values defaults;
    set_defaults(kernel, &defaults);
    rungi_kernel_format_parameters(kernel, &defaults, kernel->defaults, sizeof kernel->defaults);
    kernel->info.defaults = kernel->defaults;
    kernel->info.name = kernel->info.file;
    *out = kernel;
    return RUNG_OK;
}

/* Sets types and abilities. The types are those that the file declares, or the usual ones, restricted to those of the
 * backend. */
static void set_abilities(rung_kernel *kernel, rungi_gemm_types_set backend_types, unsigned abilities)
{
    kernel->types = (kernel->types ? kernel->types : RUNGI_GEMM_TYPES_USUAL) & backend_types;
    kernel->info.abilities = abilities;
    if (kernel->backend->abilities)
        kernel->info.abilities |= kernel->backend->abilities(kernel);
    if (kernel->backend->needs_engine && kernel->backend->needs_engine(kernel))
        kernel->info.engine = kernel->backend->has_engine ? RUNG_ENGINE_HARDWARE : RUNG_ENGINE_EMULATED;
    if (kernel->info.engine == RUNG_ENGINE_EMULATED)
        kernel->types &= ~RUNGI_GEMM_TYPES_QUANTIZED; /* the emulation of engines has no such types */
}

/* Replaces a NULL context by the default one and finds the backend. */
static rung_status find_backend(rung_context **context, const char *name, int *index)
{
    *context = rungi_context_or_default(*context);
    TRY(rungi_allocated(*context));
    *index = rungi_backend_index(name);
    return *index < 0 ? RUNG_STATUS_NO_DEVICE : RUNG_OK;
}

rung_status rung_kernel_from_source(rung_context *context, const char *backend_name, const char *file, const char *text,
                                    rung_kernel **kernel)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(rungi_clear_result(kernel, backend_name && file && text,
                           "rung_kernel_from_source: backend, file, text or kernel is NULL"));
    int index;
    TRY(find_backend(&context, backend_name, &index));
    const rungi_backend *backend = rungi_backends[index];
    if (backend->source_types == 0)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "the %s backend does not compile kernel files; use opencl or cuda for %s", backend_name,
                          file);
    TRY(create_kernel(context, backend, file, text, kernel));
    set_abilities(*kernel, backend->source_types, 0);
    rungi_context_retain(context);
    (*kernel)->holds_context = true;
    atomic_init(&(*kernel)->references, 1);
    return RUNG_OK;
}

/* The reference count is the only member of a shared kernel that changes. */
static atomic_int *references_of(const rung_kernel *kernel)
{
    return &((rung_kernel *)(uintptr_t)kernel)->references;
}

const rung_kernel *rungi_kernel_retain(const rung_kernel *kernel)
{
    if (kernel->holds_context) {
        int before = atomic_fetch_add(references_of(kernel), 1);
        RUNGI_ASSERT(before > 0);
    }
    return kernel;
}

void rung_kernel_destroy(rung_kernel *kernel)
{
    RUNGI_DISABLE_CANCELLATION;
    if (kernel && kernel->holds_context && atomic_fetch_sub(references_of(kernel), 1) == 1)
        rungi_kernel_free(kernel);
}

const rung_kernel_info *rung_kernel_describe(const rung_kernel *kernel)
{
    return kernel ? &kernel->info : NULL;
}

const rung_parameter *rung_kernel_parameter(const rung_kernel *kernel, int64_t index)
{
    return kernel && index >= 0 && index < kernel->info.parameter_count ? &kernel->parameters[index] : NULL;
}

const rung_constraint *rung_kernel_constraint(const rung_kernel *kernel, int64_t index)
{
    return kernel && index >= 0 && index < kernel->info.constraint_count ? &kernel->constraints[index] : NULL;
}

const rung_preset *rung_kernel_preset(const rung_kernel *kernel, int64_t index)
{
    return kernel && index >= 0 && index < kernel->info.preset_count ? &kernel->presets[index] : NULL;
}

rung_status rungi_kernel_reject_backend(const rung_kernel *kernel)
{
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s uses instructions of sm_%da and runs only on sm_%d GPUs with CUDA",
                      kernel->info.name, kernel->info.only_sm, kernel->info.only_sm);
}

int rung_kernel_supports(const rung_kernel *kernel, rung_type a, rung_type b, rung_type c, int *min_sm)
{
    rungi_gemm_types types = rungi_gemm_types_of(a, b, c);
    bool is_supported = kernel && types != RUNGI_GEMM_TYPES_COUNT && (kernel->types & RUNGI_GEMM_TYPES_BIT(types)) != 0;
    if (min_sm)
        *min_sm = is_supported ? kernel->min_sm[types] : 0;
    return is_supported;
}

int rungi_kernel_min_sm(const rung_kernel *kernel, const rung_problem *problem)
{
    rungi_gemm_types types = rungi_gemm_types_of(problem->a.type, problem->b.type, problem->c.type);
    if (rungi_problem_has_quantized_a(problem) && types < RUNGI_GEMM_PLAIN_TYPES_COUNT)
        types = RUNGI_GEMM_FIRST_FLOAT_PAIR; /* with scales: as all other pairs of such types */
    return kernel->min_sm[types];
}

/* Returns the kernel's mode that is as precise as `requested` and as fast as possible: the least precise one. Without such
 * a mode, returns RUNGI_COMPUTE_COUNT. */
static int find_mode(const rung_kernel *kernel, rung_compute requested)
{
    int found = RUNGI_COMPUTE_COUNT;
    for (int i = 0; i < RUNGI_COMPUTE_COUNT; i++) {
        bool is_possible = kernel->computes & 1u << i && rungi_compute_is_as_precise((rung_compute)i, requested);
        if (is_possible &&
            (found == RUNGI_COMPUTE_COUNT || rungi_compute_is_as_precise((rung_compute)found, (rung_compute)i)))
            found = i;
    }
    return found;
}

int rung_kernel_computes(const rung_kernel *kernel, rung_compute requested, rung_compute *used)
{
    int mode = kernel ? find_mode(kernel, requested) : RUNGI_COMPUTE_COUNT;
    if (used)
        *used = mode < RUNGI_COMPUTE_COUNT ? (rung_compute)mode : RUNG_COMPUTE_STRICT;
    return mode < RUNGI_COMPUTE_COUNT;
}

rung_compute rungi_kernel_compute(const rung_kernel *kernel, const rung_problem *problem)
{
    rung_compute mode = RUNG_COMPUTE_STRICT;
    if (rungi_problem_has_modes(problem))
        rung_kernel_computes(kernel, problem->compute, &mode);
    return mode;
}

rung_compute rungi_kernel_most_precise(const rung_kernel *kernel)
{
    rung_compute found = kernel->info.compute;
    for (int i = 0; i < RUNGI_COMPUTE_COUNT; i++)
        if (kernel->computes & 1u << i && rungi_compute_is_as_precise((rung_compute)i, found))
            found = (rung_compute)i;
    return found;
}

bool rungi_kernel_needs_compute_macro(const rung_kernel *kernel, const rung_problem *problem)
{
    rung_compute mode;
    return rungi_problem_has_modes(problem) && rung_kernel_computes(kernel, problem->compute, &mode) &&
           mode != kernel->info.compute;
}

/* ---- Ladder ------------------------------------------------------------------------------- */

/* Returns a kernel of the ladder and creates it at first use. Two threads may create it at the same time; the second one
 * frees its own. */
static rung_status get_ladder_kernel(rung_context *context, int backend_index, int64_t index, rung_kernel **out)
{
    const rungi_backend *backend = rungi_backends[backend_index];
    RUNGI_ASSERT(index >= 0 && index < backend->ladder_count && index < RUNGI_LADDER_MAX);
    const rungi_ladder_step *step = &backend->ladder[index];
    rungi_kernel_slot *slot = &context->backends[backend_index].kernels[index];
    rung_kernel *created;
    *out = atomic_load(slot);
    if (*out)
        return RUNG_OK;
    TRY(create_kernel(context, backend, step->file, step->source, &created));
    created->step = step;
    created->info.name = step->name;
    created->info.number = (int)strtol(step->name, NULL, 10);
    set_abilities(created, step->types ? step->types : backend->vendor_types, step->abilities);
    if (atomic_compare_exchange_strong(slot, out, created))
        *out = created;
    else
        rungi_kernel_free(created);
    return RUNG_OK;
}

rung_status rung_kernel_at(rung_context *context, const char *backend, int64_t index, rung_kernel **kernel)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(rungi_clear_result(kernel, backend, "rung_kernel_at: backend or kernel is NULL"));
    int backend_index;
    TRY(find_backend(&context, backend, &backend_index));
    int64_t count = rungi_backends[backend_index]->ladder_count;
    if (index < 0 || index >= count)
        return rungi_fail(RUNG_STATUS_NOT_FOUND, "kernel index is %lld; the %s ladder has the indices 0 to %lld",
                          (long long)index, backend, (long long)count - 1);
    return get_ladder_kernel(context, backend_index, index, kernel);
}

/* Returns whether a name selects a kernel: "04_shared" has the names "04_shared", "shared", "04" and "4". */
static bool has_name(const char *full, const char *name)
{
    char *end;
    long number = strtol(name, &end, 10);
    if (*name && !*end)
        return number == strtol(full, NULL, 10);
    const char *word = strchr(full, '_');
    return strcmp(full, name) == 0 || (word && strcmp(word + 1, name) == 0);
}

rung_status rung_kernel_find(rung_context *context, const char *backend, const char *name, rung_kernel **kernel)
{
    RUNGI_DISABLE_CANCELLATION;
    char valid[512] = "";
    TRY(rungi_clear_result(kernel, name, "rung_kernel_find: name or kernel is NULL"));
    for (int64_t i = 0;; i++) {
        rung_status status = rung_kernel_at(context, backend, i, kernel);
        if (status == RUNG_STATUS_NOT_FOUND)
            return rungi_fail(RUNG_STATUS_NOT_FOUND, "the %s ladder has no kernel \"%s\"; it has %s", backend, name,
                              valid);
        if (status != RUNG_OK || has_name((*kernel)->info.name, name))
            return status;
        rungi_text_append(valid, sizeof valid, "%s%s", i ? ", " : "", (*kernel)->info.name);
        *kernel = NULL;
    }
}

/* ---- Parameters ---------------------------------------------------------------------------- */

/* The values of the names in a kernel's expressions. */
typedef struct kernel_names {
    const rung_kernel *kernel;
    const rungi_parameter_values *values;
} kernel_names_t;

static rungi_expression_name look_up(const void *opaque, const char *text, size_t length)
{
    const kernel_names_t *names = opaque;
    const rung_kernel *kernel = names->kernel;
    rungi_string_view name = rungi_string_view_of(text, length);
    for (int64_t i = 0; i < kernel->info.parameter_count; i++)
        if (rungi_string_view_equals(name, kernel->parameters[i].name))
            return (rungi_expression_name){.is_known = true, .value = names->values->value[i]};
    if (rungi_string_view_equals(name, "IN_BYTES"))
        return (rungi_expression_name){.is_known = true, .value = names->values->in_bytes};
    for (int64_t i = 0; i < kernel->macro_count; i++) {
        const rungi_kernel_macro *macro = &kernel->macros[i];
        if (rungi_string_views_equal(macro->name, name))
            return (rungi_expression_name){.is_known = true, .text = macro->text.text, .length = macro->text.length};
    }
    return (rungi_expression_name){.is_known = false};
}

static rung_status evaluate(const rung_kernel *kernel, const rungi_parameter_values *values,
                            rungi_string_view expression, bool unknown_is_zero, int64_t *number)
{
    kernel_names_t names = {kernel, values};
    rung_status status = rungi_expression_evaluate(expression.text, expression.length, look_up, &names, unknown_is_zero,
                                                   number);
    return status == RUNG_OK ? status : rungi_fail_prepend(status, "%s", kernel->info.file);
}

rung_status rungi_kernel_evaluate(const rung_kernel *kernel, const rungi_parameter_values *values,
                                  rungi_string_view expression, int64_t *number)
{
    return evaluate(kernel, values, expression, false, number);
}

/* Parses one "NAME=16". */
static rung_status parse_value(const rung_kernel *kernel, rungi_string_view text, rungi_parameter_values *values)
{
    const char *end = text.text + text.length, *equals = memchr(text.text, '=', text.length);
    char *number_end = NULL;
    long long value = equals ? strtoll(equals + 1, &number_end, 10) : 0;
    if (!equals || number_end == equals + 1 || number_end != end || value < 0 || value > INT32_MAX)
        return rungi_invalid("\"%.*s\" is not a parameter; write, for example, TILE=16,UNROLL=4", (int)text.length,
                             text.text);
    rungi_string_view name = rungi_string_view_of(text.text, (size_t)(equals - text.text));
    for (int64_t i = 0; i < kernel->info.parameter_count; i++)
        if (rungi_string_view_equals(name, kernel->parameters[i].name)) {
            values->value[i] = value;
            return RUNG_OK;
        }
    char valid[RUNG_PARAMETERS_BYTES];
    rungi_kernel_format_parameters(kernel, values, valid, sizeof valid);
    return rungi_fail(RUNG_STATUS_NOT_FOUND, "%s has no parameter \"%.*s\"; it has %s", kernel->info.name,
                      (int)name.length, name.text, *valid ? valid : "none");
}

/* Returns the parameters of a preset; NULL if the kernel does not have it. */
static const char *find_preset(const rung_kernel *kernel, rungi_string_view name)
{
    for (int64_t i = 0; i < kernel->info.preset_count; i++)
        if (rungi_string_view_equals(name, kernel->presets[i].name))
            return kernel->presets[i].parameters;
    return NULL;
}

bool rungi_kernel_has_preset(const rung_kernel *kernel, const char *name)
{
    return find_preset(kernel, rungi_string_view_of(name, strlen(name))) != NULL;
}

void rungi_kernel_default_preset(const rung_kernel *kernel, const char *kind, const char *architecture, rung_type sum,
                                 char name[RUNGI_PRESET_NAME_BYTES])
{
    const char *type = sum == RUNG_F32 ? NULL : rung_type_name(sum);
    snprintf(name, RUNGI_PRESET_NAME_BYTES, "%s", architecture ? architecture : "");
    if (kind && type)
        snprintf(name, RUNGI_PRESET_NAME_BYTES, "%s_%s", kind, type);
    if (kind && !rungi_kernel_has_preset(kernel, name))
        snprintf(name, RUNGI_PRESET_NAME_BYTES, "%s", kind);
    if (type && !rungi_kernel_has_preset(kernel, name))
        snprintf(name, RUNGI_PRESET_NAME_BYTES, "%s", type);
    if (!rungi_kernel_has_preset(kernel, name))
        *name = '\0';
}

bool rungi_kernel_rows_preset(const rung_kernel *kernel, int64_t rows, char name[RUNGI_PRESET_NAME_BYTES])
{
    enum { ROWS_MAX = 16 };
    for (int64_t i = 1; rungi_kernel_has_narrow_b(kernel) && i <= ROWS_MAX; i *= 2) {
        snprintf(name, RUNGI_PRESET_NAME_BYTES, "rows%lld", (long long)i);
        if (rows <= i && rungi_kernel_has_preset(kernel, name))
            return true;
    }
    return false;
}

bool rungi_kernel_small_preset(const rung_kernel *kernel, const char *kind, const char *architecture,
                               char name[RUNGI_PRESET_NAME_BYTES])
{
    const char *prefix = kind ? kind : architecture;
    snprintf(name, RUNGI_PRESET_NAME_BYTES, "%s_small", prefix ? prefix : "");
    if (rungi_kernel_has_preset(kernel, name))
        return true;
    snprintf(name, RUNGI_PRESET_NAME_BYTES, "small");
    return !kind && rungi_kernel_has_preset(kernel, name);
}

/* Parses a list of values and, if `allows_presets` is set, names of presets. */
static rung_status parse_values(const rung_kernel *kernel, const char *text, bool allows_presets,
                                rungi_parameter_values *values)
{
    while (text && *text) {
        rungi_string_view item = rungi_string_view_of(text, strcspn(text, ","));
        const char *preset = allows_presets ? find_preset(kernel, item) : NULL;
        TRY(preset ? parse_values(kernel, preset, false, values) : parse_value(kernel, item, values));
        text += item.length + (text[item.length] != '\0');
    }
    return RUNG_OK;
}

/* Checks a constraint. Parameters that it accepts for elements of the default size are valid in general and only too
 * large for this type. */
static rung_status check_constraint(const rung_kernel *kernel, const rungi_parameter_values *values,
                                    const rung_constraint *constraint)
{
    rungi_string_view condition = rungi_string_view_of(constraint->rejected_if, strlen(constraint->rejected_if));
    rungi_parameter_values with_default = *values;
    int64_t is_rejected, is_default_rejected = 1;
    with_default.in_bytes = RUNGI_DEFAULT_IN_BYTES;
    TRY(evaluate(kernel, values, condition, true, &is_rejected));
    if (!is_rejected)
        return RUNG_OK;
    evaluate(kernel, &with_default, condition, true, &is_default_rejected);
    return rungi_fail(is_default_rejected ? RUNG_STATUS_INVALID : RUNG_STATUS_UNSUPPORTED,
                      "%s rejects these parameters: %s", kernel->info.name, constraint->reason);
}

rung_status rungi_kernel_parse_parameters(const rung_kernel *kernel, const char *text, int64_t in_bytes,
                                          rungi_parameter_values *values)
{
    set_defaults(kernel, values);
    values->in_bytes = in_bytes;
    if (text && strlen(text) >= RUNG_PARAMETERS_BYTES)
        return rungi_invalid("the list of parameters has %zu bytes; the maximum is %d", strlen(text),
                             RUNG_PARAMETERS_BYTES - 1);
    TRY(parse_values(kernel, text, true, values));
    for (int64_t i = 0; i < kernel->info.constraint_count; i++)
        TRY(check_constraint(kernel, values, &kernel->constraints[i]));
    return RUNG_OK;
}

static void extend_range(int64_t value, int64_t *smallest, int64_t *largest)
{
    *smallest = rungi_min(*smallest, value);
    *largest = rungi_max(*largest, value);
}

/* Finds the smallest and largest value that the kernel's file lists for parameter `index`. */
static void find_listed_range(const rung_kernel *kernel, int64_t index, int64_t *smallest, int64_t *largest)
{
    const rung_parameter *parameter = &kernel->parameters[index];
    *smallest = *largest = parameter->value;
    for (int64_t i = 0; i < parameter->choice_count; i++)
        extend_range(parameter->choices[i], smallest, largest);
    for (int64_t i = 0; i < kernel->info.preset_count; i++) {
        rungi_parameter_values values;
        set_defaults(kernel, &values);
        if (parse_values(kernel, kernel->presets[i].parameters, false, &values) == RUNG_OK)
            extend_range(values.value[index], smallest, largest);
    }
}

rung_status rungi_kernel_parse_tuned_parameters(const rung_kernel *kernel, const char *text, int64_t in_bytes,
                                                rungi_parameter_values *values)
{
    TRY(rungi_kernel_parse_parameters(kernel, text, in_bytes, values));
    for (int64_t i = 0; i < kernel->info.parameter_count; i++) {
        int64_t smallest, largest, value = values->value[i]; /* at most INT32_MAX */
        find_listed_range(kernel, i, &smallest, &largest);
        if (2 * value < smallest || (value + 1) / 2 > largest)
            return rungi_invalid("%s=%lld is far outside the values that %s lists, which are %lld to %lld",
                                 kernel->parameters[i].name, (long long)value, kernel->info.name, (long long)smallest,
                                 (long long)largest);
    }
    return RUNG_OK;
}

void rungi_kernel_format_parameters(const rung_kernel *kernel, const rungi_parameter_values *values, char *text,
                                    size_t capacity)
{
    size_t used = 0;
    *text = '\0';
    for (int64_t i = 0; i < kernel->info.parameter_count && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%s=%lld", i ? "," : "", kernel->parameters[i].name,
                                 (long long)values->value[i]);
    RUNGI_ASSERT(used < capacity); /* see RUNGI_PARAMETERS_MAX */
}

rung_status rung_kernel_check(const rung_kernel *kernel, const char *parameters)
{
    rungi_parameter_values values;
    return kernel ? rungi_kernel_parse_parameters(kernel, parameters, RUNGI_DEFAULT_IN_BYTES, &values)
                  : rungi_invalid("rung_kernel_check: kernel is NULL");
}

rung_status rung_kernel_evaluate(const rung_kernel *kernel, const char *parameters, rung_type in,
                                 const char *expression, int64_t *value)
{
    rungi_parameter_values values;
    if (!kernel || !expression || !value || rung_type_size(in) == 0)
        return rungi_invalid(
            "rung_kernel_evaluate: kernel, expression or value is NULL, or the type is not a type of elements");
    *value = 0;
    TRY(rungi_kernel_parse_parameters(kernel, parameters, rung_type_size(in), &values));
    return rungi_kernel_evaluate(kernel, &values, rungi_string_view_of(expression, strlen(expression)), value);
}
