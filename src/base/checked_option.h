/* SPDX-License-Identifier: Apache-2.0 */
/* checked_option.h - the check of an option `checked`, for librung and the libraries on top of it. */
#pragma once

#include "base/error.h"

static inline rung_status rungi_checked_option_check(int64_t checked)
{
    if (checked == 0 || checked == 1)
        return RUNG_OK;
    return rungi_invalid("checked is %lld; it must be 1, or 0 for a multiplication without checks", (long long)checked);
}
