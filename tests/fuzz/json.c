/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - any bytes as a JSON document: refused with a line, or a tree that is the same after it was written and read again. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include <math.h>

#include "byte_reader.h"
#include "io/json_reader.h"
#include "io/json_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_value(lab_json *json, const lab_json_value *value, const char *name)
{
    switch (value->kind) {
    case LAB_JSON_NULL: lab_json_number(json, name, (double)NAN); break;
    case LAB_JSON_BOOLEAN: lab_json_boolean(json, name, value->number != 0); break;
    case LAB_JSON_NUMBER: lab_json_number(json, name, value->number); break;
    case LAB_JSON_STRING: lab_json_string(json, name, value->text); break;
    default:
        lab_json_begin(json, name, value->kind == LAB_JSON_ARRAY ? '[' : '{');
        for (const lab_json_value *child = value->first; child; child = child->next)
            write_value(json, child, value->kind == LAB_JSON_OBJECT ? child->name : NULL);
        lab_json_end(json, value->kind == LAB_JSON_ARRAY ? ']' : '}');
    }
}

static void must_be_equal(const lab_json_value *x, const lab_json_value *y)
{
    MUST(x->kind == y->kind && x->count == y->count);
    MUST(strcmp(x->text, y->text) == 0 && strcmp(x->name, y->name) == 0);
    MUST(x->kind != LAB_JSON_NUMBER || x->number == y->number);
    const lab_json_value *b = y->first;
    for (const lab_json_value *a = x->first; a; a = a->next, b = b->next) {
        MUST(b);
        must_be_equal(a, b);
    }
    MUST(!b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lab_json_document document, again;
    char why[256] = "", *text = NULL;
    size_t bytes;
    if (!lab_json_document_parse((const char *)data, size, &document, why, sizeof why)) {
        MUST(strlen(why) > 5 && !document.root);
        return 0;
    }
    FILE *out = open_memstream(&text, &bytes);
    MUST(out);
    lab_json json = {.out = out};
    write_value(&json, document.root, NULL);
    MUST(fclose(out) == 0);
    if (!lab_json_document_parse(text, bytes, &again, why, sizeof why)) {
        fprintf(stderr, "%s: %s\n", why, text);
        abort();
    }
    must_be_equal(document.root, again.root);
    lab_json_get_integer(document.root, "schema", 0);
    lab_json_document_free(&again);
    lab_json_document_free(&document);
    free(text);
    return 0;
}
