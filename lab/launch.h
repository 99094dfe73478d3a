/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - rung bench --cluster: the program that speaks MPI, run and watched by the one that does not. */
#ifndef LAB_LAUNCH_H
#define LAB_LAUNCH_H

#include "options.h"

/* Runs rung-cluster with these options and waits for it. If it dies, says which rank that was and ends with a failing
 * code, so that any launcher ends the job. An exit code. */
int lab_cluster_launch(const lab_options *options);

#endif /* LAB_LAUNCH_H */
