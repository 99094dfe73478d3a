/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.h - the parts of JSON (RFC 8259) that the header of a safetensors file needs. It reads strings and sizes where
 * the caller expects them and skips other values; it builds no tree. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rest of a text. After a failure, `at` is near the error. */
typedef struct rungi_json_text {
    const char *at, *end;
} rungi_json_text;

/* Skips white space. Then, if the next character is `letter`, skips that, too, and returns true. */
bool rungi_json_accept(rungi_json_text *text, char letter);

/* Reads a string and stores it with a terminating 0. `length` may be NULL. Returns false if there is no string, or if the
 * string has more than `capacity` - 1 bytes. */
bool rungi_json_string(rungi_json_text *text, char *to, size_t capacity, size_t *length);

/* Reads an integer from 0 to INT64_MAX. Returns false if the text has no such number. */
bool rungi_json_size(rungi_json_text *text, int64_t *size);

/* Skips a value of any kind. Returns false if the value is not JSON, or is nested too deeply (16 arrays and objects). */
bool rungi_json_skip(rungi_json_text *text);
