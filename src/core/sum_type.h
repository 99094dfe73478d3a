/* SPDX-License-Identifier: Apache-2.0 */
/* sum_type.h - the error of types that are not multiplied, for the libraries that build on the public header. */
#ifndef RUNGI_SUM_TYPE_H
#define RUNGI_SUM_TYPE_H

#include "rung/rung.h"

/* Sets the error of types that are not multiplied. */
static inline rung_status rungi_refuse_types(rung_type a, rung_type b, rung_type c)
{
    return rung_error_set(RUNG_STATUS_UNSUPPORTED,
                          "no kernel multiplies %s by %s into %s; see the table of types in rung.h", rung_type_name(a),
                          rung_type_name(b), rung_type_name(c));
}

#endif /* RUNGI_SUM_TYPE_H */
