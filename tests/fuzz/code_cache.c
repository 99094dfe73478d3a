/* SPDX-License-Identifier: Apache-2.0 */
/* code_cache.c - any bytes as a file of the cache of compiled code: a file is used only if it holds exactly the code that was
 * stored, and is otherwise ignored and replaced by the next write.
 *
 * The first byte selects what the rest is:
 *
 *     'r'   the file
 *     'R'   the file, with the key, the length and the checksum of its code set right: it must then be used
 *     'e'   changes to a valid file: offset (2 bytes), value (1 byte), and so on; the last two bytes set its length */
#define _GNU_SOURCE
#include "byte_reader.h"

#include <dirent.h>
#include <unistd.h>

#include "base/sha256.h"
#include "core/code_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER = 88, LENGTH_AT = 48, CHECKSUM_AT = 56, CODE = 300, LARGEST = 1 << 13 };

static const char *const key[] = {"source", "-O3", "12.9", "sm_90"};
static rung_context *context;
static char folder[64], path[256];
static uint8_t valid[HEADER + CODE], file[LARGEST];

/* Finds the only file of the folder. */
static void find_file(void)
{
    const struct dirent *entry;
    DIR *listing = opendir(folder);
    MUST(listing);
    while ((entry = readdir(listing)))
        if (entry->d_name[0] != '.')
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    closedir(listing);
    MUST(path[0]);
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void prepare(void)
{
    if (context)
        return;
    rung_context_options options = {.size = sizeof(rung_context_options), .verbose = -1};
    MUST(rung_context_create(&options, &context) == RUNG_OK);
    snprintf(folder, sizeof folder, "/tmp/rung-fuzz-cache-XXXXXX");
    MUST(mkdtemp(folder));
    for (int i = 0; i < CODE; i++)
        valid[HEADER + i] = (uint8_t)(i * 31);
    rungi_code_cache_write(context, folder, key, 4, valid + HEADER, CODE);
    find_file();
    atexit(remove_folder);
    FILE *stream = fopen(path, "rb");
    MUST(stream && fread(valid, 1, sizeof valid, stream) == sizeof valid);
    fclose(stream);
}

static size_t change(const uint8_t *data, size_t size)
{
    size_t bytes = sizeof valid;
    memcpy(file, valid, sizeof valid);
    for (; size >= 3; data += 3, size -= 3)
        file[(size_t)(data[0] | data[1] << 8) % sizeof valid] = data[2];
    if (size == 2)
        bytes = (size_t)(data[0] | data[1] << 8) % (sizeof valid + 100);
    return bytes;
}

static void repair(size_t bytes)
{
    rungi_sha256 hash;
    memcpy(file, valid, LENGTH_AT);
    for (int i = 0; i < 8; i++)
        file[LENGTH_AT + i] = (uint8_t)((uint64_t)(bytes - HEADER) >> (8 * i));
    rungi_sha256_begin(&hash);
    rungi_sha256_add(&hash, file + HEADER, bytes - HEADER);
    rungi_sha256_end(&hash, file + CHECKSUM_AT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t found;
    prepare();
    if (size == 0 || size > LARGEST)
        return 0;
    bool is_right = data[0] == 'R' && size - 1 >= HEADER;
    size_t bytes = data[0] == 'e' ? change(data + 1, size - 1) : size - 1;
    if (data[0] != 'e')
        memcpy(file, data + 1, bytes);
    if (is_right)
        repair(bytes);
    FILE *stream = fopen(path, "wb");
    MUST(stream && fwrite(file, 1, bytes, stream) == bytes && fclose(stream) == 0);
    is_right = is_right || (bytes == sizeof valid && memcmp(file, valid, bytes) == 0);
    void *code = rungi_code_cache_read(context, folder, key, 4, &found);
    if (code) {
        MUST(is_right && found == bytes - HEADER && memcmp(code, file + HEADER, found) == 0);
        rungi_release(context, code);
    } else {
        MUST(!is_right || bytes == HEADER);
    }
    return 0;
}
