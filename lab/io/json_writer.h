/* SPDX-License-Identifier: Apache-2.0 */
/* json_writer.h - writes JSON to a stream value by value; takes care of commas, quotes and indentation. */
#ifndef LAB_JSON_WRITER_H
#define LAB_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct lab_json {
    FILE *out;
    int depth;
    bool first; /* nothing written yet at this depth */
} lab_json;

/* `name` is NULL inside arrays and for the outermost value. */
void lab_json_begin(lab_json *json, const char *name, char bracket); /* '{' or '[' */
void lab_json_end(lab_json *json, char bracket);                     /* '}' or ']' */
void lab_json_string(lab_json *json, const char *name, const char *value);
void lab_json_integer(lab_json *json, const char *name, int64_t value);
void lab_json_number(lab_json *json, const char *name, double value); /* null if not finite */
void lab_json_times_array(lab_json *json, const char *name, const int64_t *times,
                          int64_t count); /* one line; null for 0 */
void lab_json_boolean(lab_json *json, const char *name, bool value);

#endif /* LAB_JSON_WRITER_H */
