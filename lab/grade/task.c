/* SPDX-License-Identifier: Apache-2.0 */
/* task.c - reads task.toml and checks everything in it, so that the rest of lab/grade can rely on it. */
#include "grade/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "common/enum_names.h"
#include "common/failure.h"
#include "common/text.h"
#include "findings/finding_fix.h"
#include "io/input_file.h"
#include "io/toml_reader.h"

enum { SIZE_MAX_VALUE = 1 << 28, COUNT_MAX = 10000 };

#define METRIC_WORD(name, word, unit) word,
#define METRIC_UNIT(name, word, unit) unit,
LAB_DEFINE_ENUM_TEXT(lab_metric_name, lab_metric, LAB_METRIC_LIST, METRIC_WORD)
LAB_DEFINE_ENUM_TEXT(lab_metric_unit, lab_metric, LAB_METRIC_LIST, METRIC_UNIT)
LAB_DEFINE_STATIC_ENUM_TEXT(role_name, lab_role, LAB_ROLE_LIST, LAB_ENUM_WORD)

/* A table that is being read, and where problems are reported. */
typedef struct reader {
    lab_task *task;
    lab_toml_table *table;
    char *why;
    size_t capacity;
} reader_t;

/* ---- Values ---- */

/* Reports a problem with a key. Returns false. */
static bool fail(const reader_t *reader, const char *key, const char *problem)
{
    return lab_set_reason(reader->why, reader->capacity, "line %d: %s %s", lab_toml_line(reader->table, key), key,
                          problem);
}

/* Finds a value of one kind. *value is NULL if an optional key is missing. */
static bool find(const reader_t *reader, const char *key, lab_toml_kind kind, bool is_required,
                 const lab_toml_value **value)
{
    *value = lab_toml_find(reader->table, key);
    if (!*value)
        return !is_required || fail(reader, key, "is missing");
    if ((*value)->kind == kind || (kind == LAB_TOML_FLOAT && (*value)->kind == LAB_TOML_INTEGER))
        return true;
    return lab_set_reason(reader->why, reader->capacity, "line %d: %s is %s; it must be %s",
                          lab_toml_line(reader->table, key), key, lab_toml_kind_text((*value)->kind),
                          lab_toml_kind_text(kind));
}

static bool read_text(const reader_t *reader, const char *key, const char *otherwise, const char **text)
{
    const lab_toml_value *value;
    if (!find(reader, key, LAB_TOML_STRING, !otherwise, &value))
        return false;
    *text = value ? value->text : otherwise;
    return otherwise || **text || fail(reader, key, "is empty");
}

static bool read_integer(const reader_t *reader, const char *key, int64_t otherwise, int64_t least, int64_t most,
                         int64_t *number)
{
    const lab_toml_value *value;
    if (!find(reader, key, LAB_TOML_INTEGER, otherwise < least, &value))
        return false;
    *number = value ? value->integer : otherwise;
    if (*number >= least && *number <= most)
        return true;
    return lab_set_reason(reader->why, reader->capacity, "line %d: %s is %lld; valid values are %lld to %lld",
                          lab_toml_line(reader->table, key), key, (long long)*number, (long long)least,
                          (long long)most);
}

static bool read_number(const reader_t *reader, const char *key, double otherwise, double *number)
{
    const lab_toml_value *value;
    if (!find(reader, key, LAB_TOML_FLOAT, false, &value))
        return false;
    *number = value ? value->number : otherwise;
    return true;
}

static bool read_flag(const reader_t *reader, const char *key, bool *flag)
{
    const lab_toml_value *value;
    if (!find(reader, key, LAB_TOML_BOOLEAN, false, &value))
        return false;
    *flag = value && value->integer;
    return true;
}

/* ---- Expressions ---- */

bool lab_task_evaluate(const lab_task *task, const int64_t *sizes, const char *expression, int64_t *value, char *why,
                       size_t capacity)
{
    lab_integer_name names[LAB_TASK_SIZES_MAX + LAB_TASK_VARIABLES_MAX];
    int count = 0;
    for (int i = 0; i < task->size_count; i++)
        names[count++] = (lab_integer_name){rungi_string_view_of(task->sizes[i], strlen(task->sizes[i])), sizes[i]};
    for (int i = 0; i < task->variable_count; i++) {
        const lab_task_variable *variable = &task->variables[i];
        names[count].name = rungi_string_view_of(variable->name, strlen(variable->name));
        names[count++].value = lab_task_value(variable);
    }
    return lab_integer_evaluate(rungi_string_view_of(expression, strlen(expression)), names, count, value, why,
                                capacity);
}

void lab_task_describe_shape(const lab_task *task, const int64_t *sizes, char *text, size_t capacity)
{
    *text = '\0';
    for (int i = 0; i < task->size_count; i++)
        lab_append(text, capacity, "%s%s = %lld", i > 0 ? ", " : "", task->sizes[i], (long long)sizes[i]);
}

/* Reads an expression and evaluates it with every size 1, so that unknown names are found. */
static bool read_expression(const reader_t *reader, const char *key, const char *otherwise, const char **expression)
{
    int64_t ones[LAB_TASK_SIZES_MAX], value;
    char reason[512];
    for (int i = 0; i < LAB_TASK_SIZES_MAX; i++)
        ones[i] = 1;
    if (!read_text(reader, key, otherwise, expression))
        return false;
    if (**expression && !lab_task_evaluate(reader->task, ones, *expression, &value, reason, sizeof reason))
        return lab_set_reason(reader->why, reader->capacity, "line %d: %s: %s", lab_toml_line(reader->table, key), key,
                              reason);
    return true;
}

/* ---- Sizes ---- */

static bool is_name(const char *text)
{
    size_t length = 0;
    while (rungi_is_name_character(text[length]))
        length++;
    return length > 0 && text[length] == '\0' && !(*text >= '0' && *text <= '9') && length < 64;
}

static bool read_sizes(reader_t *reader)
{
    const lab_toml_value *list;
    if (!find(reader, "sizes", LAB_TOML_ARRAY, true, &list))
        return false;
    if (list->count < 1 || list->count > LAB_TASK_SIZES_MAX)
        return lab_set_reason(reader->why, reader->capacity, "line %d: sizes has %d names; use 1 to %d",
                              lab_toml_line(reader->table, "sizes"), list->count, LAB_TASK_SIZES_MAX);
    for (int i = 0; i < list->count; i++) {
        if (list->items[i].kind != LAB_TOML_STRING || !is_name(list->items[i].text))
            return fail(reader, "sizes", "must be an array of names such as [\"m\", \"n\"]");
        reader->task->sizes[reader->task->size_count++] = list->items[i].text;
    }
    return true;
}

/* Reads one size of a shape: an integer, or [low, high] or [low, high, step] of a hidden shape. */
static bool read_size(const reader_t *reader, lab_task_shape *shape, int size)
{
    const char *key = reader->task->sizes[size];
    const lab_toml_value *value = lab_toml_find(reader->table, key);
    int64_t limits[3] = {1, 1, 1};
    bool is_range = value && value->kind == LAB_TOML_ARRAY && shape->is_hidden;
    if (!value)
        return fail(reader, key, "is missing");
    if (value->kind != LAB_TOML_INTEGER && (!is_range || value->count < 2 || value->count > 3))
        return fail(reader, key,
                    shape->is_hidden ? "must be an integer, [LOW, HIGH] or [LOW, HIGH, STEP]" : "must be an integer");
    for (int i = 0; is_range && i < value->count; i++) {
        if (value->items[i].kind != LAB_TOML_INTEGER)
            return fail(reader, key, "must be an array of integers");
        limits[i] = value->items[i].integer;
    }
    if (!is_range)
        limits[0] = limits[1] = value->integer;
    if (limits[0] < 1 || limits[1] < limits[0] || limits[1] > SIZE_MAX_VALUE || limits[2] < 1)
        return fail(reader, key, "is not valid: sizes are from 1 to 268435456, and LOW is at most HIGH");
    shape->low[size] = limits[0];
    shape->high[size] = limits[1];
    shape->step[size] = limits[2];
    return true;
}

static bool read_shapes(reader_t *reader, lab_toml_document *document, const char *kind, bool is_hidden)
{
    lab_task *task = reader->task;
    for (int i = 0; (reader->table = lab_toml_table_at(document, kind, i)); i++) {
        if (task->shape_count == LAB_TASK_SHAPES_MAX)
            return lab_set_reason(reader->why, reader->capacity, "line %d: there are more than %d shapes",
                                  reader->table->line, LAB_TASK_SHAPES_MAX);
        lab_task_shape *shape = &task->shapes[task->shape_count++];
        *shape = (lab_task_shape){.is_hidden = is_hidden, .count = 1};
        if (!read_flag(reader, "measured", &shape->is_measured) ||
            (is_hidden && !read_integer(reader, "count", 1, 1, 100, &shape->count)))
            return false;
        for (int s = 0; s < task->size_count; s++)
            if (!read_size(reader, shape, s))
                return false;
    }
    return true;
}

/* ---- Variables of the variants ---- */

static bool is_taken(const lab_task *task, const char *name)
{
    for (int i = 0; i < task->size_count; i++)
        if (strcmp(task->sizes[i], name) == 0)
            return true;
    for (int i = 0; i < task->variable_count; i++)
        if (strcmp(task->variables[i].name, name) == 0)
            return true;
    return false;
}

static bool read_values(const reader_t *reader, lab_task_variable *variable)
{
    const lab_toml_value *list;
    if (!find(reader, "values", LAB_TOML_ARRAY, true, &list))
        return false;
    if (list->count < 2 || list->count > LAB_TASK_VALUES_MAX)
        return lab_set_reason(reader->why, reader->capacity, "line %d: values has %d numbers; use 2 to %d",
                              lab_toml_line(reader->table, "values"), list->count, LAB_TASK_VALUES_MAX);
    variable->count = list->count;
    for (int i = 0; i < list->count; i++) {
        variable->values[i] = list->items[i].integer;
        bool is_new = true;
        for (int other = 0; other < i; other++)
            is_new = is_new && variable->values[other] != variable->values[i];
        if (list->items[i].kind != LAB_TOML_INTEGER || !is_new)
            return fail(reader, "values", "must be an array of different integers");
    }
    return true;
}

/* Reads what the values mean: one sentence for all, or an array with one per value. */
static bool read_meanings(const reader_t *reader, lab_task_variable *variable)
{
    const lab_toml_value *text = lab_toml_find(reader->table, "text");
    bool is_list = text && text->kind == LAB_TOML_ARRAY;
    if (!text)
        return fail(reader, "text", "is missing");
    for (int i = 0; i < variable->count; i++) {
        const lab_toml_value *item = is_list ? &text->items[i] : text;
        if ((is_list && text->count != variable->count) || item->kind != LAB_TOML_STRING || !*item->text)
            return fail(reader, "text", "must be a sentence, or an array with one sentence per value");
        variable->texts[i] = item->text;
    }
    return true;
}

static bool read_variables(reader_t *reader, lab_toml_document *document)
{
    lab_task *task = reader->task;
    for (int i = 0; (reader->table = lab_toml_table_at(document, "variant", i)); i++) {
        if (task->variable_count == LAB_TASK_VARIABLES_MAX)
            return lab_set_reason(reader->why, reader->capacity, "line %d: there are more than %d tables [[variant]]",
                                  reader->table->line, LAB_TASK_VARIABLES_MAX);
        lab_task_variable *variable = &task->variables[task->variable_count];
        if (!read_text(reader, "name", NULL, &variable->name))
            return false;
        if (!is_name(variable->name) || is_taken(task, variable->name))
            return fail(reader, "name", "must be a name of C that is no size and no other variable");
        if (!read_values(reader, variable) || !read_meanings(reader, variable))
            return false;
        task->variable_count++;
    }
    return true;
}

/* ---- Arguments ---- */

static bool read_range(const reader_t *reader, lab_task_argument *argument)
{
    const lab_toml_value *range;
    bool is_float = lab_element_type_kind(argument->type) == LAB_KIND_FLOAT;
    argument->low = is_float ? -1 : 0;
    argument->high = is_float ? 1 : 9;
    if (!find(reader, "range", LAB_TOML_ARRAY, false, &range))
        return false;
    if (!range)
        return true;
    for (int i = 0; i < range->count; i++)
        if (range->items[i].kind != LAB_TOML_INTEGER && range->items[i].kind != LAB_TOML_FLOAT)
            return fail(reader, "range", "must be an array of two numbers");
    if (range->count != 2 || range->items[0].number > range->items[1].number || fabs(range->items[0].number) > 1e9 ||
        fabs(range->items[1].number) > 1e9)
        return fail(reader, "range", "must be [LOW, HIGH] with numbers of at most 1e9");
    argument->low = range->items[0].number;
    argument->high = range->items[1].number;
    return true;
}

static bool read_role(const reader_t *reader, lab_task_argument *argument)
{
    const char *word;
    char valid[128] = "";
    if (!read_text(reader, "role", NULL, &word))
        return false;
    for (int role = 0; role < LAB_ROLE_COUNT; role++) {
        argument->role = (lab_role)role;
        if (strcmp(word, role_name(argument->role)) == 0)
            return true;
        lab_append(valid, sizeof valid, "%s%s", role > 0 ? ", " : "", role_name(argument->role));
    }
    return lab_set_reason(reader->why, reader->capacity, "line %d: role is \"%s\"; valid roles are %s",
                          lab_toml_line(reader->table, "role"), word, valid);
}

static bool read_type(const reader_t *reader, lab_task_argument *argument)
{
    const char *word;
    if (!read_text(reader, "type", NULL, &word))
        return false;
    argument->type = lab_element_type_find(rungi_string_view_of(word, strlen(word)));
    if (argument->type != LAB_ELEMENT_TYPE_COUNT)
        return true;
    return lab_set_reason(reader->why, reader->capacity,
                          "line %d: type is \"%s\"; valid types are " LAB_ELEMENT_TYPE_WORDS,
                          lab_toml_line(reader->table, "type"), word);
}

static bool read_argument(const reader_t *reader, lab_task_argument *argument)
{
    argument->count = argument->value = argument->roundings = "";
    if (!read_text(reader, "name", NULL, &argument->name) || !read_type(reader, argument) ||
        !read_role(reader, argument))
        return false;
    bool is_float = lab_element_type_kind(argument->type) == LAB_KIND_FLOAT;
    if (!is_name(argument->name))
        return fail(reader, "name", "must be a name of C with at most 63 characters");
    for (const lab_task_argument *other = reader->task->arguments; other < argument; other++)
        if (strcmp(other->name, argument->name) == 0)
            return fail(reader, "name", "is the name of an earlier argument");
    if (argument->role == LAB_ROLE_SIZE)
        return (!is_float || fail(reader, "type", "of a size must be an integer type")) &&
               read_expression(reader, "value", argument->name, &argument->value);
    if (lab_role_is_array(argument->role) && !read_expression(reader, "count", NULL, &argument->count))
        return false;
    if (lab_role_is_result(argument->role) && is_float &&
        !read_expression(reader, "roundings", NULL, &argument->roundings))
        return false;
    return argument->role == LAB_ROLE_OUT || read_range(reader, argument);
}

static bool read_arguments(reader_t *reader, lab_toml_document *document)
{
    lab_task *task = reader->task;
    bool has_result = false;
    for (int i = 0; (reader->table = lab_toml_table_at(document, "argument", i)); i++) {
        if (task->argument_count == LAB_TASK_ARGUMENTS_MAX)
            return lab_set_reason(reader->why, reader->capacity, "line %d: there are more than %d arguments",
                                  reader->table->line, LAB_TASK_ARGUMENTS_MAX);
        lab_task_argument *argument = &task->arguments[task->argument_count];
        if (!read_argument(reader, argument))
            return false;
        task->argument_count++;
        has_result = has_result || lab_role_is_result(argument->role);
    }
    return has_result ||
           lab_set_reason(reader->why, reader->capacity,
                          "no [[argument]] has the role \"out\" or \"inout\", so that nothing can be wrong");
}

/* ---- Parts ---- */

static bool read_findings(const reader_t *reader, const lab_toml_value *list, lab_task_part *part)
{
    if (list->kind != LAB_TOML_ARRAY || list->count < 1 || list->count > LAB_TASK_KINDS_MAX)
        return fail(reader, "findings", "must be an array of 1 to 8 kinds, such as [\"race\"]");
    part->kind = LAB_PART_FINDINGS;
    for (int i = 0; i < list->count; i++) {
        const char *kind = list->items[i].kind == LAB_TOML_STRING ? list->items[i].text : "";
        if (*lab_finding_fix(kind, RUNG_EMULATOR_MEMORY_OTHER, RUNG_EMULATOR_CAUSE_NONE) == '\0')
            return lab_set_reason(reader->why, reader->capacity,
                                  "line %d: findings: \"%s\" is not a kind of finding; kinds are out-of-bounds, "
                                  "misaligned, uninitialized, race, barrier, warp-sync, async-copy and others",
                                  lab_toml_line(reader->table, "findings"), kind);
        part->kinds[part->kind_count++] = kind;
    }
    return true;
}

static bool read_metric(const reader_t *reader, const char *word, lab_task_part *part)
{
    char valid[512] = "";
    part->kind = LAB_PART_METRIC;
    part->metric = LAB_METRIC_COUNT;
    for (int metric = 0; metric < LAB_METRIC_COUNT; metric++) {
        if (strcmp(word, lab_metric_name((lab_metric)metric)) == 0)
            part->metric = (lab_metric)metric;
        lab_append(valid, sizeof valid, "%s%s", metric > 0 ? ", " : "", lab_metric_name((lab_metric)metric));
    }
    if (part->metric == LAB_METRIC_COUNT)
        return lab_set_reason(reader->why, reader->capacity, "line %d: metric is \"%s\"; valid metrics are %s",
                              lab_toml_line(reader->table, "metric"), word, valid);
    if (!read_expression(reader, "ideal", "1", &part->ideal) ||
        !read_number(reader, "at_least", -INFINITY, &part->at_least) ||
        !read_number(reader, "at_most", INFINITY, &part->at_most))
        return false;
    return isfinite(part->at_least) || isfinite(part->at_most) || fail(reader, "metric", "needs at_most or at_least");
}

static bool read_correctness(const reader_t *reader, const char *word, lab_task_part *part)
{
    part->kind = LAB_PART_SHAPES;
    part->public_shapes = strcmp(word, "hidden") != 0;
    part->hidden_shapes = strcmp(word, "public") != 0;
    return strcmp(word, "public") == 0 || strcmp(word, "hidden") == 0 || strcmp(word, "all") == 0 ||
           fail(reader, "shapes", "must be \"public\", \"hidden\" or \"all\"");
}

static bool read_part(const reader_t *reader, lab_task_part *part)
{
    const char *shapes, *metric;
    const lab_toml_value *findings = lab_toml_find(reader->table, "findings");
    if (!read_text(reader, "name", NULL, &part->name) || !read_text(reader, "hint", "", &part->hint) ||
        !read_text(reader, "shapes", "", &shapes) || !read_text(reader, "metric", "", &metric) ||
        !read_integer(reader, "points", -1, 0, COUNT_MAX, &part->points))
        return false;
    if ((*shapes != '\0') + (findings != NULL) + (*metric != '\0') != 1)
        return lab_set_reason(reader->why, reader->capacity,
                              "line %d: the part \"%s\" needs one of shapes, findings and metric", reader->table->line,
                              part->name);
    if (*shapes)
        return read_correctness(reader, shapes, part);
    return findings ? read_findings(reader, findings, part) : read_metric(reader, metric, part);
}

/* Returns whether the shapes of the task contain what the parts are about. */
static bool check_parts(const reader_t *reader)
{
    const lab_task *task = reader->task;
    bool has_hidden = false, has_public = false, has_measured = false, has_correctness = false;
    for (int i = 0; i < task->shape_count; i++) {
        has_hidden = has_hidden || task->shapes[i].is_hidden;
        has_public = has_public || !task->shapes[i].is_hidden;
        has_measured = has_measured || task->shapes[i].is_measured;
    }
    if (!has_public)
        return lab_set_reason(reader->why, reader->capacity, "there is no [[shape]]");
    for (int i = 0; i < task->part_count; i++) {
        const lab_task_part *part = &task->parts[i];
        has_correctness = has_correctness || part->kind == LAB_PART_SHAPES;
        if (part->kind == LAB_PART_SHAPES && part->hidden_shapes && !has_hidden)
            return lab_set_reason(reader->why, reader->capacity, "the part \"%s\" needs a [[hidden]]", part->name);
        if (part->kind == LAB_PART_METRIC && !has_measured)
            return lab_set_reason(reader->why, reader->capacity, "the part \"%s\" needs a shape with measured = true",
                                  part->name);
    }
    return has_correctness || lab_set_reason(reader->why, reader->capacity, "no [[part]] has shapes");
}

static bool read_parts(reader_t *reader, lab_toml_document *document)
{
    lab_task *task = reader->task;
    for (int i = 0; (reader->table = lab_toml_table_at(document, "part", i)); i++) {
        if (task->part_count == LAB_TASK_PARTS_MAX)
            return lab_set_reason(reader->why, reader->capacity, "line %d: there are more than %d parts",
                                  reader->table->line, LAB_TASK_PARTS_MAX);
        if (!read_part(reader, &task->parts[task->part_count]))
            return false;
        task->points += task->parts[task->part_count++].points;
    }
    return check_parts(reader);
}

/* ---- The file ---- */

static bool read_top(reader_t *reader, lab_toml_document *document)
{
    lab_task *task = reader->task;
    reader->table = lab_toml_table_at(document, "", 0);
    if (!read_text(reader, "title", NULL, &task->title) || !read_text(reader, "kernel", NULL, &task->kernel) ||
        !read_text(reader, "reference", NULL, &task->reference) ||
        !read_text(reader, "architecture", "sm_86", &task->architecture_text) ||
        !read_integer(reader, "order", 1000, 0, 1000000, &task->order) ||
        !read_integer(reader, "million_per_warp", 1, 1, 1000, &task->million_per_warp) ||
        !read_integer(reader, "threads_max", 1 << 20, 1, 1 << 28, &task->threads_max) ||
        !read_integer(reader, "memory_mib", 64, 1, 4096, &task->memory_mib) ||
        !read_integer(reader, "variant_seed", 0, 0, INT64_MAX, &task->variant_seed) || !read_sizes(reader))
        return false;
    if (!is_name(task->kernel))
        return fail(reader, "kernel", "must be a name of C with at most 63 characters");
    return lab_parse_architecture(task->architecture_text, &task->architecture) ||
           fail(reader, "architecture", "must be an architecture such as \"sm_86\"");
}

/* Finds misspelled headers first: without them, something else would seem to be missing. */
static bool check_tables(const lab_toml_document *document, char *why, size_t capacity)
{
    static const char *const names[] = {"", "argument", "shape", "hidden", "part", "variant"};
    for (int i = 0; i < document->count; i++) {
        bool is_known = false;
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            is_known = is_known || strcmp(document->tables[i].name, names[n]) == 0;
        if (!is_known)
            return lab_set_reason(why, capacity,
                                  "line %d: unknown table %s; tables are argument, shape, hidden, part and variant",
                                  document->tables[i].line, document->tables[i].name);
    }
    return true;
}

static bool read_document(lab_task *task, char *why, size_t capacity)
{
    reader_t reader = {.task = task, .why = why, .capacity = capacity};
    return check_tables(task->document, why, capacity) && read_top(&reader, task->document) &&
           read_variables(&reader, task->document) && read_arguments(&reader, task->document) &&
           read_shapes(&reader, task->document, "shape", false) &&
           read_shapes(&reader, task->document, "hidden", true) && read_parts(&reader, task->document) &&
           !lab_toml_describe_unread(task->document, why, capacity);
}

bool lab_task_read(const char *folder, lab_task *task, char *why, size_t capacity)
{
    char path[LAB_TASK_PATH_BYTES], reason[1024];
    size_t bytes;
    *task = (lab_task){.order = 0};
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    if (snprintf(task->folder, sizeof task->folder, "%.*s", (int)length, folder) >= (int)sizeof task->folder ||
        snprintf(path, sizeof path, "%s/task.toml", task->folder) >= (int)sizeof path)
        return lab_set_reason(why, capacity, "the path %.40s... is too long", folder);
    snprintf(task->name, sizeof task->name, "%.127s", lab_base_name(task->folder));
    char *text = lab_file_read(path, LAB_KERNEL_BYTES_MAX, &bytes, reason, sizeof reason);
    if (!text)
        return lab_set_reason(why, capacity, "%s: %s", path, reason);
    task->document = calloc(1, sizeof *task->document);
    bool good = task->document && lab_toml_parse(text, task->document, reason, sizeof reason) &&
                read_document(task, reason, sizeof reason);
    free(text);
    if (good)
        return true;
    lab_set_reason(why, capacity, "%s: %s", path, task->document ? reason : "out of memory");
    lab_task_free(task);
    return false;
}

void lab_task_free(lab_task *task)
{
    if (task->document)
        lab_toml_free(task->document);
    free(task->document);
    *task = (lab_task){.order = 0};
}
