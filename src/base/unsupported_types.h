/* SPDX-License-Identifier: Apache-2.0 */
/* unsupported_types.h - the error message for unsupported types, for librung and the libraries on top of it. */
#pragma once

#include "base/error.h"

/* Fails unless A and B have the same type. The libraries on top of librung read both with one type; only librung multiplies by a B
 * of another type. */
static inline rung_status rungi_check_equal_types(rung_type a, rung_type b)
{
    if (a == b)
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                      "A is %s and B is %s; this call needs equal types: convert B, or use rung_multiply()",
                      rung_type_name(a), rung_type_name(b));
}

/* Sets the error message for types that no kernel multiplies. */
static inline rung_status rungi_fail_unsupported_types(rung_type a, rung_type b, rung_type c)
{
    return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                      "no kernel multiplies %s by %s into %s; rung.h lists the supported types", rung_type_name(a),
                      rung_type_name(b), rung_type_name(c));
}
