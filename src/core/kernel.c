/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c - finding kernels on a backend's ladder, taking the caller's own, and
 * giving parameters to either. */
#include "core/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "core/cancel.h"
#include "core/expression.h"

/* ---- Making ----------------------------------------------------------------------------- */

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

static void set_defaults(const rung_kernel *kernel, rungi_values *values)
{
    RUNGI_ASSERT(kernel->info.parameter_count <= RUNGI_PARAMETERS_MAX);
    memset(values, 0, sizeof *values);
    values->in_bytes = RUNGI_USUAL_BYTES;
    for (int64_t i = 0; i < kernel->info.parameter_count; i++)
        values->value[i] = kernel->parameters[i].value;
}

static rung_status make_kernel(rung_context *context, const rungi_backend *backend, const char *file, const char *text,
                               rung_kernel **out)
{
    *out = NULL;
    rung_kernel *kernel = rungi_new(context, sizeof *kernel);
    if (!kernel)
        return RUNG_STATUS_NO_MEMORY;
    kernel->context = context;
    kernel->backend = backend;
    kernel->info.backend = backend->name;
    kernel->info.number = -1;
    rung_status status = rungi_kernel_read(kernel, file, text);
    if (status != RUNG_OK) {
        rungi_kernel_free(kernel);
        return status;
    }
    rungi_values defaults;
    set_defaults(kernel, &defaults);
    rungi_kernel_values_text(kernel, &defaults, kernel->defaults, sizeof kernel->defaults);
    kernel->info.defaults = kernel->defaults;
    kernel->info.name = kernel->info.file;
    *out = kernel;
    return RUNG_OK;
}

/* What it takes: what the backend does, less what the file says it does not. */
static void set_abilities(rung_kernel *kernel, unsigned products, unsigned abilities)
{
    unsigned said = kernel->products;
    kernel->products = said ? said & products : products;
    kernel->info.abilities = abilities;
    if (kernel->backend->abilities)
        kernel->info.abilities |= kernel->backend->abilities(kernel);
    if (kernel->backend->needs_engine && kernel->backend->needs_engine(kernel))
        kernel->info.engine = kernel->backend->has_engine ? RUNG_ENGINE_HARDWARE : RUNG_ENGINE_EMULATED;
}

rung_status rung_kernel_from_source(rung_context *context, const char *backend_name, const char *file, const char *text,
                                    rung_kernel **kernel)
{
    RUNGI_DISABLE_CANCELLATION;
    if (kernel)
        *kernel = NULL;
    if (!backend_name || !file || !text || !kernel)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_kernel_from_source needs a backend, a name, a text and "
                                               "a place for the kernel");
    context = rungi_context_of(context);
    if (!context)
        return RUNG_STATUS_NO_MEMORY;
    int index = rungi_backend_index(backend_name);
    if (index < 0)
        return RUNG_STATUS_NO_DEVICE;
    const rungi_backend *backend = rungi_backends[index];
    if (backend->source_products == 0)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "the %s device compiles no files; use an OpenCL one for %s",
                          backend_name, file);
    rung_status status = make_kernel(context, backend, file, text, kernel);
    if (status != RUNG_OK)
        return status;
    set_abilities(*kernel, backend->source_products, 0);
    rungi_context_retain(context);
    (*kernel)->holds_context = true;
    atomic_init(&(*kernel)->references, 1);
    return RUNG_OK;
}

/* The count is the one thing about a shared kernel that changes. */
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

int rung_kernel_supports(const rung_kernel *kernel, rung_type a, rung_type b, rung_type c, int *min_sm)
{
    rungi_product product = rungi_product_of(a, b, c);
    bool supports = kernel && product != RUNGI_PRODUCT_COUNT && kernel->products & 1u << product;
    if (min_sm)
        *min_sm = supports ? kernel->min_sm[product] : 0;
    return supports;
}

/* ---- The ladder --------------------------------------------------------------------------- */

/* Of two threads that come here at once the second gives its own up. */
static rung_status step_kernel(rung_context *context, int backend_index, int64_t index, rung_kernel **out)
{
    const rungi_backend *backend = rungi_backends[backend_index];
    RUNGI_ASSERT(index >= 0 && index < backend->ladder_count && index < RUNGI_LADDER_MAX);
    const rungi_ladder_step *step = &backend->ladder[index];
    rungi_kernel_place *place = &context->backends[backend_index].kernels[index];
    rung_kernel *made;
    *out = atomic_load(place);
    if (*out)
        return RUNG_OK;
    rung_status status = make_kernel(context, backend, step->file, step->source, &made);
    if (status != RUNG_OK)
        return status;
    made->step = step;
    made->info.name = step->name;
    made->info.number = (int)strtol(step->name, NULL, 10);
    set_abilities(made, step->products ? step->products : backend->vendor_products, step->abilities);
    if (atomic_compare_exchange_strong(place, out, made))
        *out = made;
    else
        rungi_kernel_free(made);
    return RUNG_OK;
}

rung_status rung_kernel_at(rung_context *context, const char *backend, int64_t index, rung_kernel **kernel)
{
    RUNGI_DISABLE_CANCELLATION;
    if (kernel)
        *kernel = NULL;
    if (!backend || !kernel)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_kernel_at needs a backend and a place for the kernel");
    context = rungi_context_of(context);
    if (!context)
        return RUNG_STATUS_NO_MEMORY;
    int i = rungi_backend_index(backend);
    if (i < 0)
        return RUNG_STATUS_NO_DEVICE;
    if (index < 0 || index >= rungi_backends[i]->ladder_count)
        return rungi_fail(RUNG_STATUS_NOT_FOUND, "the %s ladder has %lld kernels", backend,
                          (long long)rungi_backends[i]->ladder_count);
    return step_kernel(context, i, index, kernel);
}

/* "04_shared" is called so, or "shared", or by its number: "4", "04". */
static bool is_called(const char *full, const char *name)
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
    char known[512] = "";
    if (kernel)
        *kernel = NULL;
    if (!name || !kernel)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_kernel_find needs a name and a place for the kernel");
    for (int64_t i = 0;; i++) {
        rung_status status = rung_kernel_at(context, backend, i, kernel);
        if (status == RUNG_STATUS_NOT_FOUND)
            return rungi_fail(RUNG_STATUS_NOT_FOUND, "the %s ladder has no kernel \"%s\"; it has %s", backend, name,
                              known);
        if (status != RUNG_OK || is_called((*kernel)->info.name, name))
            return status;
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", (*kernel)->info.name);
        *kernel = NULL;
    }
}

/* ---- Parameters ---------------------------------------------------------------------------- */

/* What the names of a kernel's expressions stand for. */
typedef struct names {
    const rung_kernel *kernel;
    const rungi_values *values;
} names_t;

static rungi_name look_up(const void *opaque, const char *name, size_t length)
{
    const names_t *names = opaque;
    const rung_kernel *kernel = names->kernel;
    for (int64_t i = 0; i < kernel->info.parameter_count; i++)
        if (strlen(kernel->parameters[i].name) == length && memcmp(kernel->parameters[i].name, name, length) == 0)
            return (rungi_name){.known = true, .value = names->values->value[i]};
    if (length == strlen("IN_BYTES") && memcmp(name, "IN_BYTES", length) == 0)
        return (rungi_name){.known = true, .value = names->values->in_bytes};
    for (int64_t i = 0; i < kernel->macro_count; i++) {
        const rungi_macro *macro = &kernel->macros[i];
        if (macro->name.length == length && memcmp(macro->name.text, name, length) == 0)
            return (rungi_name){.known = true, .text = macro->text.text, .length = macro->text.length};
    }
    return (rungi_name){.known = false};
}

static rung_status evaluate(const rung_kernel *kernel, const rungi_values *values, rungi_slice expression,
                            bool unknown_is_zero, int64_t *number)
{
    names_t names = {kernel, values};
    rung_status status = rungi_expression_value(expression.text, expression.length, look_up, &names, unknown_is_zero,
                                                number);
    return status == RUNG_OK ? status : rungi_fail_in(status, "%s", kernel->info.file);
}

rung_status rungi_kernel_number(const rung_kernel *kernel, const rungi_values *values, rungi_slice expression,
                                int64_t *number)
{
    return evaluate(kernel, values, expression, false, number);
}

/* One "NAME=16"; `end` is behind it. */
static rung_status set_value(const rung_kernel *kernel, const char *text, const char *end, rungi_values *values)
{
    const char *equals = memchr(text, '=', (size_t)(end - text));
    char *number_end = NULL;
    long long value = equals ? strtoll(equals + 1, &number_end, 10) : 0;
    if (!equals || number_end == equals + 1 || number_end != end || value < 0 || value > INT32_MAX)
        return rungi_fail(RUNG_STATUS_INVALID, "\"%.*s\" is no parameter; they are like TILE=16,UNROLL=4",
                          (int)(end - text), text);
    for (int64_t i = 0; i < kernel->info.parameter_count; i++) {
        const char *name = kernel->parameters[i].name;
        if (strlen(name) == (size_t)(equals - text) && memcmp(name, text, strlen(name)) == 0) {
            values->value[i] = value;
            return RUNG_OK;
        }
    }
    char known[RUNG_PARAMETERS_BYTES];
    rungi_kernel_values_text(kernel, values, known, sizeof known);
    return rungi_fail(RUNG_STATUS_NOT_FOUND, "%s has no parameter \"%.*s\"; it has %s", kernel->info.name,
                      (int)(equals - text), text, *known ? known : "none");
}

/* The parameters of the preset with that name; NULL if there is none. */
static const char *preset_of(const rung_kernel *kernel, const char *text, const char *end)
{
    for (int64_t i = 0; i < kernel->info.preset_count; i++)
        if (strlen(kernel->presets[i].name) == (size_t)(end - text) &&
            memcmp(kernel->presets[i].name, text, (size_t)(end - text)) == 0)
            return kernel->presets[i].parameters;
    return NULL;
}

bool rungi_kernel_has_preset(const rung_kernel *kernel, const char *name)
{
    return preset_of(kernel, name, name + strlen(name)) != NULL;
}

void rungi_kernel_usual_preset(const rung_kernel *kernel, const char *kind, const char *architecture, rung_type sum,
                               char name[RUNGI_PRESET_NAME])
{
    const char *type = sum == RUNG_F32 ? NULL : rung_type_name(sum);
    snprintf(name, RUNGI_PRESET_NAME, "%s", architecture ? architecture : "");
    if (kind && type)
        snprintf(name, RUNGI_PRESET_NAME, "%s_%s", kind, type);
    if (kind && !rungi_kernel_has_preset(kernel, name))
        snprintf(name, RUNGI_PRESET_NAME, "%s", kind);
    if (type && !rungi_kernel_has_preset(kernel, name))
        snprintf(name, RUNGI_PRESET_NAME, "%s", type);
    if (!rungi_kernel_has_preset(kernel, name))
        *name = '\0';
}

bool rungi_kernel_small_preset(const rung_kernel *kernel, const char *kind, const char *architecture,
                               char name[RUNGI_PRESET_NAME])
{
    const char *whose = kind ? kind : architecture;
    snprintf(name, RUNGI_PRESET_NAME, "%s_small", whose ? whose : "");
    if (rungi_kernel_has_preset(kernel, name))
        return true;
    snprintf(name, RUNGI_PRESET_NAME, "small");
    return !kind && rungi_kernel_has_preset(kernel, name);
}

/* A list of values and, but not within a preset, of presets. */
static rung_status set_values(const rung_kernel *kernel, const char *text, bool presets, rungi_values *values)
{
    while (text && *text) {
        const char *end = text + strcspn(text, ",");
        const char *preset = presets ? preset_of(kernel, text, end) : NULL;
        rung_status status = preset ? set_values(kernel, preset, false, values) : set_value(kernel, text, end, values);
        if (status != RUNG_OK)
            return status;
        text = *end ? end + 1 : end;
    }
    return RUNG_OK;
}

/* Whether a constraint fails for elements of the usual size too: else the parameters are
 * sound, and just too large for this type. */
static bool is_refused_usually(const rung_kernel *kernel, const rungi_values *values, const rung_constraint *constraint)
{
    rungi_values usual = *values;
    int64_t refused = 1;
    usual.in_bytes = RUNGI_USUAL_BYTES;
    evaluate(kernel, &usual, rungi_slice_of(constraint->rejected_if, strlen(constraint->rejected_if)), true, &refused);
    return refused != 0;
}

rung_status rungi_kernel_values(const rung_kernel *kernel, const char *text, int64_t in_bytes, rungi_values *values)
{
    set_defaults(kernel, values);
    values->in_bytes = in_bytes;
    if (text && strlen(text) >= RUNG_PARAMETERS_BYTES)
        return rungi_fail(RUNG_STATUS_INVALID, "the list of parameters has %zu bytes; the maximum is %d", strlen(text),
                          RUNG_PARAMETERS_BYTES - 1);
    rung_status status = set_values(kernel, text, true, values);
    if (status != RUNG_OK)
        return status;
    for (int64_t i = 0; i < kernel->info.constraint_count; i++) {
        const rung_constraint *constraint = &kernel->constraints[i];
        int64_t refused;
        status = evaluate(kernel, values, rungi_slice_of(constraint->rejected_if, strlen(constraint->rejected_if)),
                          true, &refused);
        if (status != RUNG_OK)
            return status;
        if (refused)
            return rungi_fail(is_refused_usually(kernel, values, constraint) ? RUNG_STATUS_INVALID
                                                                             : RUNG_STATUS_UNSUPPORTED,
                              "%s refuses these parameters: %s", kernel->info.name, constraint->reason);
    }
    return RUNG_OK;
}

static void widen(int64_t value, int64_t *smallest, int64_t *largest)
{
    *smallest = value < *smallest ? value : *smallest;
    *largest = value > *largest ? value : *largest;
}

/* What a kernel's file lists for its parameter `index`. */
static void listed_range(const rung_kernel *kernel, int64_t index, int64_t *smallest, int64_t *largest)
{
    const rung_parameter *parameter = &kernel->parameters[index];
    *smallest = *largest = parameter->value;
    for (int64_t i = 0; i < parameter->choice_count; i++)
        widen(parameter->choices[i], smallest, largest);
    for (int64_t i = 0; i < kernel->info.preset_count; i++) {
        rungi_values values;
        set_defaults(kernel, &values);
        if (set_values(kernel, kernel->presets[i].parameters, false, &values) == RUNG_OK)
            widen(values.value[index], smallest, largest);
    }
}

rung_status rungi_kernel_check_range(const rung_kernel *kernel, const rungi_values *values)
{
    for (int64_t i = 0; i < kernel->info.parameter_count; i++) {
        int64_t smallest, largest, value = values->value[i]; /* an int32_t's */
        listed_range(kernel, i, &smallest, &largest);
        if (2 * value < smallest || (value + 1) / 2 > largest)
            return rungi_fail(RUNG_STATUS_INVALID, "%s=%lld is far from what %s lists for it, which is %lld to %lld",
                              kernel->parameters[i].name, (long long)value, kernel->info.name, (long long)smallest,
                              (long long)largest);
    }
    return RUNG_OK;
}

void rungi_kernel_values_text(const rung_kernel *kernel, const rungi_values *values, char *text, size_t capacity)
{
    size_t used = 0;
    *text = '\0';
    for (int64_t i = 0; i < kernel->info.parameter_count && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%s=%lld", i ? "," : "", kernel->parameters[i].name,
                                 (long long)values->value[i]);
    RUNGI_ASSERT(used < capacity); /* names and values are limited so that they fit RUNG_PARAMETERS_BYTES */
}

rung_status rung_kernel_check(const rung_kernel *kernel, const char *parameters)
{
    rungi_values values;
    return kernel ? rungi_kernel_values(kernel, parameters, RUNGI_USUAL_BYTES, &values)
                  : rungi_fail(RUNG_STATUS_INVALID, "the kernel is NULL");
}

rung_status rung_kernel_evaluate(const rung_kernel *kernel, const char *parameters, rung_type in,
                                 const char *expression, int64_t *value)
{
    rungi_values values;
    if (!kernel || !expression || !value || rung_type_size(in) == 0)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_kernel_evaluate needs a kernel, a type, an expression and a "
                                               "place for the value");
    *value = 0;
    rung_status status = rungi_kernel_values(kernel, parameters, rung_type_size(in), &values);
    if (status != RUNG_OK)
        return status;
    return rungi_kernel_number(kernel, &values, rungi_slice_of(expression, strlen(expression)), value);
}
