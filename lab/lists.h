/* SPDX-License-Identifier: Apache-2.0 */
/* lists.h - how many enumerators the lab knows, for tables and loops. The public header has no counts, because they
 * grow with the library; tests/lab compares these with the library's names. */
#ifndef LAB_LISTS_H
#define LAB_LISTS_H

#include "rung/rung.h"

enum { LAB_COMPUTE_COUNT = RUNG_COMPUTE_BF16X1 + 1, LAB_ACTIVATION_COUNT = RUNG_ACTIVATION_SILU + 1 };

#endif /* LAB_LISTS_H */
