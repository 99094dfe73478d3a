/* SPDX-License-Identifier: Apache-2.0 */
/* tuning_record.c - parses, formats and finds tuning records. Works on text only, so that a fuzzer can test it. */
#include "core/choose/tuning_record.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "core/enum_counts.h"

/* ---- Words ------------------------------------------------------------------------------------------------------- */

/* Compares bytes, independent of the locale. */
static bool is_between(char letter, char first, char last)
{
    return letter >= first && letter <= last;
}

static bool is_unescaped(char letter)
{
    return is_between(letter, '!', '~') && letter != '%';
}

void rungi_tuning_escape(const char *text, char *word, size_t capacity)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t used = 0;
    if (!*text && capacity > 1)
        word[used++] = '%';
    for (; *text && used + 4 <= capacity; text++) {
        unsigned char byte = (unsigned char)*text;
        if (is_unescaped(*text)) {
            word[used++] = *text;
            continue;
        }
        word[used++] = '%';
        word[used++] = digits[byte >> 4];
        word[used++] = digits[byte & 15];
    }
    word[used] = '\0';
}

static int hex_value(char digit)
{
    if (is_between(digit, '0', '9'))
        return digit - '0';
    return is_between(digit, 'A', 'F') ? digit - 'A' + 10 : -1;
}

/* Returns whether rungi_tuning_escape() can have written the word. Words are compared without decoding them. */
static bool is_valid_escaped(rungi_string_view word)
{
    if (word.length == 1 && word.text[0] == '%')
        return true;
    for (size_t i = 0; i < word.length; i++) {
        if (is_unescaped(word.text[i]))
            continue;
        if (word.text[i] != '%' || word.length - i < 3)
            return false;
        int high = hex_value(word.text[i + 1]), low = hex_value(word.text[i + 2]);
        if (high < 0 || low < 0 || high * 16 + low == 0 || is_unescaped((char)(high * 16 + low)))
            return false;
        i += 2;
    }
    return word.length > 0;
}

static bool is_name(rungi_string_view slice, size_t most)
{
    for (size_t i = 0; i < slice.length; i++)
        if (!rungi_is_name_character(slice.text[i]))
            return false;
    return slice.length > 0 && slice.length <= most;
}

/* Parses a decimal number up to `most`. */
static bool parse_number(rungi_string_view slice, int64_t most, int64_t *number)
{
    *number = 0;
    if (slice.length == 0 || slice.length > 10)
        return false;
    for (size_t i = 0; i < slice.length; i++) {
        if (!is_between(slice.text[i], '0', '9'))
            return false;
        *number = *number * 10 + (slice.text[i] - '0');
    }
    return *number <= most;
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

/* Tiles of C have 16 to 256 rows and columns, so up to 1,024 each factor of four changes which tiles are fast. Above a
 * few thousand, the size no longer matters. */
static const int64_t size_class_limits[RUNGI_SIZE_CLASS_COUNT - 1] = {16, 64, 256, 1024, 4096};
static const char *const size_class_names[RUNGI_SIZE_CLASS_COUNT] = {"16", "64", "256", "1024", "4096", "more"};

static const char *size_class_of(int64_t size)
{
    int size_class = 0;
    while (size_class < RUNGI_SIZE_CLASS_COUNT - 1 && size > size_class_limits[size_class])
        size_class++;
    return size_class_names[size_class];
}

/* Returns r for contiguous rows, c for contiguous columns, s for other strides. */
static char layout_of(const rung_matrix *matrix)
{
    return (char)(matrix->col_stride == 1 ? 'r' : matrix->row_stride == 1 ? 'c' : 's');
}

void rungi_tuning_key_of(const rung_device *device, const rung_problem *problem, rungi_tuning_key *key)
{
    const rung_device_info *info = &device->info;
    enum { TEXT_MAX = 127 }; /* bytes of each text that a key contains; existing files depend on this limit */
    char whole_driver[2 * TEXT_MAX + 2], whole_title[TEXT_MAX + 25];
    char title[3 * sizeof whole_title], driver[3 * sizeof whole_driver];
    snprintf(whole_title, sizeof whole_title, "%.*s x%lld", TEXT_MAX, info->title, (long long)info->compute_units);
    snprintf(whole_driver, sizeof whole_driver, "%.*s %.*s", TEXT_MAX, info->platform, TEXT_MAX, info->driver);
    rungi_tuning_escape(whole_title, title, sizeof title);
    rungi_tuning_escape(whole_driver, driver, sizeof driver);
    snprintf(key->text, sizeof key->text, "%s %s %s %s %s %c%c%c %sx%sx%s %s", device->backend->name, title, driver,
             rungi_gemm_types_name(rungi_gemm_types_of(problem->a.type, problem->b.type, problem->c.type)),
             rung_compute_name(problem->compute), layout_of(&problem->a), layout_of(&problem->b),
             layout_of(&problem->c), size_class_of(problem->c.rows), size_class_of(problem->c.cols),
             size_class_of(problem->a.cols), problem->batch != 1 ? "batch" : "one");
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

enum { BACKEND, DEVICE, DRIVER, PRODUCT, COMPUTE, LAYOUT, SHAPE, BATCH, KERNEL, PARAMETERS, GFLOPS, WORDS };

static bool split_line(const char *line, size_t length, rungi_string_view words[WORDS])
{
    rungi_string_view rest = {line, length};
    for (int i = 0; i < WORDS; i++) {
        if (!rest.text)
            return false;
        words[i] = rungi_string_view_split(&rest, ' ');
        if (words[i].length == 0)
            return false;
    }
    return !rest.text;
}

static bool is_layout(rungi_string_view word)
{
    for (size_t i = 0; i < word.length; i++)
        if (word.text[i] != 'r' && word.text[i] != 'c' && word.text[i] != 's')
            return false;
    return word.length == 3;
}

static bool is_size_class(rungi_string_view size)
{
    for (int i = 0; i < RUNGI_SIZE_CLASS_COUNT; i++)
        if (rungi_string_view_equals(size, size_class_names[i]))
            return true;
    return false;
}

static bool is_shape(rungi_string_view word)
{
    for (int i = 0; i < 3; i++)
        if (!word.text || !is_size_class(rungi_string_view_split(&word, 'x')))
            return false;
    return !word.text;
}

/* Returns whether the word is "-" or a list of NAME=number. The kernel checks names and values later. */
static bool is_parameters(rungi_string_view word)
{
    int64_t number, count = 0;
    if (rungi_string_view_equals(word, "-"))
        return true;
    if (word.length >= RUNG_PARAMETERS_BYTES)
        return false;
    while (word.text) {
        rungi_string_view value = rungi_string_view_split(&word, ',');
        rungi_string_view name = rungi_string_view_split(&value, '=');
        if (!value.text || !is_name(name, RUNGI_PARAMETER_NAME_MAX) || !parse_number(value, INT32_MAX, &number) ||
            ++count > RUNGI_PARAMETERS_MAX)
            return false;
    }
    return true;
}

/* Parses "812" or "812.5", with at most three decimals. strtod() would depend on the locale. */
static bool parse_gflops(rungi_string_view word, int64_t *thousandths)
{
    int64_t whole, decimals = 0;
    if (!parse_number(rungi_string_view_split(&word, '.'), 999999999, &whole))
        return false;
    if (word.text && (word.length > 3 || !parse_number(word, 999, &decimals)))
        return false;
    for (size_t i = word.text ? word.length : 3; i < 3; i++)
        decimals *= 10;
    *thousandths = whole * 1000 + decimals;
    return true;
}

const char *rungi_tuning_record_parse(const char *line, size_t length, rungi_tuning_record *record)
{
    rungi_string_view words[WORDS];
    memset(record, 0, sizeof *record);
    if (length >= RUNGI_TUNING_LINE_BYTES)
        return "the line is too long";
    if (memchr(line, '\0', length))
        return "the line contains a NUL byte";
    if (length > 0 && line[length - 1] == '\r')
        return "the line ends in a carriage return; lines must end in a newline only";
    if (!split_line(line, length, words))
        return "a record has eleven words, separated by single spaces";
    enum { BACKEND_NAME_MAX = 15 };
    if (!is_name(words[BACKEND], BACKEND_NAME_MAX) || !is_valid_escaped(words[DEVICE]) ||
        !is_valid_escaped(words[DRIVER]))
        return "the backend, device or driver is not in the form that the library writes";
    if (rungi_gemm_types_find(words[PRODUCT]) == RUNGI_GEMM_TYPES_COUNT ||
        rungi_compute_find(words[COMPUTE]) == RUNGI_COMPUTE_COUNT || !is_layout(words[LAYOUT]))
        return "the types, compute mode or layout are unknown";
    if (!is_shape(words[SHAPE]) ||
        !(rungi_string_view_equals(words[BATCH], "batch") || rungi_string_view_equals(words[BATCH], "one")))
        return "the shape or batch is invalid";
    if (!is_name(words[KERNEL], RUNGI_TUNING_KERNEL_NAME_BYTES - 1) || !is_parameters(words[PARAMETERS]))
        return "the kernel or its parameters are invalid";
    if (!parse_gflops(words[GFLOPS], &record->mflops))
        return "the last word is not a number of GFLOPS";
    record->line = (rungi_string_view){line, length};
    record->key = (rungi_string_view){line, (size_t)(words[KERNEL].text - line) - 1};
    record->kernel = words[KERNEL];
    record->parameters = rungi_string_view_equals(words[PARAMETERS], "-") ? (rungi_string_view){"", 0}
                                                                          : words[PARAMETERS];
    return record->key.length < RUNGI_TUNING_KEY_BYTES ? NULL : "the key is too long";
}

size_t rungi_tuning_record_format(const rungi_tuning_key *key, const char *kernel, const char *parameters,
                                  int64_t mflops, char line[RUNGI_TUNING_LINE_BYTES])
{
    int length = snprintf(line, RUNGI_TUNING_LINE_BYTES, "%s %s %s %lld.%03lld\n", key->text, kernel,
                          *parameters ? parameters : "-", (long long)(mflops / 1000), (long long)(mflops % 1000));
    return length > 0 && length < RUNGI_TUNING_LINE_BYTES ? (size_t)length : 0;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

void rungi_tuning_records_free(rung_context *context, rungi_tuning_records *list)
{
    while (list) {
        rungi_tuning_records *records = list;
        list = records->next;
        rungi_release(context, records->text);
        rungi_release(context, records->name);
        rungi_release(context, records->records);
        rungi_release(context, records);
    }
}

/* Only the first skipped lines of a file are logged. */
enum { SKIPPED_LINES_LOGGED = 16 };

_Static_assert(RUNGI_TUNING_FILE_RECORDS_MAX == 4096, "a message below has this number");

static void log_skipped_line(rung_context *context, rungi_tuning_records *records, int64_t number, const char *reason)
{
    if (records->skipped++ < SKIPPED_LINES_LOGGED)
        rungi_log(context, 2, "rung: tuning: %s:%lld is skipped: %s", records->name, (long long)number, reason);
}

/* Adds a line. `has_newline` is false for a last line without a newline. */
static void add_line(rung_context *context, rungi_tuning_records *records, rungi_string_view line, int64_t number,
                     bool has_newline)
{
    rungi_tuning_record record;
    if (line.length == 0 || line.text[0] == '#')
        return;
    if (records->count == RUNGI_TUNING_FILE_RECORDS_MAX) {
        log_skipped_line(context, records, number, "a tuning file has at most 4096 records");
        return;
    }
    const char *error = has_newline ? rungi_tuning_record_parse(line.text, line.length, &record)
                                    : "the line has no newline and may be truncated";
    if (error) {
        log_skipped_line(context, records, number, error);
        return;
    }
    record.number = number;
    records->records[records->count++] = record;
}

static void add_lines(rung_context *context, rungi_tuning_records *records)
{
    rungi_string_view rest = {records->text, (size_t)records->bytes};
    rungi_string_view head = rungi_string_view_split(&rest, '\n');
    if (!rest.text || !rungi_string_view_equals(head, RUNGI_TUNING_FILE_HEADER)) {
        log_skipped_line(context, records, 1,
                         "the first line of a tuning file must be \"" RUNGI_TUNING_FILE_HEADER
                         "\"; the rest is not read");
        return;
    }
    for (int64_t number = 2; rest.text; number++) {
        rungi_string_view line = rungi_string_view_split(&rest, '\n');
        add_line(context, records, line, number, rest.text != NULL);
    }
}

rung_status rungi_tuning_records_parse(rung_context *context, const char *name, char *text, int64_t bytes,
                                       rungi_tuning_records **out)
{
    int64_t lines = 0;
    for (int64_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    int64_t capacity = rungi_min(lines, RUNGI_TUNING_FILE_RECORDS_MAX);
    rungi_tuning_records *records = rungi_allocate_zeroed(context, sizeof *records);
    *out = NULL;
    if (!records) {
        rungi_release(context, text);
        return RUNG_STATUS_NO_MEMORY;
    }
    records->text = text;
    records->bytes = bytes;
    records->name = rungi_allocate_zeroed(context, strlen(name) + 1);
    records->records = rungi_allocate_zeroed(context, (size_t)(capacity + 1) * sizeof *records->records);
    if (!records->name || !records->records) {
        rungi_tuning_records_free(context, records);
        return RUNG_STATUS_NO_MEMORY;
    }
    strcpy(records->name, name);
    add_lines(context, records);
    RUNGI_ASSERT(records->count <= capacity + 1);
    *out = records;
    return RUNG_OK;
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

static bool matches_key(const rungi_tuning_record *record, const rungi_tuning_key *key)
{
    return !record->is_disabled && rungi_string_view_equals(record->key, key->text);
}

static void make_proposal(const rungi_tuning_records *records, const rungi_tuning_record *record,
                          rungi_tuning_proposal *proposal)
{
    RUNGI_ASSERT(record->kernel.length < sizeof proposal->kernel &&
                 record->parameters.length <
                     sizeof proposal->parameters); /* rungi_tuning_record_parse() checked them */
    snprintf(proposal->kernel, sizeof proposal->kernel, "%.*s", (int)record->kernel.length, record->kernel.text);
    snprintf(proposal->parameters, sizeof proposal->parameters, "%.*s", (int)record->parameters.length,
             record->parameters.text);
    /* Of a long path, the end identifies the file. */
    size_t length = strlen(records->name), most = sizeof proposal->origin - 24;
    snprintf(proposal->origin, sizeof proposal->origin, "%s:%lld", records->name + (length > most ? length - most : 0),
             (long long)record->number);
}

/* Compares texts, since another thread may have replaced the records since the lookup. */
void rungi_tuning_records_disable(rungi_tuning_records *records, const rungi_tuning_proposal *proposal)
{
    for (; records; records = records->next)
        for (int64_t i = 0; i < records->count; i++) {
            rungi_tuning_record *record = &records->records[i];
            rungi_tuning_proposal other;
            if (!rungi_string_view_equals(record->kernel, proposal->kernel) ||
                !rungi_string_view_equals(record->parameters, proposal->parameters))
                continue;
            make_proposal(records, record, &other);
            record->is_disabled = record->is_disabled || strcmp(other.origin, proposal->origin) == 0;
        }
}

void rungi_tuning_records_disable_key(rungi_tuning_records *records, const rungi_tuning_key *key)
{
    for (int64_t i = 0; i < records->count; i++)
        if (matches_key(&records->records[i], key))
            records->records[i].is_disabled = true;
}

int rungi_tuning_records_find(const rungi_tuning_records *records, const rungi_tuning_key *key,
                              rungi_tuning_proposal found[RUNGI_TUNING_PROPOSALS_MAX])
{
    int count = 0;
    for (; records; records = records->next)
        for (int64_t i = records->count - 1; i >= 0 && count < RUNGI_TUNING_PROPOSALS_MAX; i--)
            if (matches_key(&records->records[i], key))
                make_proposal(records, &records->records[i], &found[count++]);
    return count;
}
