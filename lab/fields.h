/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h - files that describe something: a line "field = value" each, comments behind #. */
#ifndef LAB_FIELDS_H
#define LAB_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

/* Takes one of them: NULL, or what is wrong with it. */
typedef const char *(*lab_field_function)(void *user, const char *field, const char *value);

/* Reads a file to its end. False with a sentence that names the line, also where there is no such file. */
bool lab_fields_read(const char *path, lab_field_function take, void *user, char *why, size_t capacity);

#endif /* LAB_FIELDS_H */
