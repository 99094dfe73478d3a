/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - tuning records as text: see store.h. No file is touched here, so that a fuzzer can
 * feed it anything. */
#include "core/lists.h"
#include "core/store.h"

#include <stdio.h>
#include <string.h>

#include "core/assert.h"
#include "core/checked.h"
#include "core/problem.h"

/* ---- Words -------------------------------------------------------------------------------- */

/* By byte and not by locale. */
static bool is_between(char letter, char first, char last)
{
    return letter >= first && letter <= last;
}

static bool is_plain(char letter)
{
    return is_between(letter, '!', '~') && letter != '%';
}

void rungi_store_escape(const char *text, char *word, size_t capacity)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t used = 0;
    if (!*text && capacity > 1)
        word[used++] = '%';
    for (; *text && used + 4 <= capacity; text++) {
        unsigned char byte = (unsigned char)*text;
        if (is_plain(*text)) {
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

/* Whether rungi_store_escape can have written it: words are compared as they stand. */
static bool is_escaped(rungi_slice word)
{
    if (word.length == 1 && word.text[0] == '%')
        return true;
    for (size_t i = 0; i < word.length; i++) {
        if (is_plain(word.text[i]))
            continue;
        if (word.text[i] != '%' || word.length - i < 3)
            return false;
        int high = hex_value(word.text[i + 1]), low = hex_value(word.text[i + 2]);
        if (high < 0 || low < 0 || high * 16 + low == 0 || is_plain((char)(high * 16 + low)))
            return false;
        i += 2;
    }
    return word.length > 0;
}

static bool is_word(rungi_slice slice, const char *word)
{
    return slice.length == strlen(word) && memcmp(slice.text, word, slice.length) == 0;
}

static bool is_name(rungi_slice slice, size_t most)
{
    for (size_t i = 0; i < slice.length; i++)
        if (!is_between(slice.text[i], 'a', 'z') && !is_between(slice.text[i], 'A', 'Z') &&
            !is_between(slice.text[i], '0', '9') && slice.text[i] != '_')
            return false;
    return slice.length > 0 && slice.length <= most;
}

/* What stands before the next such letter; `rest` goes on behind it, and is NULL at the end. */
static rungi_slice cut_off(rungi_slice *rest, char letter)
{
    RUNGI_ASSERT(rest->text);
    const char *end = memchr(rest->text, letter, rest->length);
    size_t length = end ? (size_t)(end - rest->text) : rest->length;
    rungi_slice word = {rest->text, length};
    *rest = end ? (rungi_slice){end + 1, rest->length - length - 1} : (rungi_slice){NULL, 0};
    return word;
}

/* Digits alone, of a number up to `most`. */
static bool read_number(rungi_slice slice, int64_t most, int64_t *number)
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

/* ---- Keys --------------------------------------------------------------------------------- */

/* Tiles of C have 16 to 256 rows and columns, so below 1,024 each step of four changes which
 * of them suit; from a few thousand on, more of the same changes nothing. */
static const int64_t order_ends[RUNGI_ORDERS - 1] = {16, 64, 256, 1024, 4096};
static const char *const order_words[RUNGI_ORDERS] = {"16", "64", "256", "1024", "4096", "more"};

static int order_of(int64_t size)
{
    int order = 0;
    while (order < RUNGI_ORDERS - 1 && size > order_ends[order])
        order++;
    return order;
}

/* Along which of its sides a matrix may be read piece by piece. */
static char layout_of(const rung_matrix *matrix)
{
    return (char)(matrix->col_stride == 1 ? 'r' : matrix->row_stride == 1 ? 'c' : 's');
}

void rungi_tuning_key_of(const rung_device *device, const rung_problem *problem, rungi_tuning_key *key)
{
    const rung_device_info *info = &device->info;
    enum { PART = 127 }; /* bytes of a text that count; keys in existing files were written with this limit */
    char whole_driver[2 * PART + 2], whole_title[PART + 25];
    char title[3 * sizeof whole_title], driver[3 * sizeof whole_driver];
    snprintf(whole_title, sizeof whole_title, "%.*s x%lld", PART, info->title, (long long)info->compute_units);
    snprintf(whole_driver, sizeof whole_driver, "%.*s %.*s", PART, info->platform, PART, info->driver);
    rungi_store_escape(whole_title, title, sizeof title);
    rungi_store_escape(whole_driver, driver, sizeof driver);
    snprintf(key->whose, sizeof key->whose, "%s %s %s %s %s %c%c%c", device->backend->name, title, driver,
             rungi_product_name(rungi_product_of(problem->a.type, problem->b.type, problem->c.type)),
             rung_compute_name(problem->compute), layout_of(&problem->a), layout_of(&problem->b),
             layout_of(&problem->c));
    key->order[0] = order_of(problem->c.rows);
    key->order[1] = order_of(problem->c.cols);
    key->order[2] = order_of(problem->a.cols);
    key->is_batch = problem->batch != 1;
}

void rungi_tuning_key_text(const rungi_tuning_key *key, char text[RUNGI_STORE_KEY])
{
    snprintf(text, RUNGI_STORE_KEY, "%s %sx%sx%s %s", key->whose, order_words[key->order[0]],
             order_words[key->order[1]], order_words[key->order[2]], key->is_batch ? "batch" : "one");
}

/* ---- A line --------------------------------------------------------------------------------- */

enum { BACKEND, DEVICE, DRIVER, PRODUCT, COMPUTE, LAYOUT, SHAPE, BATCH, KERNEL, PARAMETERS, GFLOPS, WORDS };

static bool split_line(const char *line, size_t length, rungi_slice words[WORDS])
{
    rungi_slice rest = {line, length};
    for (int i = 0; i < WORDS; i++) {
        if (!rest.text)
            return false;
        words[i] = cut_off(&rest, ' ');
        if (words[i].length == 0)
            return false;
    }
    return !rest.text;
}

static bool is_product(rungi_slice word)
{
    for (int i = 0; i < RUNGI_PRODUCT_COUNT; i++)
        if (is_word(word, rungi_product_name((rungi_product)i)))
            return true;
    return false;
}

static bool is_compute(rungi_slice word)
{
    for (int i = 0; i < RUNGI_COMPUTE_COUNT; i++)
        if (is_word(word, rung_compute_name((rung_compute)i)))
            return true;
    return false;
}

static bool is_layout(rungi_slice word)
{
    for (size_t i = 0; i < word.length; i++)
        if (word.text[i] != 'r' && word.text[i] != 'c' && word.text[i] != 's')
            return false;
    return word.length == 3;
}

static bool read_shape(rungi_slice word, int order[3])
{
    for (int i = 0; i < 3; i++) {
        if (!word.text)
            return false;
        rungi_slice size = cut_off(&word, 'x');
        order[i] = 0;
        while (order[i] < RUNGI_ORDERS && !is_word(size, order_words[order[i]]))
            order[i]++;
        if (order[i] == RUNGI_ORDERS)
            return false;
    }
    return !word.text;
}

/* "-", or NAME=number and more of them. Which a kernel has, and takes, is its own to say. */
static bool is_parameters(rungi_slice word)
{
    int64_t number, count = 0;
    if (is_word(word, "-"))
        return true;
    if (word.length >= RUNG_PARAMETERS_BYTES)
        return false;
    while (word.text) {
        rungi_slice value = cut_off(&word, ',');
        rungi_slice name = cut_off(&value, '=');
        if (!value.text || !is_name(name, RUNGI_PARAMETER_NAME) || !read_number(value, INT32_MAX, &number) ||
            ++count > RUNGI_PARAMETERS_MAX)
            return false;
    }
    return true;
}

/* "812" or "812.5", three digits behind the point at most. Not strtod, which asks the
 * locale what a point is. */
static bool read_thousandths(rungi_slice word, int64_t *thousandths)
{
    int64_t whole, part = 0;
    rungi_slice before = cut_off(&word, '.');
    if (!read_number(before, 999999999, &whole))
        return false;
    if (word.text && (word.length > 3 || !read_number(word, 999, &part)))
        return false;
    for (size_t i = word.text ? word.length : 3; i < 3; i++)
        part *= 10;
    *thousandths = whole * 1000 + part;
    return true;
}

static rungi_slice from_to(const rungi_slice *first, const rungi_slice *last)
{
    return (rungi_slice){first->text, (size_t)(last->text + last->length - first->text)};
}

const char *rungi_record_parse(const char *line, size_t length, rungi_record *record)
{
    rungi_slice words[WORDS];
    memset(record, 0, sizeof *record);
    if (length >= RUNGI_STORE_LINE)
        return "the line is too long";
    if (memchr(line, '\0', length))
        return "the line contains a NUL byte";
    if (length > 0 && line[length - 1] == '\r')
        return "the line ends in a carriage return; lines must end in a newline only";
    if (!split_line(line, length, words))
        return "a record has eleven words, separated by single spaces";
    enum { BACKEND_MAX = 15 };
    if (!is_name(words[BACKEND], BACKEND_MAX) || !is_escaped(words[DEVICE]) || !is_escaped(words[DRIVER]))
        return "the backend, device or driver is not in the form that the library writes";
    if (!is_product(words[PRODUCT]) || !is_compute(words[COMPUTE]) || !is_layout(words[LAYOUT]))
        return "the types, compute mode or layout are unknown";
    record->is_batch = is_word(words[BATCH], "batch");
    if (!read_shape(words[SHAPE], record->order) || !(record->is_batch || is_word(words[BATCH], "one")))
        return "the shape or batch is invalid";
    if (!is_name(words[KERNEL], RUNGI_STORE_NAME - 1) || !is_parameters(words[PARAMETERS]))
        return "the kernel or its parameters are invalid";
    if (!read_thousandths(words[GFLOPS], &record->mflops))
        return "the last word is not a number of GFLOPS";
    record->line = (rungi_slice){line, length};
    record->whose = from_to(&words[BACKEND], &words[LAYOUT]);
    record->key = from_to(&words[BACKEND], &words[BATCH]);
    record->kernel = words[KERNEL];
    record->parameters = is_word(words[PARAMETERS], "-") ? (rungi_slice){"", 0} : words[PARAMETERS];
    return record->key.length < RUNGI_STORE_KEY ? NULL : "its key is too long";
}

size_t rungi_record_write(const rungi_tuning_key *key, const char *kernel, const char *parameters, int64_t mflops,
                          char line[RUNGI_STORE_LINE])
{
    char text[RUNGI_STORE_KEY];
    rungi_tuning_key_text(key, text);
    int length = snprintf(line, RUNGI_STORE_LINE, "%s %s %s %lld.%03lld\n", text, kernel,
                          *parameters ? parameters : "-", (long long)(mflops / 1000), (long long)(mflops % 1000));
    return length > 0 && length < RUNGI_STORE_LINE ? (size_t)length : 0;
}

/* ---- A file's text ---------------------------------------------------------------------------- */

void rungi_records_free(rung_context *context, rungi_records *records)
{
    if (!records)
        return;
    rungi_release(context, records->text);
    rungi_release(context, records->name);
    rungi_release(context, records->records);
    rungi_release(context, records);
}

/* The first few in full, for whoever wants to mend the file. */
enum { TOLD = 16 };

_Static_assert(RUNGI_STORE_RECORDS == 4096, "a sentence below says so");

static void skip(rung_context *context, rungi_records *records, int64_t number, const char *why)
{
    if (records->skipped++ < TOLD)
        rungi_log(context, 2, "rung: tuning: %s:%lld is skipped: %s", records->name, (long long)number, why);
}

/* One line; `is_ended` is false for a last one without a newline. */
static void add_line(rung_context *context, rungi_records *records, rungi_slice line, int64_t number, bool is_ended)
{
    rungi_record record;
    if (line.length == 0 || line.text[0] == '#')
        return;
    if (records->count == RUNGI_STORE_RECORDS) {
        skip(context, records, number, "a tuning file has at most 4096 records");
        return;
    }
    const char *wrong = is_ended ? rungi_record_parse(line.text, line.length, &record)
                                 : "the line has no newline and may be truncated";
    if (wrong) {
        skip(context, records, number, wrong);
        return;
    }
    record.number = number;
    records->records[records->count++] = record;
}

static void add_lines(rung_context *context, rungi_records *records)
{
    rungi_slice rest = {records->text, (size_t)records->bytes};
    rungi_slice head = cut_off(&rest, '\n');
    if (!rest.text || !is_word(head, RUNGI_STORE_HEAD)) {
        skip(context, records, 1, "the first line of a store is \"" RUNGI_STORE_HEAD "\"; the rest is not read");
        return;
    }
    for (int64_t number = 2; rest.text; number++) {
        rungi_slice line = cut_off(&rest, '\n');
        add_line(context, records, line, number, rest.text != NULL);
    }
}

static int64_t count_lines(const char *text, int64_t bytes)
{
    int64_t lines = 0;
    for (int64_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    return lines;
}

static char *copy_text(rung_context *context, const char *text)
{
    char *copy = rungi_new(context, strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}

rung_status rungi_records_parse(rung_context *context, const char *name, char *text, int64_t bytes, rungi_records **out)
{
    int64_t room = rungi_smaller(count_lines(text, bytes), RUNGI_STORE_RECORDS);
    rungi_records *records = rungi_new(context, sizeof *records);
    *out = NULL;
    if (!records) {
        rungi_release(context, text);
        return RUNG_STATUS_NO_MEMORY;
    }
    records->text = text;
    records->bytes = bytes;
    records->name = copy_text(context, name);
    records->records = records->name ? rungi_new(context, (size_t)(room + 1) * sizeof *records->records) : NULL;
    if (!records->records) {
        rungi_records_free(context, records);
        return RUNG_STATUS_NO_MEMORY;
    }
    add_lines(context, records);
    RUNGI_ASSERT(records->count <= room + 1);
    *out = records;
    return RUNG_OK;
}

/* ---- Finding ------------------------------------------------------------------------------------ */

/* Whether a record is for just such problems. */
static bool is_for(const rungi_record *record, const rungi_tuning_key *key)
{
    return !record->is_passed_over && record->is_batch == key->is_batch && is_word(record->whose, key->whose) &&
           memcmp(record->order, key->order, sizeof record->order) == 0;
}

static void propose(const rungi_records *records, const rungi_record *record, rungi_proposal *proposal)
{
    RUNGI_ASSERT(record->kernel.length < sizeof proposal->kernel &&
                 record->parameters.length < sizeof proposal->parameters); /* rungi_record_parse() checked them */
    snprintf(proposal->kernel, sizeof proposal->kernel, "%.*s", (int)record->kernel.length, record->kernel.text);
    snprintf(proposal->parameters, sizeof proposal->parameters, "%.*s", (int)record->parameters.length,
             record->parameters.text);
    /* A path's end tells more than its beginning. */
    size_t length = strlen(records->name), most = sizeof proposal->origin - 24;
    snprintf(proposal->origin, sizeof proposal->origin, "%s:%lld", records->name + (length > most ? length - most : 0),
             (long long)record->number);
}

/* By what it says, since another thread may have replaced what it was made of. */
void rungi_records_pass_over(rungi_records *records, const rungi_proposal *proposal)
{
    for (; records; records = records->next)
        for (int64_t i = 0; i < records->count; i++) {
            rungi_record *record = &records->records[i];
            rungi_proposal again;
            if (!is_word(record->kernel, proposal->kernel) || !is_word(record->parameters, proposal->parameters))
                continue;
            propose(records, record, &again);
            record->is_passed_over = record->is_passed_over || strcmp(again.origin, proposal->origin) == 0;
        }
}

void rungi_records_forget(rungi_records *records, const char *name, const rungi_tuning_key *key)
{
    for (; records; records = records->next)
        for (int64_t i = 0; strcmp(records->name, name) == 0 && i < records->count; i++)
            if (is_for(&records->records[i], key))
                records->records[i].is_passed_over = true;
}

int rungi_records_find(const rungi_records *records, const rungi_tuning_key *key, rungi_proposal found[RUNGI_PROPOSALS])
{
    int count = 0;
    for (; records; records = records->next)
        for (int64_t i = records->count - 1; i >= 0 && count < RUNGI_PROPOSALS; i--)
            if (is_for(&records->records[i], key))
                propose(records, &records->records[i], &found[count++]);
    return count;
}
