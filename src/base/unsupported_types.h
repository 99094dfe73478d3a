/* SPDX-License-Identifier: Apache-2.0 */
/* unsupported_types.h - the error message for unsupported types, for librung and the libraries on top of it. */
#pragma once

#include "base/error.h"

/* Sets the error message for types that no kernel multiplies. */
static inline rung_status rungi_fail_unsupported_types(rung_type a, rung_type b, rung_type c)
{
    return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                      "no kernel multiplies %s by %s into %s; rung.h lists the supported types", rung_type_name(a),
                      rung_type_name(b), rung_type_name(c));
}
