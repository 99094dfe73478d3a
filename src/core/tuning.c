/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.c - the public side of the tuning store. */
#include "core/error.h"

rung_status rung_tuning_key(const rung_device *device, const rung_problem *problem, char *text,
                            size_t capacity)
{
    (void)device, (void)problem, (void)text, (void)capacity;
    return rungi_fail(RUNG_UNSUPPORTED, "there is no tuning store yet");
}

rung_status rung_tuning_save(rung_device *device, const rung_problem *problem, const rung_tuning *found,
                             const char *path)
{
    (void)device, (void)problem, (void)found, (void)path;
    return rungi_fail(RUNG_UNSUPPORTED, "there is no tuning store yet");
}

rung_status rung_tuning_merge(rung_context *context, const char *from, const char *into, int64_t *changed)
{
    (void)context, (void)from, (void)into, (void)changed;
    return rungi_fail(RUNG_UNSUPPORTED, "there is no tuning store yet");
}

rung_status rung_tuning_path(rung_context *context, char *text, size_t capacity)
{
    (void)context, (void)text, (void)capacity;
    return rungi_fail(RUNG_UNSUPPORTED, "there is no tuning store yet");
}
