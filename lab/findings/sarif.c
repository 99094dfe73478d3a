/* SPDX-License-Identifier: Apache-2.0 */
/* sarif.c - see sarif.h. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "findings/sarif.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/failure.h"
#include "common/text.h"
#include "rung/rung.h"

static void write_text(lab_json *json, const char *name, const char *text)
{
    lab_json_begin(json, name, '{');
    lab_json_string(json, "text", text);
    lab_json_end(json, '}');
}

/* Appends a path; characters that addresses do not have are written as %20. */
static void append_path(char *address, size_t capacity, const char *path)
{
    static const char plain[] = "/-._~+@";
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || strchr(plain, c);
        lab_append(address, capacity, is_plain ? "%c" : "%%%02X", c);
    }
}

/* Writes the address of a file: relative to the current folder, so that code hosts find it in a repository, or file:// and the
 * path if the file is elsewhere or the user gave an absolute path. */
static void write_address(const char *file, bool names_absolute, char *address, size_t capacity)
{
    char folder[PATH_MAX], whole[PATH_MAX];
    *address = '\0';
    if (!realpath(file, whole) || !getcwd(folder, sizeof folder)) {
        append_path(address, capacity, file);
        return;
    }
    size_t length = strlen(folder);
    bool is_below = strncmp(whole, folder, length) == 0 && whole[length] == '/';
    if (!is_below || names_absolute)
        lab_append(address, capacity, "file://");
    append_path(address, capacity, is_below && !names_absolute ? whole + length + 1 : whole);
}

static void write_location(lab_json *json, const char *file, int line, bool names_absolute)
{
    char address[3 * PATH_MAX];
    write_address(file, names_absolute, address, sizeof address);
    lab_json_begin(json, NULL, '{');
    lab_json_begin(json, "physicalLocation", '{');
    lab_json_begin(json, "artifactLocation", '{');
    lab_json_string(json, "uri", address);
    lab_json_end(json, '}');
    lab_json_begin(json, "region", '{');
    lab_json_integer(json, "startLine", line > 0 ? line : 1);
    lab_json_end(json, '}');
    lab_json_end(json, '}');
    lab_json_end(json, '}');
}

/* Lists each kind of finding once. */
static void write_rules(lab_json *json, const lab_finding_list *list)
{
    lab_json_begin(json, "rules", '[');
    for (int i = 0; i < list->count; i++) {
        bool is_known = false;
        for (int j = 0; j < i; j++)
            is_known = is_known || strcmp(list->items[j].kind, list->items[i].kind) == 0;
        if (is_known)
            continue;
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "id", list->items[i].kind);
        write_text(json, "help", list->items[i].fix);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void write_result(lab_json *json, const lab_finding *item, bool names_absolute)
{
    char text[LAB_FINDING_TEXT_BYTES + 256];
    snprintf(text, sizeof text, "%s %s", item->text, item->fix);
    lab_json_begin(json, NULL, '{');
    LAB_JSON_STRINGS(json, {"ruleId", item->kind}, {"level", "error"});
    write_text(json, "message", text);
    lab_json_begin(json, "locations", '[');
    write_location(json, item->file, item->line, names_absolute);
    lab_json_end(json, ']');
    if (item->other_line > 0) {
        lab_json_begin(json, "relatedLocations", '[');
        write_location(json, item->file, item->other_line, names_absolute);
        lab_json_end(json, ']');
    }
    lab_json_end(json, '}');
}

void lab_sarif_write(const lab_finding_list *list, FILE *out)
{
    lab_json json = {.out = out, .first = true};
    lab_json_begin(&json, NULL, '{');
    LAB_JSON_STRINGS(&json, {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"});
    lab_json_begin(&json, "runs", '[');
    lab_json_begin(&json, NULL, '{');
    lab_json_begin(&json, "tool", '{');
    lab_json_begin(&json, "driver", '{');
    LAB_JSON_STRINGS(&json, {"name", "rung"}, {"version", rung_version_text()});
    write_rules(&json, list);
    lab_json_end(&json, '}');
    lab_json_end(&json, '}');
    lab_json_begin(&json, "results", '[');
    for (int i = 0; i < list->count; i++)
        write_result(&json, &list->items[i], list->names_absolute);
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

bool lab_sarif_save(const lab_finding_list *list, const char *path, char *why, size_t capacity)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return lab_set_reason(why, capacity, "%s: %s", path, strerror(errno));
    lab_sarif_write(list, out);
    bool good = !ferror(out);
    if (fclose(out) != 0 || !good)
        return lab_set_reason(why, capacity, "%s could not be written completely", path);
    return true;
}
