/* SPDX-License-Identifier: Apache-2.0 */
/* lab_enum_counts.h - the number of enumerators that the lab knows, for tables and loops. The public header has no counts,
 * because they grow with the library; tests/common compares these with the names of the library. */
#ifndef LAB_ENUM_COUNTS_H
#define LAB_ENUM_COUNTS_H

#include "rung/rung.h"

enum { LAB_COMPUTE_COUNT = RUNG_COMPUTE_BF16X1 + 1, LAB_ACTIVATION_COUNT = RUNG_ACTIVATION_SILU + 1 };

#endif /* LAB_ENUM_COUNTS_H */
