/* SPDX-License-Identifier: Apache-2.0 */
/* candidate_score.h - scores candidates to choose which ones to try first. Only measurements decide which is fastest. */
#ifndef LAB_CANDIDATE_SCORE_H
#define LAB_CANDIDATE_SCORE_H

#include "common/type_pair.h"
#include "rung/rung.h"

/* Returns a score from 0 to 1, higher for candidates that should be faster on this problem. Scores are comparable for
 * one kernel, and roughly between kernels. 0 if the kernel does not declare its block tile. Deterministic. */
double lab_candidate_score(const rung_kernel *kernel, const char *parameters, lab_type_pair product, int64_t m,
                           int64_t n, int64_t k, const rung_device_info *device);

#endif /* LAB_CANDIDATE_SCORE_H */
