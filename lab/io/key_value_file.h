/* SPDX-License-Identifier: Apache-2.0 */
/* key_value_file.h - reads text files with one "field = value" per line and comments after #. */
#ifndef LAB_KEY_VALUE_FILE_H
#define LAB_KEY_VALUE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Receives one field. Returns NULL, or an error. */
typedef const char *(*lab_key_value_function)(void *user, const char *field, const char *value);

/* Calls `take` for every line. Returns false with a message that names the file and the line. */
bool lab_key_values_read(const char *path, lab_key_value_function take, void *user, char *why, size_t capacity);

#endif /* LAB_KEY_VALUE_FILE_H */
