/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - see parts.h. */
#include "cpu/parts.h"

/* AVX2 does not promise the conversions of F16, though every processor has had both. */
static rungi_isa usable(const rungi_cpu_job *job)
{
    const rungi_cpu_features *features = job->features;
    return job->in == RUNG_F16 && !features->has_f16c ? RUNGI_ISA_PORTABLE : features->isa;
}

const rungi_cpu_kernel *rungi_cpu_part(const rungi_cpu_parts *parts, const rungi_cpu_job *job)
{
    int isa = usable(job);
    while (isa > RUNGI_ISA_PORTABLE && !(*parts)[isa][job->in])
        isa--;
    return (*parts)[isa][job->in];
}
