/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - comma-separated lists, texts that are composed of several parts, and number formats for tables and messages. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string_view.h"
#include "rung/rung.h"

/* Reads the next word of a comma-separated list and moves *list past it. Returns false at the end of the list; NULL is an
 * empty list. */
bool lab_list_next(const char **list, rungi_string_view *word);

/* Appends formatted text. Text that does not fit is cut off. */
void lab_append(char *text, size_t capacity, const char *format, ...) RUNG_PRINTF(3, 4);

/* Returns whether a path ends in `suffix`, for example ".npy", and has more characters. */
bool lab_path_ends_in(const char *path, const char *suffix);

/* Returns the part of a path after its last slash. */
const char *lab_base_name(const char *path);

/* Formats nanoseconds as milliseconds with at least three significant digits: 2680 as "0.00268". */
void lab_format_ms(int64_t nanoseconds, char *text, size_t capacity);

/* Formats a byte count with a binary unit: 17179869184 as "16 GiB". */
void lab_format_bytes(double bytes, char *text, size_t capacity);
