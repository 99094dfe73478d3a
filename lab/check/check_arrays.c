/* SPDX-License-Identifier: Apache-2.0 */
/* check_arrays.c - the arrays of rung check: sizes, contents and comparison with files. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/available_memory.h"
#include "base/checked_arithmetic.h"
#include "check/check_session.h"
#include "check/npy_array.h"
#include "common/failure.h"
#include "common/random.h"
#include "common/text.h"

enum { CHUNK = 1 << 15, CHUNK_BYTES = 8 * CHUNK, SEED = 1, MEMORY_SHARE = 24 };

lab_check_array *lab_check_find_array(lab_check_session *session, rungi_string_view name)
{
    for (int i = 0; i < session->array_count; i++)
        if (rungi_string_view_equals(name, session->arrays[i].name))
            return &session->arrays[i];
    return NULL;
}

/* ---- Sizes ---- */

static bool check_repeated(const lab_check_array *array, const lab_check_pointer *pointer, char *why, size_t capacity)
{
    if (array->type == pointer->argument->type && array->count == pointer->count)
        return true;
    return lab_set_reason(
        why, capacity,
        "%s is %s[%lld] here, but an earlier launch has it as %s[%lld]; use one size and type, or another "
        "parameter name",
        array->name, lab_element_type_name(pointer->argument->type), (long long)pointer->count,
        lab_element_type_name(array->type), (long long)array->count);
}

static bool create(lab_check_session *session, lab_check_pointer *pointer, char *why, size_t capacity)
{
    const lab_launch_argument *argument = pointer->argument;
    if (session->array_count == LAB_CHECK_ARRAYS_MAX)
        return lab_set_reason(why, capacity, "there are more than %d arrays", LAB_CHECK_ARRAYS_MAX);
    lab_check_array *array = &session->arrays[session->array_count];
    *array = (lab_check_array){.type = argument->type, .count = pointer->count, .origin = argument};
    if (argument->name.length >= sizeof array->name)
        return lab_set_reason(why, capacity, "the name %.*s is too long", LAB_VIEW(argument->name));
    if (pointer->count < 1)
        return lab_set_reason(
            why, capacity, "%.*s=%.*s has %lld elements; use at least 1 (32-bit products may overflow: write 1LL*n*n)",
            LAB_VIEW(argument->name), LAB_VIEW(argument->value), (long long)pointer->count);
    snprintf(array->name, sizeof array->name, "%.*s", LAB_VIEW(argument->name));
    if (!rungi_checked_multiply(pointer->count, lab_element_type_bytes(array->type), &array->bytes))
        array->bytes = INT64_MAX;
    if (pointer->offset < 0 && array->bytes > pointer->variable_bytes)
        return lab_set_reason(why, capacity, "%s=%.*s has %lld bytes, but the variable has %lld", array->name,
                              LAB_VIEW(argument->value), (long long)array->bytes, (long long)pointer->variable_bytes);
    array->is_variable = pointer->offset < 0;
    array->address = pointer->variable;
    session->array_count++;
    pointer->array = array;
    pointer->is_first = true;
    return true;
}

static bool plan_pointer(lab_check_session *session, lab_check_pointer *pointer, char *why, size_t capacity)
{
    const lab_launch_argument *argument = pointer->argument;
    pointer->array = lab_check_find_array(session, argument->is_array ? argument->name : argument->value);
    if (!argument->is_array)
        return pointer->array || lab_set_reason(why, capacity, "%.*s=%.*s: there is no such array",
                                                LAB_VIEW(argument->name), LAB_VIEW(argument->value));
    if (!pointer->array)
        return create(session, pointer, why, capacity);
    return check_repeated(pointer->array, pointer, why, capacity);
}

/* Refuses arrays for which the machine has no memory. For each byte that a kernel accesses, the checks take about 20. */
static bool check_memory(const lab_check_session *session, char *why, size_t capacity)
{
    int64_t limit = rungi_available_memory("") / MEMORY_SHARE, sum = 0;
    char needed[32], allowed[32];
    lab_format_bytes((double)limit, allowed, sizeof allowed);
    for (int i = 0; i < session->array_count; i++) {
        const lab_check_array *array = &session->arrays[i];
        if (rungi_checked_add(sum, array->bytes, &sum) && sum <= limit)
            continue;
        lab_format_bytes((double)array->bytes, needed, sizeof needed);
        return lab_set_reason(why, capacity,
                              "%s=%s[%lld] takes %s; all arrays together may take %s on this machine, because "
                              "the checks need the rest of its free memory. Use a smaller count",
                              array->name, lab_element_type_name(array->type), (long long)array->count, needed,
                              allowed);
    }
    return true;
}

static bool plan_arrays(lab_check_session *session, char *why, size_t capacity)
{
    char reason[1024], place[64];
    for (int i = 0; i < session->lines.count; i++) {
        lab_check_launch *launch = &session->launches[i];
        for (int direct = 1; direct >= 0; direct--) /* names of arrays may come before the arrays of their line */
            for (int p = 0; p < launch->pointer_count; p++)
                if (launch->pointers[p].argument->is_array == direct &&
                    !plan_pointer(session, &launch->pointers[p], reason, sizeof reason))
                    return lab_set_reason(why, capacity, "%s: %s",
                                          lab_check_place(session, launch->line, place, sizeof place), reason);
    }
    return true;
}

/* ---- Contents ---- */

bool lab_check_allocate(lab_check_session *session, lab_check_array *array, char *why, size_t capacity)
{
    if (rung_emulator_allocate(session->emulator, array->bytes, array->name, &array->address) == RUNG_OK)
        return true;
    return lab_set_reason(why, capacity, "%s: %s", array->name, rung_error_text());
}

/* Fills a chunk that begins at element `first`. */
static void fill_chunk(const lab_check_array *array, lab_contents contents, int stream, int64_t first, int64_t count,
                       void *chunk)
{
    bool is_float = lab_element_type_kind(array->type) == LAB_KIND_FLOAT;
    for (int64_t i = 0; i < count; i++) {
        uint64_t index = (uint64_t)(first + i);
        if (contents == LAB_CONTENTS_random && is_float)
            lab_element_write(array->type, chunk, i, lab_random_uniform(SEED, (uint64_t)stream, index));
        else {
            int64_t value = contents == LAB_CONTENTS_random ? lab_random(SEED, (uint64_t)stream, index) % 10
                            : contents == LAB_CONTENTS_ones ? 1
                            : contents == LAB_CONTENTS_iota ? first + i
                                                            : 0;
            if (is_float)
                lab_element_write(array->type, chunk, i, (double)value);
            else
                lab_element_write_integer(array->type, chunk, i, value);
        }
    }
}

/* Opens the file of an argument, and checks that it fits the array. */
static bool open_contents(const lab_check_array *array, const lab_launch_argument *argument, lab_npy_array *npy,
                          char *why, size_t capacity)
{
    char path[1024], reason[1536];
    snprintf(path, sizeof path, "%.*s", LAB_VIEW(argument->file));
    if (!lab_npy_array_open(path, npy, reason, sizeof reason))
        return lab_set_reason(why, capacity, "%s: %s", array->name, reason);
    bool has_type = npy->type == array->type || (array->type == LAB_ELEMENT_bf16 && npy->type == LAB_ELEMENT_u16) ||
                    (lab_element_type_bytes(npy->type) == lab_element_type_bytes(array->type) &&
                     lab_element_type_kind(npy->type) != LAB_KIND_FLOAT &&
                     lab_element_type_kind(array->type) != LAB_KIND_FLOAT);
    if (!has_type)
        return lab_set_reason(why, capacity, "%s is %s[%lld], but %s has elements of type %s", array->name,
                              lab_element_type_name(array->type), (long long)array->count, path,
                              lab_element_type_name(npy->type));
    if (npy->count != array->count)
        return lab_set_reason(why, capacity, "%s has %lld elements, but %s has %lld", array->name,
                              (long long)array->count, path, (long long)npy->count);
    return true;
}

static bool write_chunks(lab_check_session *session, const lab_check_array *array, lab_contents contents, FILE *file,
                         char *why, size_t capacity)
{
    int64_t bytes = lab_element_type_bytes(array->type);
    void *chunk = malloc(CHUNK_BYTES);
    bool good = chunk != NULL;
    for (int64_t first = 0; good && first < array->count; first += CHUNK) {
        int64_t count = rungi_min(array->count - first, CHUNK);
        if (file)
            good = fread(chunk, (size_t)bytes, (size_t)count, file) == (size_t)count;
        else
            fill_chunk(array, contents, (int)(array - session->arrays), first, count, chunk);
        good = good && rung_emulator_write(session->emulator, array->address + (uint64_t)(first * bytes), chunk,
                                           count * bytes) == RUNG_OK;
    }
    free(chunk);
    return good || lab_set_reason(why, capacity, "%s: the contents could not be written", array->name);
}

bool lab_check_fill(lab_check_session *session, const lab_check_array *array, const lab_launch_argument *argument,
                    char *why, size_t capacity)
{
    lab_npy_array npy = {.file = NULL};
    if (argument->contents == LAB_CONTENTS_none)
        return true;
    bool good = argument->contents != LAB_CONTENTS_FILE || open_contents(array, argument, &npy, why, capacity);
    good = good && write_chunks(session, array, argument->contents, npy.file, why, capacity);
    lab_npy_array_close(&npy);
    return good;
}

/* ---- Comparison ---- */

bool lab_check_read_expectations(lab_check_session *session, const char *list, char *why, size_t capacity)
{
    rungi_string_view word;
    while (lab_list_next(&list, &word)) {
        rungi_string_view name = rungi_string_view_split(&word, '=');
        lab_check_expectation *expectation = &session->expectations[session->expectation_count];
        if (!word.text || word.length == 0 || name.length == 0)
            return lab_set_reason(why, capacity, "--expect: \"%.*s\" is not NAME=FILE.npy", LAB_VIEW(name));
        if (session->expectation_count == LAB_CHECK_EXPECTATIONS_MAX || name.length >= sizeof expectation->name ||
            word.length >= sizeof expectation->file)
            return lab_set_reason(why, capacity, "--expect has more than %d entries, or a name that is too long",
                                  LAB_CHECK_EXPECTATIONS_MAX);
        *expectation = (lab_check_expectation){.wrong = 0};
        snprintf(expectation->name, sizeof expectation->name, "%.*s", LAB_VIEW(name));
        snprintf(expectation->file, sizeof expectation->file, "%.*s", LAB_VIEW(word));
        session->expectation_count++;
    }
    return true;
}

/* The tolerance of a type, for results whose sums have another order than those of the file. */
static double tolerance_of(const lab_check_session *session, lab_element_type type)
{
    if (session->tolerance >= 0)
        return session->tolerance;
    return type == LAB_ELEMENT_f64 ? 1e-12 : type == LAB_ELEMENT_f32 ? 1e-5 : type == LAB_ELEMENT_f16 ? 2e-3 : 1.6e-2;
}

static double npy_element(const lab_npy_array *npy, lab_element_type type, const void *chunk, int64_t index)
{
    bool is_bf16 = type == LAB_ELEMENT_bf16 && npy->type == LAB_ELEMENT_u16;
    return lab_element_read(is_bf16 ? LAB_ELEMENT_bf16 : npy->type, chunk, index);
}

static void compare_element(lab_check_expectation *expectation, int64_t index, double got, double expected,
                            bool is_right)
{
    double difference = fabs(got - expected);
    if (difference > expectation->largest && difference < INFINITY)
        expectation->largest = difference;
    if (!is_right && expectation->wrong++ == 0) {
        expectation->first = index;
        expectation->got = got;
        expectation->expected = expected;
    }
}

static bool is_close(double got, double expected, double bound)
{
    return got == expected || (isnan(got) && isnan(expected)) || fabs(got - expected) <= bound;
}

/* Reads the file in chunks: first for the mean magnitude, then to compare. */
static bool compare_chunks(lab_check_session *session, lab_check_expectation *expectation, lab_npy_array *npy,
                           double *mean, bool compares)
{
    const lab_check_array *array = expectation->array;
    int64_t bytes = lab_element_type_bytes(array->type), own = lab_element_type_bytes(npy->type);
    bool is_exact = lab_element_type_kind(array->type) != LAB_KIND_FLOAT &&
                    lab_element_type_kind(npy->type) != LAB_KIND_FLOAT;
    double tolerance = is_exact ? 0 : tolerance_of(session, array->type), sum = 0;
    char *got = malloc(CHUNK_BYTES), *expected = malloc(CHUNK_BYTES);
    bool good = got && expected;
    for (int64_t first = 0; good && first < array->count; first += CHUNK) {
        int64_t count = rungi_min(array->count - first, CHUNK);
        good = fread(expected, (size_t)own, (size_t)count, npy->file) == (size_t)count &&
               rung_emulator_read(session->emulator, array->address + (uint64_t)(first * bytes), got, count * bytes) ==
                   RUNG_OK;
        for (int64_t i = 0; good && i < count; i++) {
            double value = npy_element(npy, array->type, expected, i);
            sum += isfinite(value) ? fabs(value) : 0;
            if (!compares)
                continue;
            double result = lab_element_read(array->type, got, i);
            bool is_right = is_exact ? lab_element_read_integer(array->type, got, i) ==
                                           lab_element_read_integer(npy->type, expected, i)
                                     : is_close(result, value, tolerance * (fabs(value) + *mean));
            compare_element(expectation, first + i, result, value, is_right);
        }
    }
    *mean = compares ? *mean : sum / (double)array->count;
    free(got);
    free(expected);
    return good;
}

/* Opens the file of an expectation, and checks that it fits the array. */
static bool open_expected(const lab_check_expectation *expectation, lab_npy_array *npy, char *why, size_t capacity)
{
    const lab_check_array *array = expectation->array;
    char reason[1024];
    if (!lab_npy_array_open(expectation->file, npy, reason, sizeof reason))
        return lab_set_reason(why, capacity, "--expect: %s", reason);
    if (npy->count != array->count)
        return lab_set_reason(why, capacity, "--expect: %s has %lld elements, but %s has %lld", array->name,
                              (long long)array->count, expectation->file, (long long)npy->count);
    return true;
}

/* Finds the arrays of --expect, and opens the files once, so that mistakes are reported before the run. */
static bool plan_expectations(lab_check_session *session, char *why, size_t capacity)
{
    for (int i = 0; i < session->expectation_count; i++) {
        lab_check_expectation *expectation = &session->expectations[i];
        lab_npy_array npy = {.file = NULL};
        expectation->array = lab_check_find_array(session,
                                                  rungi_string_view_of(expectation->name, strlen(expectation->name)));
        if (!expectation->array) {
            char names[512] = "";
            for (int a = 0; a < session->array_count; a++)
                lab_append(names, sizeof names, "%s%s", a > 0 ? ", " : "", session->arrays[a].name);
            return lab_set_reason(why, capacity, "--expect: there is no array %s; the arrays are: %s",
                                  expectation->name, *names ? names : "none");
        }
        bool good = open_expected(expectation, &npy, why, capacity);
        lab_npy_array_close(&npy);
        if (!good)
            return false;
    }
    return true;
}

bool lab_check_compare(lab_check_session *session, lab_check_expectation *expectation, char *why, size_t capacity)
{
    double mean = 0;
    for (int compares = 0; compares < 2; compares++) {
        lab_npy_array npy = {.file = NULL};
        bool good = open_expected(expectation, &npy, why, capacity);
        if (good && !compare_chunks(session, expectation, &npy, &mean, compares == 1))
            good = lab_set_reason(why, capacity, "--expect: %s cannot be read", expectation->file);
        lab_npy_array_close(&npy);
        if (!good)
            return false;
    }
    return true;
}

bool lab_check_plan(lab_check_session *session, char *why, size_t capacity)
{
    return plan_arrays(session, why, capacity) && check_memory(session, why, capacity) &&
           plan_expectations(session, why, capacity);
}
