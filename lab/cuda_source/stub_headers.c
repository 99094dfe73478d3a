/* SPDX-License-Identifier: Apache-2.0 */
/* stub_headers.c - see stub_headers.h. A stub of one name is one #include line of a file in stubs/, which serves many
 * names. */
#include "cuda_source/stub_headers.h"

#include <string.h>

#include "stubs/sources.h"

typedef enum stub_rule { ALWAYS, UNLESS_INSTALLED, FOLDER } stub_rule_t;

#define PART_NAME(part) "rung_stubs/" #part ".h"

static const struct {
    const char *name, *text;
    stub_rule_t rule;
} stubs[] = {
#define STUB_HEADER(name, part) {name, "#include \"" PART_NAME(part) "\"\n", ALWAYS},
#define STUB_UNLESS_INSTALLED(name, part) {name, "#include \"" PART_NAME(part) "\"\n", UNLESS_INSTALLED},
#define STUB_FOLDER(name, part) {name, "#include \"" PART_NAME(part) "\"\n", FOLDER},
#include "cuda_source/stub_headers.def"
#undef STUB_HEADER
#undef STUB_UNLESS_INSTALLED
#undef STUB_FOLDER
};
enum { STUB_COUNT = sizeof stubs / sizeof *stubs };

static const struct {
    const char *name, *text;
} parts[] = {
#define STUB_PART(part) {PART_NAME(part), lab_stub_##part},
#include "cuda_source/stub_parts.def"
#undef STUB_PART
};
enum { PART_COUNT = sizeof parts / sizeof *parts };

const char *lab_stub_header_find(const char *name, bool is_installed)
{
    for (int i = 0; i < STUB_COUNT; i++) {
        bool is_folder = stubs[i].rule == FOLDER;
        if (is_folder ? strncmp(name, stubs[i].name, strlen(stubs[i].name)) == 0 : strcmp(name, stubs[i].name) == 0)
            return is_installed && stubs[i].rule == UNLESS_INSTALLED ? NULL : stubs[i].text;
    }
    return NULL;
}

const char *lab_stub_header_name(int index)
{
    return index >= 0 && index < STUB_COUNT ? stubs[index].name : NULL;
}

const char *lab_stub_part_name(int index)
{
    return index >= 0 && index < PART_COUNT ? parts[index].name : NULL;
}

const char *lab_stub_part_text(int index)
{
    return index >= 0 && index < PART_COUNT ? parts[index].text : NULL;
}
