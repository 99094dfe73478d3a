/* SPDX-License-Identifier: Apache-2.0 */
/* list_shapes.c - the shapes that grids are judged by, as many sets of them as are asked for, a line each: ranks, sides, the
 * grid, bytes of the busiest rank, the bound and their ratio. */
#include <stdio.h>
#include <stdlib.h>

#include "random_shapes.h"

static int print_shape(int set, int index)
{
    rung_cluster_problem shape = shape_at(set, index);
    rung_cluster_grid grid = rung_cluster_grid_of(1, 1, 1);
    rung_cluster_cost cost = rung_cluster_cost_default();
    if (rung_cluster_grid_choose(&shape, &grid) != RUNG_OK || rung_cluster_grid_cost(&shape, &grid, &cost) != RUNG_OK) {
        fprintf(stderr, "%s\n", rung_error_text());
        return 1;
    }
    printf("%d\t%lld\t%lld\t%lld\t%lld\t%lldx%lldx%lld\t%lld\t%.0f\t%.4f\n", set, (long long)shape.ranks,
           (long long)shape.m, (long long)shape.n, (long long)shape.k, (long long)grid.pm, (long long)grid.pn,
           (long long)grid.pk, (long long)cost.received_bytes, cost.bound_bytes,
           (double)cost.received_bytes / cost.bound_bytes);
    return 0;
}

int main(int argc, char **argv)
{
    int sets = argc > 1 ? atoi(argv[1]) : 1, failed = 0;
    printf("set\tranks\tm\tn\tk\tgrid\treceived\tbound\tratio\n");
    for (int i = 0; i < sets * SHAPES; i++)
        failed |= print_shape(i / SHAPES, i % SHAPES);
    return failed;
}
