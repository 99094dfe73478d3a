/* SPDX-License-Identifier: Apache-2.0 */
/* json_reader.h - reads a whole JSON document into a tree, strictly by RFC 8259. Used for results that the lab has written.
 *
 * The lab has its own reader, so that it builds on any machine with a C compiler, such as a rented GPU server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lab_json_kind {
    LAB_JSON_NULL,
    LAB_JSON_BOOLEAN,
    LAB_JSON_NUMBER,
    LAB_JSON_STRING,
    LAB_JSON_ARRAY,
    LAB_JSON_OBJECT
} lab_json_kind;

typedef struct lab_json_value {
    lab_json_kind kind;
    double number;                /* 0 or 1 for a boolean */
    const char *text;             /* of a string; "" otherwise */
    const char *name;             /* as a field of an object; "" otherwise */
    int64_t count;                /* of the values in an array or object */
    struct lab_json_value *first; /* their list, linked by `next` */
    struct lab_json_value *next;
} lab_json_value;

/* Owns the tree and its strings. */
typedef struct lab_json_document {
    lab_json_value *root; /* NULL if the document could not be read */
    char *text;
} lab_json_document;

/* Reads a text or a file. Returns false with a message that names the line; the document is then empty. */
bool lab_json_document_parse(const char *text, size_t length, lab_json_document *document, char *why, size_t capacity);
bool lab_json_document_load(const char *file, lab_json_document *document, char *why, size_t capacity);
void lab_json_document_free(lab_json_document *document);

/* Returns the field with this name, or a null value without fields, so that calls can be nested. Never NULL. */
const lab_json_value *lab_json_get(const lab_json_value *object, const char *name);

/* Return the value of a field, or `otherwise` if the field is missing or has another type. */
double lab_json_get_number(const lab_json_value *object, const char *name, double otherwise);
int64_t lab_json_get_integer(const lab_json_value *object, const char *name, int64_t otherwise);
const char *lab_json_get_text(const lab_json_value *object, const char *name, const char *otherwise);
bool lab_json_get_true(const lab_json_value *object, const char *name);
