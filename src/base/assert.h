/* SPDX-License-Identifier: Apache-2.0 */
/* assert.h - checks of internal invariants, for every library of this project.
 *
 * An assertion states what the code before it guarantees: an index is below its array's length, a size was
 * checked, an object was constructed. It never checks what a caller or a file may get wrong; such a check
 * returns a status in every build. CMake defines RUNG_ASSERTIONS for debug and sanitizer builds; a release build
 * does not evaluate the condition. */
#pragma once

#ifdef RUNG_ASSERTIONS

#include <stdio.h>
#include <stdlib.h>

_Noreturn static inline void rungi_assert_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "rung: internal error at %s:%d: the assertion \"%s\" does not hold\n", file, line, condition);
    abort();
}

/* Ends the process with a line on standard error unless the condition holds. */
#define RUNGI_ASSERT(condition) ((condition) ? (void)0 : rungi_assert_failed(#condition, __FILE__, __LINE__))

#else

/* sizeof does not evaluate its operand, and counts as a use of the variables in it. */
#define RUNGI_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))

#endif
