/* SPDX-License-Identifier: Apache-2.0 */
/* versioned_struct.h - reads and fills structs of callers that begin with their `size`, for librung and the libraries
 * on top of it. A caller may have been compiled for a version of the header with fewer or with more fields. */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/error.h"

enum { RUNGI_STRUCT_SIZE_MAX = 1 << 16 }; /* bytes; a larger `size` was not set by an initialiser */

/* Checks a caller's struct and its `size`. `name` is the argument's name, `initialiser` the function that sets the size. */
static inline rung_status rungi_versioned_struct_check(const void *given, const char *name, const char *initialiser)
{
    size_t size = 0;
    if (!given)
        return rungi_invalid("%s is NULL; create it with %s()", name, initialiser);
    memcpy(&size, given, sizeof size);
    /* Other multiples would split a field, such as a pointer. */
    if (size <= sizeof size || size > RUNGI_STRUCT_SIZE_MAX || size % sizeof size != 0)
        return rungi_invalid("%s.size is %zu, which no version uses; create it with %s(), which sets its size", name,
                             size, initialiser);
    return RUNG_OK;
}

/* Copies a caller's struct to `to`, `size` bytes of this version: fields that the caller does not know are 0. Fields that
 * this version does not know must be 0. */
static inline rung_status rungi_versioned_struct_read(const void *given, void *to, size_t size, const char *name,
                                                      const char *initialiser)
{
    size_t given_size = 0;
    rung_status status = rungi_versioned_struct_check(given, name, initialiser);
    memset(to, 0, size);
    if (status != RUNG_OK)
        return status;
    memcpy(&given_size, given, sizeof given_size);
    for (size_t i = size; i < given_size; i++)
        if (((const unsigned char *)given)[i] != 0)
            return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                              "%s was compiled for a newer version of rung and sets a field that "
                              "this version, %s, does not know; set it to 0, or use the newer library",
                              name, rung_version_text());
    memcpy(to, given, given_size < size ? given_size : size);
    memcpy(to, &size, sizeof size);
    return RUNG_OK;
}

/* Does the same for options that may be NULL: the defaults, where all fields are 0. */
static inline rung_status rungi_versioned_options_read(const void *given, void *to, size_t size, const char *name,
                                                       const char *initialiser)
{
    memset(to, 0, size);
    memcpy(to, &size, sizeof size);
    return given ? rungi_versioned_struct_read(given, to, size, name, initialiser) : RUNG_OK;
}

/* Copies `from`, `size` bytes of this version, to a caller's struct that was checked: as many fields as the caller knows.
 * Fields that this version does not know become 0. */
static inline void rungi_versioned_struct_write(const void *from, size_t size, void *given)
{
    size_t given_size = 0, common;
    memcpy(&given_size, given, sizeof given_size);
    common = given_size < size ? given_size : size;
    memset(given, 0, given_size);
    memcpy(given, from, common);
    memcpy(given, &given_size, sizeof given_size);
}
