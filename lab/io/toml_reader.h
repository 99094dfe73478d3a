/* SPDX-License-Identifier: Apache-2.0 */
/* toml_reader.h - reads a subset of TOML 1.0, strictly, for files that people write, such as task.toml.
 *
 * The subset: comments, key = value, [table] and [[table]] headers of one bare key, basic strings "..." with the escapes
 * \" \\ \n \t, literal strings '...', decimal integers (with an optional sign and _ between digits), floats with a point
 * or an exponent, true and false, and arrays of these values, which may span lines and end in a comma. Keys are bare.
 * Not in the subset, and refused with the line: dotted and quoted keys, inline tables, multi-line strings, \u escapes,
 * dates, inf and nan, hexadecimal integers. A file of the subset means the same to every TOML reader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lab_toml_kind {
    LAB_TOML_STRING,
    LAB_TOML_INTEGER,
    LAB_TOML_FLOAT,
    LAB_TOML_BOOLEAN,
    LAB_TOML_ARRAY
} lab_toml_kind;

typedef struct lab_toml_value {
    lab_toml_kind kind;
    const char *text; /* of a string */
    int64_t integer;  /* 0 or 1 for a boolean */
    double number;    /* of an integer or a float */
    struct lab_toml_value *items;
    int count; /* of the items */
} lab_toml_value;

typedef struct lab_toml_key {
    const char *name;
    lab_toml_value value;
    int line;
    bool is_read; /* lab_toml_find() has returned it */
} lab_toml_key;

/* The keys before the first header are the table "" at index 0. */
typedef struct lab_toml_table {
    const char *name;
    bool is_array; /* of [[name]] */
    int line;
    lab_toml_key *keys;
    int count;
    bool is_read;
} lab_toml_table;

/* Owns everything. */
typedef struct lab_toml_document {
    lab_toml_table *tables; /* in the order of the file */
    int count;
    void **blocks; /* allocated memory */
    int block_count;
} lab_toml_document;

/* Reads a text that ends in 0. Returns false with a sentence that begins "line 3: "; the document is then empty. */
bool lab_toml_parse(const char *text, lab_toml_document *document, char *why, size_t capacity);
void lab_toml_free(lab_toml_document *document);

/* Returns table number `index` of those with this name; NULL after the last. */
lab_toml_table *lab_toml_table_at(lab_toml_document *document, const char *name, int index);

/* Returns a value; NULL if the table does not have the key. */
const lab_toml_value *lab_toml_find(lab_toml_table *table, const char *key);

/* Returns the line of a key; that of the table if the table does not have the key. */
int lab_toml_line(const lab_toml_table *table, const char *key);

/* Finds the first table or key that nobody has read: probably a typing error. Writes "line 3: unknown key nmae". Returns
 * false if there is none. */
bool lab_toml_describe_unread(const lab_toml_document *document, char *why, size_t capacity);

/* Returns "a string", "an integer" and so on. */
const char *lab_toml_kind_text(lab_toml_kind kind);
