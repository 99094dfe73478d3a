/* SPDX-License-Identifier: Apache-2.0 */
/* list_shapes.c - the shapes that grids are judged by, a line each: ranks, sides, the grid, bytes of the busiest rank, the
 * bound and their ratio. */
#include <stdio.h>
#include <stdlib.h>

#include "shapes.h"

int main(int argc, char **argv)
{
    int seed = argc > 1 ? atoi(argv[1]) : 0;
    printf("ranks\tm\tn\tk\tgrid\treceived\tbound\tratio\n");
    for (int i = 0; i < SHAPES; i++) {
        rung_cluster shape = shape_at(seed, i);
        rung_grid grid;
        rung_grid_cost cost;
        if (rung_grid_choose(&shape, &grid) != RUNG_OK || rung_grid_count(&shape, &grid, &cost) != RUNG_OK) {
            fprintf(stderr, "%s\n", rung_error_text());
            return 1;
        }
        printf("%lld\t%lld\t%lld\t%lld\t%lldx%lldx%lld\t%lld\t%.0f\t%.4f\n", (long long)shape.ranks, (long long)shape.m,
               (long long)shape.n, (long long)shape.k, (long long)grid.pm, (long long)grid.pn, (long long)grid.pk,
               (long long)cost.received, cost.bound, (double)cost.received / cost.bound);
    }
    return 0;
}
