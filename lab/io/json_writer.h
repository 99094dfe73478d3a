/* SPDX-License-Identifier: Apache-2.0 */
/* json_writer.h - writes JSON to a stream value by value; takes care of commas, quotes and indentation. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct lab_json {
    FILE *out;
    int depth;
    bool first; /* nothing written yet at this depth */
} lab_json;

/* Begins a document: an object whose first field is its schema, "rung-bench/1". End it with lab_json_end(json, '}'). */
lab_json lab_json_open(FILE *out, const char *schema);

/* `name` is NULL inside arrays and for the outermost value. */
void lab_json_begin(lab_json *json, const char *name, char bracket); /* '{' or '[' */
void lab_json_end(lab_json *json, char bracket);                     /* '}' or ']' */
void lab_json_string(lab_json *json, const char *name, const char *value);
void lab_json_integer(lab_json *json, const char *name, int64_t value);
void lab_json_number(lab_json *json, const char *name, double value); /* null if not finite */
void lab_json_times_array(lab_json *json, const char *name, const int64_t *times,
                          int64_t count); /* one line; null for 0 */
void lab_json_integers_array(lab_json *json, const char *name, const int64_t *values, int64_t count); /* one line */
void lab_json_boolean(lab_json *json, const char *name, bool value);

/* Write objects and fields that several commands have in common: a finding about a source line, and the sizes of a
 * problem. */
void lab_json_finding(lab_json *json, const char *kind, const char *file, int64_t line, const char *text);
void lab_json_sizes(lab_json *json, int64_t m, int64_t n, int64_t k);

/* Write several fields: LAB_JSON_INTEGERS(&json, {"m", m}, {"n", n}). */
typedef struct lab_json_integer_field {
    const char *name;
    int64_t value;
} lab_json_integer_field;

typedef struct lab_json_string_field {
    const char *name, *value;
} lab_json_string_field;

void lab_json_integers(lab_json *json, const lab_json_integer_field *fields); /* NULL name: the end */
void lab_json_strings(lab_json *json, const lab_json_string_field *fields);

#define LAB_JSON_INTEGERS(json, ...) lab_json_integers(json, (const lab_json_integer_field[]){__VA_ARGS__, {NULL, 0}})
#define LAB_JSON_STRINGS(json, ...) lab_json_strings(json, (const lab_json_string_field[]){__VA_ARGS__, {NULL, NULL}})
