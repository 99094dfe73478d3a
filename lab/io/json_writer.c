/* SPDX-License-Identifier: Apache-2.0 */
/* json_writer.c - see json_writer.h. */
#include "io/json_writer.h"

#include <math.h>

static void write_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at == '\n')
            fputs("\\n", out);
        else if (*at < 0x20)
            fprintf(out, "\\u%04x", *at);
        else
            fputc(*at, out);
    }
    fputc('"', out);
}

/* Writes what precedes a value: a comma, a newline and its name. */
static void begin_value(lab_json *json, const char *name)
{
    if (json->depth > 0) {
        fprintf(json->out, "%s\n%*s", json->first ? "" : ",", 2 * json->depth, "");
        json->first = false;
    }
    if (name) {
        write_string(json->out, name);
        fputs(": ", json->out);
    }
}

void lab_json_begin(lab_json *json, const char *name, char bracket)
{
    begin_value(json, name);
    fputc(bracket, json->out);
    json->depth++;
    json->first = true;
}

lab_json lab_json_open(FILE *out, const char *schema)
{
    lab_json json = {.out = out};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", schema);
    return json;
}

void lab_json_end(lab_json *json, char bracket)
{
    json->depth--;
    if (!json->first)
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    fputc(bracket, json->out);
    json->first = false;
    if (json->depth == 0)
        fputc('\n', json->out);
}

void lab_json_string(lab_json *json, const char *name, const char *value)
{
    begin_value(json, name);
    write_string(json->out, value);
}

void lab_json_integer(lab_json *json, const char *name, int64_t value)
{
    begin_value(json, name);
    fprintf(json->out, "%lld", (long long)value);
}

void lab_json_number(lab_json *json, const char *name, double value)
{
    begin_value(json, name);
    if (isfinite(value))
        fprintf(json->out, "%.17g", value);
    else
        fputs("null", json->out);
}

/* Writes all times on one line, since one line per time would make files very long. */
void lab_json_times_array(lab_json *json, const char *name, const int64_t *times, int64_t count)
{
    begin_value(json, name);
    fputc('[', json->out);
    for (int64_t i = 0; i < count; i++) {
        fputs(i ? "," : "", json->out);
        if (times[i] > 0)
            fprintf(json->out, "%lld", (long long)times[i]);
        else
            fputs("null", json->out);
    }
    fputc(']', json->out);
}

void lab_json_integers_array(lab_json *json, const char *name, const int64_t *values, int64_t count)
{
    begin_value(json, name);
    fputc('[', json->out);
    for (int64_t i = 0; i < count; i++)
        fprintf(json->out, "%s%lld", i ? "," : "", (long long)values[i]);
    fputc(']', json->out);
}

void lab_json_boolean(lab_json *json, const char *name, bool value)
{
    begin_value(json, name);
    fputs(value ? "true" : "false", json->out);
}

void lab_json_finding(lab_json *json, const char *kind, const char *file, int64_t line, const char *text)
{
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "kind", kind);
    lab_json_string(json, "file", file);
    lab_json_integer(json, "line", line);
    lab_json_string(json, "text", text);
    lab_json_end(json, '}');
}

void lab_json_sizes(lab_json *json, int64_t m, int64_t n, int64_t k)
{
    lab_json_integer(json, "m", m);
    lab_json_integer(json, "n", n);
    lab_json_integer(json, "k", k);
}

void lab_json_integers(lab_json *json, const lab_json_integer_field *fields)
{
    for (; fields->name; fields++)
        lab_json_integer(json, fields->name, fields->value);
}

void lab_json_strings(lab_json *json, const lab_json_string_field *fields)
{
    for (; fields->name; fields++)
        lab_json_string(json, fields->name, fields->value);
}
