/* SPDX-License-Identifier: Apache-2.0 */
/* weights_unit.h - builds files of weights in memory, byte by byte, and parses them. */
#ifndef RUNG_WEIGHTS_UNIT_H
#define RUNG_WEIGHTS_UNIT_H

#include "support/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "weights/weights.h"

enum { FILE_BYTES_MAX = 1 << 17 };

/* A file that is being built. */
typedef struct built_file {
    uint8_t bytes[FILE_BYTES_MAX];
    int64_t count;
} built_file_t;

static inline void put_bytes(built_file_t *file, const void *bytes, size_t count)
{
    assert_true((size_t)file->count + count <= sizeof file->bytes);
    memcpy(file->bytes + file->count, bytes, count);
    file->count += (int64_t)count;
}

static inline void put_number(built_file_t *file, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++, value >>= 8)
        put_bytes(file, &(uint8_t){(uint8_t)(value & 255)}, 1);
}

/* Parses a copy in memory of exactly this size, so that a sanitizer reports reads behind it. The copy lives until the next
 * call, and with it the views of the last result. */
static inline rung_status parse_file(const built_file_t *file, int64_t count, rung_weights **weights)
{
    static uint8_t *copy;
    free(copy);
    copy = malloc(count > 0 ? (size_t)count : 1);
    assert_non_null(copy);
    memcpy(copy, file->bytes, (size_t)count);
    return rungi_weights_parse("model", copy, count, weights);
}

static inline rung_weights *parse_valid(const built_file_t *file)
{
    rung_weights *weights;
    rung_status status = parse_file(file, file->count, &weights);
    if (status != RUNG_OK)
        fail_msg("%s: %s", rung_status_name(status), rung_error_text());
    return weights;
}

/* Checks that a file is rejected with this status and a message that contains `text`. */
static inline void assert_rejected(const built_file_t *file, rung_status expected, const char *text)
{
    rung_weights *weights = (rung_weights *)(uintptr_t)1;
    rung_status status = parse_file(file, file->count, &weights);
    if (status != expected || !strstr(rung_error_text(), text))
        fail_msg("%s: %s; expected %s and \"%s\"", rung_status_name(status),
                 status == RUNG_OK ? "accepted" : rung_error_text(), rung_status_name(expected), text);
    assert_null(weights);
}

/* Checks that every shorter file is rejected. */
static inline void assert_prefixes_rejected(const built_file_t *file)
{
    for (int64_t count = 0; count < file->count; count++) {
        rung_weights *weights;
        assert_int_not_equal(parse_file(file, count, &weights), RUNG_OK);
        assert_null(weights);
    }
}

#endif /* RUNG_WEIGHTS_UNIT_H */
