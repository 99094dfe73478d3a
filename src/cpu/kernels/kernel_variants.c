/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_variants.c - selects the compiled variant of a kernel. See cpu_kernels.h. */
#include "cpu/kernels/cpu_kernels.h"

/* Returns the best instruction set for the job. AVX2 does not imply the conversion of F16 (F16C). */
static rungi_isa usable_isa(const rungi_cpu_job *job)
{
    const rungi_cpu_features *features = job->features;
    return job->in == RUNG_F16 && !features->has_f16c ? RUNGI_ISA_PORTABLE : features->isa;
}

const rungi_cpu_kernel *rungi_cpu_variant_select(const rungi_cpu_variant_table *variants, const rungi_cpu_job *job)
{
    int isa = usable_isa(job);
    while (isa > RUNGI_ISA_PORTABLE && !(*variants)[isa][job->in])
        isa--;
    return (*variants)[isa][job->in];
}
