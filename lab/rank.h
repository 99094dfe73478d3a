/* SPDX-License-Identifier: Apache-2.0 */
/* rank.h - which parameters to try first. An ordering and nothing more: what is fast is
 * decided by running it. */
#ifndef LAB_RANK_H
#define LAB_RANK_H

#include "product.h"
#include "rung/rung.h"

/* A number from 0 to 1, greater for what is expected to be faster on this problem: comparable
 * between candidates of one kernel, and roughly between kernels. 0 where the kernel does not
 * say what a block computes. The same arguments give the same number. */
double lab_rank(const rung_kernel *kernel, const char *parameters, lab_product product, int64_t m, int64_t n, int64_t k,
                const rung_device_info *device);

#endif /* LAB_RANK_H */
