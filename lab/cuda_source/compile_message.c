/* SPDX-License-Identifier: Apache-2.0 */
/* compile_message.c - see compile_message.h. A message is a header of fixed size, followed by blocks: 8 bytes of length
 * and the bytes. Both processes are the same program, so the byte order does not matter. The parent checks all lengths,
 * because a file that attacks the compiler may control the child. */
#include "cuda_source/compile_message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct message_header {
    int status, way, major, minor, name_count;
} message_header_t;

/* ---- Writing ---- */

static void write_bytes(int output, const void *bytes, size_t count)
{
    for (const char *at = bytes; count > 0;) {
        ssize_t written = write(output, at, count);
        if (written < 0 && errno != EINTR)
            return; /* the parent finds an incomplete message */
        at += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
}

static void write_block(int output, const void *bytes, int64_t count)
{
    write_bytes(output, &count, sizeof count);
    write_bytes(output, bytes, (size_t)count);
}

static void write_text(int output, const char *text)
{
    write_block(output, text ? text : "", text ? (int64_t)strlen(text) : 0);
}

void lab_compile_message_write(int output, lab_cuda_compile_status status, const lab_cuda_code *code, const char *why)
{
    message_header_t header = {(int)status, (int)code->way, code->version_major, code->version_minor, code->name_count};
    write_bytes(output, &header, sizeof header);
    write_text(output, why);
    write_text(output, code->log);
    write_block(output, code->ptx, code->ptx_bytes);
    write_block(output, code->cubin, code->cubin_bytes);
    for (int i = 0; i < code->name_count; i++)
        write_text(output, code->lowered[i]);
}

/* ---- Reading ---- */

typedef struct message_reader {
    const char *at;
    size_t left;
    bool is_bad;
} message_reader_t;

static void read_bytes(message_reader_t *reader, void *to, size_t count)
{
    if (reader->is_bad || reader->left < count) {
        reader->is_bad = true;
        memset(to, 0, count);
        return;
    }
    memcpy(to, reader->at, count);
    reader->at += count;
    reader->left -= count;
}

/* Returns a block with a terminating 0; the caller frees it. */
static char *read_block(message_reader_t *reader, int64_t *count)
{
    read_bytes(reader, count, sizeof *count);
    if (reader->is_bad || *count < 0 || (uint64_t)*count > reader->left) {
        reader->is_bad = true;
        *count = 0;
        return NULL;
    }
    char *block = malloc((size_t)*count + 1);
    if (!block) {
        reader->is_bad = true;
        return NULL;
    }
    read_bytes(reader, block, (size_t)*count);
    block[*count] = '\0';
    return block;
}

static void read_names(message_reader_t *reader, int count, lab_cuda_code *code)
{
    int64_t length;
    if (reader->is_bad || count <= 0)
        return;
    code->lowered = (size_t)count <= reader->left ? calloc((size_t)count, sizeof *code->lowered) : NULL;
    reader->is_bad = !code->lowered;
    for (int i = 0; i < count && !reader->is_bad; i++) {
        code->lowered[i] = read_block(reader, &length);
        code->name_count = i + 1;
    }
}

bool lab_compile_message_read(const char *bytes, size_t count, lab_cuda_compile_status *status, lab_cuda_code *code,
                              char *why, size_t capacity)
{
    message_reader_t reader = {bytes, count, false};
    message_header_t header;
    int64_t length;
    read_bytes(&reader, &header, sizeof header);
    char *reason = read_block(&reader, &length);
    code->log = read_block(&reader, &length);
    code->ptx = read_block(&reader, &code->ptx_bytes);
    code->cubin = read_block(&reader, &code->cubin_bytes);
    read_names(&reader, header.name_count, code);
    if (reason)
        snprintf(why, capacity, "%s", reason);
    free(reason);
    if (header.status < LAB_CUDA_COMPILED || header.status > LAB_CUDA_FAILED || header.way < LAB_CUDA_WHOLE ||
        header.way > LAB_CUDA_NVCC)
        reader.is_bad = true;
    *status = reader.is_bad ? LAB_CUDA_FAILED : (lab_cuda_compile_status)header.status;
    code->way = reader.is_bad ? LAB_CUDA_WHOLE : (lab_cuda_way)header.way;
    code->version_major = header.major;
    code->version_minor = header.minor;
    return !reader.is_bad;
}
