/* SPDX-License-Identifier: Apache-2.0 */
/* strings.h - strcasecmp() and strncasecmp() are in mingw-w64's string.h. */
#pragma once

#include <string.h>
