/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - see json.h. */
#include "json.h"

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

/* What stands before every value: a comma, a new line, its name. */
static void lead(lab_json *json, const char *name)
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
    lead(json, name);
    fputc(bracket, json->out);
    json->depth++;
    json->first = true;
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
    lead(json, name);
    write_string(json->out, value);
}

void lab_json_integer(lab_json *json, const char *name, int64_t value)
{
    lead(json, name);
    fprintf(json->out, "%lld", (long long)value);
}

void lab_json_number(lab_json *json, const char *name, double value)
{
    lead(json, name);
    if (isfinite(value))
        fprintf(json->out, "%.17g", value);
    else
        fputs("null", json->out);
}

/* A line each would make files of nothing else. */
void lab_json_times(lab_json *json, const char *name, const int64_t *times, int64_t count)
{
    lead(json, name);
    fputc('[', json->out);
    for (int64_t i = 0; i < count; i++)
        if (times[i] > 0)
            fprintf(json->out, "%s%lld", i ? "," : "", (long long)times[i]);
        else
            fprintf(json->out, "%snull", i ? "," : "");
    fputc(']', json->out);
}

void lab_json_true(lab_json *json, const char *name, bool value)
{
    lead(json, name);
    fputs(value ? "true" : "false", json->out);
}
