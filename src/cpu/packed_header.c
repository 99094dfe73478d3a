/* SPDX-License-Identifier: Apache-2.0 */
/* packed_header.c - see packed_header.h. */
#include "cpu/packed_header.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/fnv1a.h"

static const char magic[8] = "rungB\r\n"; /* a transfer as text would change it */
enum { VERSION = 1 };                     /* of the header and of every layout */

/* Returns the checksum of all members before `checksum`. */
static uint64_t header_checksum(const rungi_packed_header *header)
{
    return rungi_fnv1a(RUNGI_FNV1A_START, header, offsetof(rungi_packed_header, checksum));
}

void rungi_packed_header_fill(const rung_plan *plan, const rungi_packed_layout *layout, rungi_packed_header *header)
{
    const rung_matrix *b = &plan->problem.b;
    memset(header, 0, sizeof *header);
    memcpy(header->magic, magic, sizeof magic);
    header->version = VERSION;
    header->type = (uint32_t)b->type;
    header->packed_type = (uint32_t)layout->packed_type;
    header->compute = (uint32_t)plan->info.compute;
    header->k = b->rows;
    header->n = b->cols;
    header->width = layout->width;
    header->k_block = layout->k_block;
    header->bytes = layout->bytes;
    snprintf(header->kernel, sizeof header->kernel, "%s", plan->kernel->info.name);
    header->checksum = header_checksum(header);
}

/* ---- Comparing -------------------------------------------------------------------------------- */

typedef struct differences {
    char text[512];
    size_t used;
} differences_t;

static void add_text_difference(differences_t *found, const char *name, const char *packed, const char *expected)
{
    if (strcmp(packed, expected) != 0 && found->used < sizeof found->text)
        found->used += (size_t)snprintf(found->text + found->used, sizeof found->text - found->used,
                                        "%s%s is %s instead of %s", found->used ? ", " : "", name, packed, expected);
}

static void add_number_difference(differences_t *found, const char *name, int64_t packed, int64_t expected)
{
    char words[2][24];
    snprintf(words[0], sizeof words[0], "%lld", (long long)packed);
    snprintf(words[1], sizeof words[1], "%lld", (long long)expected);
    add_text_difference(found, name, words[0], words[1]);
}

static rung_status report_differences(const rungi_packed_header *packed, const rungi_packed_header *expected)
{
    differences_t found = {.used = 0};
    add_text_difference(&found, "the kernel", packed->kernel, expected->kernel);
    add_text_difference(&found, "the type", rung_type_name((rung_type)packed->type),
                        rung_type_name((rung_type)expected->type));
    add_text_difference(&found, "the packed type", rung_type_name((rung_type)packed->packed_type),
                        rung_type_name((rung_type)expected->packed_type));
    add_text_difference(&found, "the compute mode", rung_compute_name((rung_compute)packed->compute),
                        rung_compute_name((rung_compute)expected->compute));
    add_number_difference(&found, "k", packed->k, expected->k);
    add_number_difference(&found, "n", packed->n, expected->n);
    add_number_difference(&found, "the panel width", packed->width, expected->width);
    add_number_difference(&found, "the K block", packed->k_block, expected->k_block);
    add_number_difference(&found, "the number of bytes", packed->bytes, expected->bytes);
    return rungi_invalid("the packed B does not match the plan: %s; pack B again: call rung_plan_pack_b with this plan",
                         found.text);
}

rung_status rungi_packed_header_check(const rungi_packed_header *expected, const void *packed)
{
    rungi_packed_header found;
    if (memcmp(packed, expected, sizeof found) == 0)
        return RUNG_OK;
    memcpy(&found, packed, sizeof found);
    if (memcmp(found.magic, magic, sizeof magic) != 0)
        return rungi_invalid("the buffer given as packed B does not hold a packed matrix; fill it: call "
                             "rung_plan_pack_b with this plan");
    if (found.checksum != header_checksum(&found))
        return rungi_invalid("the header of the packed B is damaged: its checksum is wrong; pack B again: "
                             "call rung_plan_pack_b with this plan");
    if (found.version != expected->version)
        return rungi_invalid("B was packed in format version %lu, and this library reads version %lu; pack B "
                             "again: call rung_plan_pack_b with this plan",
                             (unsigned long)found.version, (unsigned long)expected->version);
    found.kernel[sizeof found.kernel - 1] = '\0';
    return report_differences(&found, expected);
}
