/* SPDX-License-Identifier: Apache-2.0 */
/* packed_header.c - see packed_header.h. */
#include "cpu/packed_header.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char magic[8] = "rungB\r\n"; /* changed by a transfer that takes it for text */
enum { VERSION = 1 };                     /* of the header and of every layout */

/* FNV-1a, 64 bits. */
static uint64_t checksum_of(const rungi_packed_header *header)
{
    const unsigned char *bytes = (const unsigned char *)header;
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < offsetof(rungi_packed_header, checksum); i++)
        sum = (sum ^ bytes[i]) * 1099511628211u;
    return sum;
}

void rungi_packed_header_fill(const rung_plan *plan, const rungi_packed_layout *layout, rungi_packed_header *header)
{
    const rung_matrix *b = &plan->problem.b;
    memset(header, 0, sizeof *header);
    memcpy(header->magic, magic, sizeof magic);
    header->version = VERSION;
    header->type = (uint32_t)b->type;
    header->stored = (uint32_t)layout->stored;
    header->compute = (uint32_t)plan->info.compute;
    header->k = b->rows;
    header->n = b->cols;
    header->width = layout->width;
    header->depth = layout->depth;
    header->bytes = layout->bytes;
    snprintf(header->kernel, sizeof header->kernel, "%s", plan->kernel->info.name);
    header->checksum = checksum_of(header);
}

/* ---- What differs -------------------------------------------------------------------------------- */

typedef struct differences {
    char text[512];
    size_t used;
} differences_t;

static void add_words(differences_t *found, const char *name, const char *packed, const char *expected)
{
    if (strcmp(packed, expected) != 0 && found->used < sizeof found->text)
        found->used += (size_t)snprintf(found->text + found->used, sizeof found->text - found->used,
                                        "%s%s is %s instead of %s", found->used ? ", " : "", name, packed, expected);
}

static void add_number(differences_t *found, const char *name, int64_t packed, int64_t expected)
{
    char words[2][24];
    snprintf(words[0], sizeof words[0], "%lld", (long long)packed);
    snprintf(words[1], sizeof words[1], "%lld", (long long)expected);
    add_words(found, name, words[0], words[1]);
}

static rung_status describe(const rungi_packed_header *packed, const rungi_packed_header *expected)
{
    differences_t found = {.used = 0};
    add_words(&found, "the kernel", packed->kernel, expected->kernel);
    add_words(&found, "the type", rung_type_name((rung_type)packed->type), rung_type_name((rung_type)expected->type));
    add_words(&found, "the packed type", rung_type_name((rung_type)packed->stored),
              rung_type_name((rung_type)expected->stored));
    add_words(&found, "the compute mode", rung_compute_name((rung_compute)packed->compute),
              rung_compute_name((rung_compute)expected->compute));
    add_number(&found, "k", packed->k, expected->k);
    add_number(&found, "n", packed->n, expected->n);
    add_number(&found, "the panel width", packed->width, expected->width);
    add_number(&found, "the K block", packed->depth, expected->depth);
    add_number(&found, "the number of bytes", packed->bytes, expected->bytes);
    return rungi_fail(RUNG_STATUS_INVALID,
                      "the packed B does not match the plan: %s; pack B again: call rung_plan_pack_b with this "
                      "plan",
                      found.text);
}

rung_status rungi_packed_header_check(const rungi_packed_header *expected, const void *packed)
{
    rungi_packed_header found;
    if (memcmp(packed, expected, sizeof found) == 0)
        return RUNG_OK;
    memcpy(&found, packed, sizeof found);
    if (memcmp(found.magic, magic, sizeof magic) != 0)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "the buffer given as packed B does not hold a packed matrix; fill it: call "
                          "rung_plan_pack_b with this plan");
    if (found.checksum != checksum_of(&found))
        return rungi_fail(RUNG_STATUS_INVALID,
                          "the header of the packed B is damaged: its checksum is wrong; pack B again: "
                          "call rung_plan_pack_b with this plan");
    if (found.version != expected->version)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "B was packed in format version %lu, and this library reads version %lu; pack B "
                          "again: call rung_plan_pack_b with this plan",
                          (unsigned long)found.version, (unsigned long)expected->version);
    found.kernel[sizeof found.kernel - 1] = '\0';
    return describe(&found, expected);
}
