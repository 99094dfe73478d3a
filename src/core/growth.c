/* SPDX-License-Identifier: Apache-2.0 */
/* growth.c - see growth.h. */
#include "core/growth.h"

#include <string.h>

#include "core/error.h"

/* A larger size is the content of a struct that was not initialised. */
enum { SIZE_MAX_SANE = 1 << 16 };

static int is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0)
            return 0;
    return 1;
}

rung_status rungi_struct_read(const void *given, void *copy, size_t known, const char *initialiser)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size <= sizeof size || size > SIZE_MAX_SANE)
        return rungi_fail(RUNG_STATUS_INVALID, "the field `size` of a struct is %zu; create the struct with %s()", size,
                          initialiser);
    if (size > known && !is_zero((const unsigned char *)given + known, size - known))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "a struct created by %s() uses a field that rung %s does not know; "
                          "use a newer library, or leave the field 0", initialiser, rung_version_text());
    memset(copy, 0, known);
    memcpy(copy, given, size < known ? size : known);
    memcpy(copy, &known, sizeof known);
    return RUNG_OK;
}

rung_status rungi_problem_read(const rung_problem *given, rung_problem *copy)
{
    if (!given)
        return rungi_fail(RUNG_STATUS_INVALID, "the problem is NULL");
    return rungi_struct_read(given, copy, sizeof *copy, "rung_problem_of");
}

rung_status rungi_plan_options_read(const rung_plan_options *given, rung_plan_options *copy)
{
    *copy = rung_plan_options_default();
    return given ? rungi_struct_read(given, copy, sizeof *copy, "rung_plan_options_default") : RUNG_OK;
}

rung_status rungi_run_options_read(const rung_run_options *given, rung_run_options *copy)
{
    *copy = rung_run_options_default();
    return given ? rungi_struct_read(given, copy, sizeof *copy, "rung_run_options_default") : RUNG_OK;
}
