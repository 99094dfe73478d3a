/* SPDX-License-Identifier: Apache-2.0 */
/* toml_reader.c - see toml_reader.h. */
#include "io/toml_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/string_view.h"
#include "common/failure.h"
#include "common/growing_array.h"

enum { ARRAY_DEPTH_MAX = 4, NUMBER_BYTES = 64 };

typedef struct parser {
    const char *at;
    int line;
    lab_toml_document *document;
    char *why;
    size_t capacity;
} parser_t;

static bool fail(parser_t *parser, const char *problem)
{
    return lab_set_reason(parser->why, parser->capacity, "line %d: %s", parser->line, problem);
}

/* ---- Memory ---- */

/* Remembers a block of memory of the document. Returns NULL and frees it if that fails. */
static void *own(lab_toml_document *document, void *block)
{
    void **longer = block ? lab_array_grow(document->blocks, document->block_count, sizeof *longer) : NULL;
    if (!longer) {
        free(block);
        return NULL;
    }
    document->blocks = longer;
    document->blocks[document->block_count++] = block;
    return block;
}

static char *copy_text(lab_toml_document *document, const char *text, size_t length)
{
    char *copy = own(document, malloc(length + 1));
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

static void free_items(const lab_toml_value *value)
{
    for (int i = 0; i < value->count; i++)
        free_items(&value->items[i]);
    free(value->items);
}

void lab_toml_free(lab_toml_document *document)
{
    for (int t = 0; t < document->count; t++) {
        for (int k = 0; k < document->tables[t].count; k++)
            free_items(&document->tables[t].keys[k].value);
        free(document->tables[t].keys);
    }
    for (int i = 0; i < document->block_count; i++)
        free(document->blocks[i]);
    free(document->tables);
    free(document->blocks);
    *document = (lab_toml_document){.tables = NULL};
}

/* ---- Space ---- */

static void skip_blanks(parser_t *parser)
{
    while (*parser->at == ' ' || *parser->at == '\t')
        parser->at++;
}

static void skip_comment(parser_t *parser)
{
    if (*parser->at == '#')
        parser->at += strcspn(parser->at, "\n");
}

/* Skips blanks, comments and ends of lines. */
static void skip_lines(parser_t *parser)
{
    for (;;) {
        skip_blanks(parser);
        skip_comment(parser);
        if (*parser->at == '\r' && parser->at[1] == '\n')
            parser->at++;
        if (*parser->at != '\n')
            return;
        parser->at++;
        parser->line++;
    }
}

static bool end_line(parser_t *parser)
{
    skip_blanks(parser);
    skip_comment(parser);
    if (*parser->at == '\r' && parser->at[1] == '\n')
        parser->at++;
    if (*parser->at == '\n' || *parser->at == '\0')
        return true;
    return lab_set_reason(parser->why, parser->capacity, "line %d: \"%.*s\" follows the value; end the line",
                          parser->line, (int)rungi_min((int64_t)strcspn(parser->at, "\r\n"), 40), parser->at);
}

/* ---- Values ---- */

static bool read_value(parser_t *parser, lab_toml_value *value, int depth);

static bool read_literal(parser_t *parser, lab_toml_value *value)
{
    size_t length = strcspn(++parser->at, "'\n");
    if (parser->at[length] != '\'')
        return fail(parser, "the string has no closing '; a string ends in its line");
    value->kind = LAB_TOML_STRING;
    value->text = copy_text(parser->document, parser->at, length);
    parser->at += length + 1;
    return value->text || fail(parser, "out of memory");
}

/* Returns the character of an escape; 0 if the subset does not have it. */
static char unescape(char letter)
{
    return letter == 'n' ? '\n' : letter == 't' ? '\t' : letter == '"' || letter == '\\' ? letter : '\0';
}

static bool read_string(parser_t *parser, lab_toml_value *value)
{
    const char *start = ++parser->at;
    if (start[0] == '"' && start[1] == '"')
        return fail(parser, "strings of several lines (\"\"\") are not supported; use \"...\" with \\n");
    char *text = copy_text(parser->document, start, strcspn(start, "\n"));
    size_t length = 0;
    if (!text)
        return fail(parser, "out of memory");
    for (; *parser->at != '"'; parser->at++) {
        char letter = *parser->at;
        if (letter == '\0' || letter == '\n' || letter == '\r')
            return fail(parser, "the string has no closing \"; a string ends in its line");
        if ((unsigned char)letter < ' ' && letter != '\t')
            return fail(parser, "the string contains a control character; use \\t or \\n");
        if (letter == '\\' && (letter = unescape(*++parser->at)) == '\0')
            return fail(parser, "unknown escape in a string; valid escapes are \\\" \\\\ \\n and \\t");
        text[length++] = letter;
    }
    text[length] = '\0';
    parser->at++;
    value->kind = LAB_TOML_STRING;
    value->text = text;
    return true;
}

/* Copies a number without its underscores. Returns false if the text is not a decimal number of TOML. */
static bool normalize_number(const char *text, size_t length, char *plain, bool *is_float)
{
    size_t count = 0, first = length > 0 && (text[0] == '+' || text[0] == '-');
    bool has_point = false, has_exponent = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i], before = i > 0 ? text[i - 1] : '\0', after = i + 1 < length ? text[i + 1] : '\0';
        bool is_between = before >= '0' && before <= '9' && after >= '0' && after <= '9';
        bool is_sign = (c == '-' || c == '+') && (i == 0 || before == 'e' || before == 'E');
        if (c == '_' && is_between)
            continue;
        if (c == '.' && is_between && !has_point && !has_exponent)
            has_point = true;
        else if ((c == 'e' || c == 'E') && before >= '0' && before <= '9' && after && !has_exponent)
            has_exponent = true;
        else if (!is_sign && !(c >= '0' && c <= '9'))
            return false;
        plain[count++] = c;
    }
    plain[count] = '\0';
    *is_float = has_point || has_exponent;
    bool is_octal = length - first > 1 && text[first] == '0' && text[first + 1] >= '0' && text[first + 1] <= '9';
    return length > first && !is_octal && plain[count - 1] >= '0' && plain[count - 1] <= '9';
}

static bool read_number(parser_t *parser, lab_toml_value *value)
{
    char plain[NUMBER_BYTES + 1];
    size_t length = strcspn(parser->at, ",]# \t\r\n");
    bool is_float = false;
    if (length > NUMBER_BYTES || !normalize_number(parser->at, length, plain, &is_float))
        return lab_set_reason(parser->why, parser->capacity,
                              "line %d: \"%.*s\" is not a value; valid values are \"text\", 'text', integers, "
                              "floats such as 1.5, true, false and [arrays]",
                              parser->line, length > 40 ? 40 : (int)length, parser->at);
    errno = 0;
    value->kind = is_float ? LAB_TOML_FLOAT : LAB_TOML_INTEGER;
    value->integer = is_float ? 0 : strtoll(plain, NULL, 10);
    if (errno)
        return fail(parser, "the integer does not fit 64 bits");
    value->number = is_float ? strtod(plain, NULL) : (double)value->integer;
    parser->at += length;
    return true;
}

static bool read_array(parser_t *parser, lab_toml_value *value, int depth)
{
    value->kind = LAB_TOML_ARRAY;
    parser->at++;
    for (;;) {
        skip_lines(parser);
        if (*parser->at == ']')
            break;
        if (*parser->at == '\0')
            return fail(parser, "the array has no closing ]");
        lab_toml_value *longer = lab_array_grow(value->items, value->count, sizeof *longer);
        if (!longer)
            return fail(parser, "out of memory");
        value->items = longer;
        value->items[value->count] = (lab_toml_value){.count = 0};
        if (!read_value(parser, &value->items[value->count++], depth + 1))
            return false;
        skip_lines(parser);
        if (*parser->at == ',')
            parser->at++;
        else if (*parser->at != ']')
            return fail(parser, "the array needs a comma between two values, and ] at its end");
    }
    parser->at++;
    return true;
}

static bool read_word(parser_t *parser, const char *word, lab_toml_value *value, bool truth)
{
    size_t length = strlen(word);
    if (strncmp(parser->at, word, length) != 0 || rungi_is_name_character(parser->at[length]))
        return false;
    *value = (lab_toml_value){.kind = LAB_TOML_BOOLEAN, .integer = truth};
    parser->at += length;
    return true;
}

static bool read_value(parser_t *parser, lab_toml_value *value, int depth)
{
    if (depth > ARRAY_DEPTH_MAX)
        return fail(parser, "arrays are nested too deeply");
    switch (*parser->at) {
    case '"': return read_string(parser, value);
    case '\'': return read_literal(parser, value);
    case '[': return read_array(parser, value, depth);
    case '{': return fail(parser, "inline tables {...} are not supported; write a [table] or [[table]]");
    default: break;
    }
    return read_word(parser, "true", value, true) || read_word(parser, "false", value, false) ||
           read_number(parser, value);
}

/* ---- Keys and tables ---- */

/* Reads a bare key. Returns NULL with a reason. */
static const char *read_name(parser_t *parser)
{
    const char *start = parser->at;
    while (rungi_is_name_character(*parser->at) || *parser->at == '-')
        parser->at++;
    if (parser->at == start) {
        fail(parser, "expected a name of letters, digits, _ and -; quoted keys are not supported");
        return NULL;
    }
    if (*parser->at == '.') {
        fail(parser, "dotted keys are not supported; write a [table]");
        return NULL;
    }
    const char *name = copy_text(parser->document, start, (size_t)(parser->at - start));
    if (!name)
        fail(parser, "out of memory");
    return name;
}

static lab_toml_table *add_table(parser_t *parser, const char *name, bool is_array)
{
    lab_toml_document *document = parser->document;
    lab_toml_table *longer = lab_array_grow(document->tables, document->count, sizeof *longer);
    if (!longer) {
        fail(parser, "out of memory");
        return NULL;
    }
    document->tables = longer;
    document->tables[document->count] = (lab_toml_table){.name = name, .is_array = is_array, .line = parser->line};
    return &document->tables[document->count++];
}

static bool read_header(parser_t *parser)
{
    bool is_array = parser->at[1] == '[';
    parser->at += is_array ? 2 : 1;
    skip_blanks(parser);
    const char *name = read_name(parser);
    if (!name)
        return false;
    skip_blanks(parser);
    if (strncmp(parser->at, is_array ? "]]" : "]", is_array ? 2 : 1) != 0)
        return fail(parser, is_array ? "the header has no closing ]]" : "the header has no closing ]");
    parser->at += is_array ? 2 : 1;
    for (int i = 1; i < parser->document->count; i++) {
        const lab_toml_table *other = &parser->document->tables[i];
        if (strcmp(other->name, name) == 0 && !(is_array && other->is_array))
            return lab_set_reason(parser->why, parser->capacity,
                                  "line %d: the table %s begins in line %d, too; use [[%s]] for several", parser->line,
                                  name, other->line, name);
    }
    return add_table(parser, name, is_array) && end_line(parser);
}

static bool read_key(parser_t *parser)
{
    lab_toml_table *table = &parser->document->tables[parser->document->count - 1];
    int line = parser->line;
    const char *name = read_name(parser);
    if (!name)
        return false;
    for (int i = 0; i < table->count; i++)
        if (strcmp(table->keys[i].name, name) == 0)
            return lab_set_reason(parser->why, parser->capacity, "line %d: %s is given in line %d, too", line, name,
                                  table->keys[i].line);
    skip_blanks(parser);
    if (*parser->at != '=')
        return lab_set_reason(parser->why, parser->capacity, "line %d: expected = after %s", line, name);
    parser->at++;
    skip_blanks(parser);
    lab_toml_key *longer = lab_array_grow(table->keys, table->count, sizeof *longer);
    if (!longer)
        return fail(parser, "out of memory");
    table->keys = longer;
    table->keys[table->count] = (lab_toml_key){.name = name, .line = line};
    return read_value(parser, &table->keys[table->count++].value, 0) && end_line(parser);
}

static bool read_document(parser_t *parser)
{
    if (!add_table(parser, "", false))
        return false;
    for (;;) {
        skip_lines(parser);
        if (*parser->at == '\0')
            return true;
        if (!(*parser->at == '[' ? read_header(parser) : read_key(parser)))
            return false;
    }
}

bool lab_toml_parse(const char *text, lab_toml_document *document, char *why, size_t capacity)
{
    *document = (lab_toml_document){.tables = NULL};
    parser_t parser = {text, 1, document, why, capacity};
    if (read_document(&parser))
        return true;
    lab_toml_free(document);
    return false;
}

/* ---- Access ---- */

lab_toml_table *lab_toml_table_at(lab_toml_document *document, const char *name, int index)
{
    for (int i = 0; i < document->count; i++)
        if (strcmp(document->tables[i].name, name) == 0 && index-- == 0) {
            document->tables[i].is_read = true;
            return &document->tables[i];
        }
    return NULL;
}

static lab_toml_key *find_key(const lab_toml_table *table, const char *key)
{
    for (int i = 0; i < table->count; i++)
        if (strcmp(table->keys[i].name, key) == 0)
            return &table->keys[i];
    return NULL;
}

const lab_toml_value *lab_toml_find(lab_toml_table *table, const char *key)
{
    lab_toml_key *found = find_key(table, key);
    if (!found)
        return NULL;
    found->is_read = true;
    return &found->value;
}

int lab_toml_line(const lab_toml_table *table, const char *key)
{
    const lab_toml_key *found = find_key(table, key);
    return found ? found->line : table->line;
}

bool lab_toml_describe_unread(const lab_toml_document *document, char *why, size_t capacity)
{
    for (int t = 0; t < document->count; t++) {
        const lab_toml_table *table = &document->tables[t];
        if (*table->name && !table->is_read) {
            lab_set_reason(why, capacity, "line %d: unknown table %s", table->line, table->name);
            return true;
        }
        for (int k = 0; k < table->count; k++)
            if (!table->keys[k].is_read) {
                lab_set_reason(why, capacity, "line %d: unknown key %s%s%s", table->keys[k].line, table->keys[k].name,
                               *table->name ? " in " : "", table->name);
                return true;
            }
    }
    return false;
}

const char *lab_toml_kind_text(lab_toml_kind kind)
{
    static const char *const texts[] = {"a string", "an integer", "a float", "true or false", "an array"};
    return texts[kind];
}
