/* SPDX-License-Identifier: Apache-2.0 */
/* value.h - reads JSON, for the results that rung bench and its like have written: a whole
 * document into one tree, strictly by RFC 8259.
 *
 * No library stands behind it, so that the lab builds wherever a C compiler is, a rented GPU's
 * bare machine among them. */
#ifndef LAB_VALUE_H
#define LAB_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lab_kind { LAB_NULL, LAB_BOOLEAN, LAB_NUMBER, LAB_STRING, LAB_ARRAY, LAB_OBJECT } lab_kind;

typedef struct lab_value {
    lab_kind kind;
    double number;           /* of a boolean 0 or 1 */
    const char *text;        /* of a string, "" of all others */
    const char *name;        /* as a field of an object, else "" */
    int64_t count;           /* of an array's or object's values, */
    struct lab_value *first; /* which stand one behind the other by `next` */
    struct lab_value *next;
} lab_value;

/* Owns the tree and its strings. */
typedef struct lab_document {
    lab_value *root; /* NULL if it could not be read */
    char *text;
} lab_document;

/* False with a sentence that names the line. The document is then empty, and may be freed. */
bool lab_document_read(const char *text, size_t length, lab_document *document, char *why, size_t capacity);
bool lab_document_load(const char *file, lab_document *document, char *why, size_t capacity);
void lab_document_free(lab_document *document);

/* The field of that name, or a null that has no fields: so questions can be asked in a chain. */
const lab_value *lab_field(const lab_value *object, const char *name);

/* What a field holds, or this if it is of another kind. */
double lab_number(const lab_value *object, const char *name, double otherwise);
int64_t lab_integer(const lab_value *object, const char *name, int64_t otherwise);
const char *lab_text(const lab_value *object, const char *name, const char *otherwise);
bool lab_is_true(const lab_value *object, const char *name);

#endif /* LAB_VALUE_H */
