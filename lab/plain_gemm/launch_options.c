/* SPDX-License-Identifier: Apache-2.0 */
/* launch_options.c - see launch_options.h. */
#include "plain_gemm/launch_options.h"

#include <stdio.h>

#include "common/failure.h"

bool lab_launch_options_complete(lab_launch_options *options, const lab_launch_line *line, char *why, size_t capacity)
{
    const struct {
        const char *name;
        char *to;
        rungi_string_view from;
    } texts[] = {{"kernel", options->kernel, line->kernel}, {"template", options->templates, line->templates},
                 {"grid", options->grid, line->grid},       {"block", options->block, line->block},
                 {"shared", options->shared, line->shared}, {"args", options->arguments, line->roles}};
    if ((!*options->grid && line->grid.length > 0) || (!*options->block && line->block.length > 0))
        options->line = line->line;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (*texts[i].to || texts[i].from.length == 0)
            continue;
        if (texts[i].from.length >= LAB_LAUNCH_TEXT_BYTES)
            return lab_set_reason(why, capacity, "line %d: %s= is longer than %d characters", line->line, texts[i].name,
                                  LAB_LAUNCH_TEXT_BYTES - 1);
        snprintf(texts[i].to, LAB_LAUNCH_TEXT_BYTES, "%.*s", (int)texts[i].from.length, texts[i].from.text);
    }
    return true;
}

bool lab_launch_options_set(char to[LAB_LAUNCH_TEXT_BYTES], const char *text)
{
    return !text || snprintf(to, LAB_LAUNCH_TEXT_BYTES, "%s", text) < LAB_LAUNCH_TEXT_BYTES;
}
