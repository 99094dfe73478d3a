/* SPDX-License-Identifier: Apache-2.0 */
/* outofcore_program.c - a user's program: the tests of the installed shared and static libraries compile it. */
#include <rung/outofcore.h>
#include <stdio.h>

int main(void)
{
    float a_data[] = {1, 2, 3, 4, 5, 6}, b_data[] = {1, 0, 0, 1, 1, 1}, c_data[4] = {0};
    rung_outofcore_matrix *a = NULL, *b = NULL, *c = NULL;
    rung_outofcore_matrix_wrap(rung_matrix_of(RUNG_F32, 2, 3, a_data), &a);
    rung_outofcore_matrix_wrap(rung_matrix_of(RUNG_F32, 3, 2, b_data), &b);
    rung_outofcore_matrix_wrap(rung_matrix_of(RUNG_F32, 2, 2, c_data), &c);
    rung_outofcore_problem problem = rung_outofcore_problem_of(a, b);
    problem.d = c;
    rung_status status = rung_outofcore_multiply(NULL, &problem, NULL, NULL);
    printf("%s %g %g %g %g\n", rung_status_text(status), c_data[0], c_data[1], c_data[2], c_data[3]);
    rung_outofcore_matrix_destroy(a);
    rung_outofcore_matrix_destroy(b);
    rung_outofcore_matrix_destroy(c);
    return status != RUNG_OK;
}
