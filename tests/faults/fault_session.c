/* SPDX-License-Identifier: Apache-2.0 */
/* fault_session.c - see fault_session.h. */
#include "fault_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLEAR = 0x7f, PATH_BYTES = 256, PATHS = 4 };

float fault_a[FAULT_M * FAULT_K], fault_b[FAULT_K * FAULT_N], fault_c[FAULT_M * FAULT_N];
static float product[FAULT_M * FAULT_N];

void fault_fill_operands(void)
{
    for (int i = 0; i < FAULT_M * FAULT_K; i++)
        fault_a[i] = (float)(i * 7 % 9 - 4);
    for (int i = 0; i < FAULT_K * FAULT_N; i++)
        fault_b[i] = (float)(i * 5 % 7 - 3);
    for (int i = 0; i < FAULT_M; i++)
        for (int p = 0; p < FAULT_K; p++)
            for (int j = 0; j < FAULT_N; j++)
                product[i * FAULT_N + j] += fault_a[i * FAULT_K + p] * fault_b[p * FAULT_N + j];
}

void fault_clear_c(void)
{
    memset(fault_c, CLEAR, sizeof fault_c);
}

bool fault_c_is_clear(void)
{
    const unsigned char *bytes = (const unsigned char *)fault_c;
    for (size_t i = 0; i < sizeof fault_c; i++)
        if (bytes[i] != CLEAR)
            return false;
    return true;
}

bool fault_c_is_product(void)
{
    for (int i = 0; i < FAULT_M * FAULT_N; i++)
        if (!(fault_c[i] == product[i]))
            return false;
    return true;
}

rung_matrix fault_matrix_a(void)
{
    return rung_matrix_of(RUNG_F32, FAULT_M, FAULT_K, fault_a);
}

rung_matrix fault_matrix_b(void)
{
    return rung_matrix_of(RUNG_F32, FAULT_K, FAULT_N, fault_b);
}

rung_matrix fault_matrix_c(void)
{
    return rung_matrix_of(RUNG_F32, FAULT_M, FAULT_N, fault_c);
}

const char *fault_path(const char *name)
{
    static char paths[PATHS][PATH_BYTES];
    static int next;
    char *path = paths[next++ % PATHS];
    snprintf(path, PATH_BYTES, "%s/%s", getenv("HOME"), name);
    return path;
}
