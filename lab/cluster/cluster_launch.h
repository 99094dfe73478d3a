/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_launch.h - rung bench --cluster: runs rung-cluster, the program that links MPI, and reports if it dies. */
#ifndef LAB_CLUSTER_LAUNCH_H
#define LAB_CLUSTER_LAUNCH_H

#include "cli/options.h"

/* Runs rung-cluster with these options and waits for it. Returns its exit code; if it died, prints which rank died and returns
 * a failing code, so that any launcher ends the job. */
int lab_cluster_launch(const lab_options *options);

#endif /* LAB_CLUSTER_LAUNCH_H */
