/* SPDX-License-Identifier: Apache-2.0 */
/* code_cache.c - caches compiled code on disk, in one file per key, named by the SHA-256 of the key.
 *
 * A file is a header and the code. It is written under a temporary name and renamed, so that other processes see all of
 * it or nothing, without a lock. All work uses one descriptor of the folder, whose owner and permissions are checked
 * after opening: a path may refer to another folder at its next use, a descriptor cannot. For this reason
 * base/atomic_file.h, which works by paths, is not used here. */
#define _GNU_SOURCE /* futimens, fdopendir */
#include "core/code_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/checked_arithmetic.h"
#include "base/file_io.h"
#include "base/sha256.h"
#include "base/system_paths.h"

enum {
    FILE_BYTES_MAX = 256 << 20, /* including the header; far more than any kernel needs */
    TOTAL_BYTES_MAX = 1 << 30,  /* of all files */
    STALE_SECONDS = 86400,      /* the writer of a temporary file of this age has ended */
    NAME_LENGTH = 2 * RUNGI_SHA256_BYTES,
};

/* Temporary files begin with this; no key does. */
#define TEMPORARY_PREFIX "aside."

/* The start of every file. Arrays of bytes have no gaps and no byte order. */
typedef struct cache_header {
    uint8_t magic[16];
    uint8_t key[RUNGI_SHA256_BYTES];
    uint8_t length[8]; /* of the code, little endian */
    uint8_t code[RUNGI_SHA256_BYTES];
} cache_header_t;
_Static_assert(sizeof(cache_header_t) == 88, "the header has no gaps");

/* The last character is the version of the format. */
static const char magic[] = "rung code cache1";
_Static_assert(sizeof magic - 1 == sizeof(((cache_header_t *)0)->magic), "the magic number fills its field");

/* The file of a key. */
typedef struct code_file {
    rung_context *context;
    int folder; /* descriptor */
    uint8_t key[RUNGI_SHA256_BYTES];
    char name[NAME_LENGTH + 1];
} code_file_t;

/* Logs a problem with the cache or one of its files. */
static void log_cache(rung_context *context, const char *subject, const char *problem)
{
    rungi_log(context, 2, "rung: code cache: %s: %s", subject, problem);
}

/* ---- Keys --------------------------------------------------------------------------- */

static void put_u64(uint8_t bytes[8], uint64_t value)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

/* Hashes each part after its length: the key "ab", "c" differs from "a", "bc". */
static void hash_key(const char *const *key, int parts, uint8_t digest[RUNGI_SHA256_BYTES])
{
    rungi_sha256 hash;
    rungi_sha256_begin(&hash);
    for (int i = 0; i < parts; i++) {
        uint8_t length[8];
        put_u64(length, strlen(key[i]));
        rungi_sha256_add(&hash, length, sizeof length);
        rungi_sha256_add(&hash, key[i], strlen(key[i]));
    }
    rungi_sha256_end(&hash, digest);
}

/* Returns the header of the file that has this code. */
static cache_header_t make_header(const code_file_t *cached, const void *code, size_t bytes)
{
    cache_header_t header;
    rungi_sha256 hash;
    memcpy(header.magic, magic, sizeof header.magic);
    memcpy(header.key, cached->key, sizeof header.key);
    put_u64(header.length, bytes);
    rungi_sha256_begin(&hash);
    rungi_sha256_add(&hash, code, bytes);
    rungi_sha256_end(&hash, header.code);
    return header;
}

/* ---- The folder --------------------------------------------------------------------- */

bool rungi_code_cache_folder(char *path, size_t capacity)
{
    return rungi_path_in_variable("XDG_CACHE_HOME", "/rung", path, capacity) ||
           rungi_path_in_variable("HOME", "/.cache/rung", path, capacity);
}

/* Returns NULL if no other user can change a file or folder, or why another user could. An access control list (ACL)
 * shows in the permissions of the group. */
static const char *check_permissions(const struct stat *status)
{
    if (status->st_uid != geteuid())
        return "belongs to another user";
    if (status->st_mode & (S_IWGRP | S_IWOTH))
        return "can be written by other users";
    return NULL;
}

/* Opens the folder and checks its permissions; creates it if `create` is set. Returns -1 on failure. A trailing slash
 * would follow a symbolic link, so it is rejected. */
static int open_folder(rung_context *context, const char *folder, bool create)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct stat status;
    if (!rungi_is_absolute_path(folder) || folder[strlen(folder) - 1] == '/') {
        log_cache(context, folder, "is not an absolute path without a trailing slash");
        return -1;
    }
    int opened = open(folder, flags);
    if (opened < 0 && errno == ENOENT) {
        if (!create)
            return -1; /* nothing is cached yet */
        if (rungi_make_folder(folder))
            opened = open(folder, flags);
    }
    const char *wrong = opened < 0 || fstat(opened, &status) != 0 ? strerror(errno) : check_permissions(&status);
    if (!wrong)
        return opened;
    log_cache(context, folder, wrong);
    if (opened >= 0)
        close(opened);
    return -1;
}

static bool open_code_file(code_file_t *cached, rung_context *context, const char *folder, const char *const *key,
                           int parts, bool create)
{
    cached->context = context;
    hash_key(key, parts, cached->key);
    for (size_t i = 0; i < RUNGI_SHA256_BYTES; i++)
        snprintf(cached->name + 2 * i, 3, "%02x", (unsigned)cached->key[i]);
    cached->folder = open_folder(context, folder, create);
    return cached->folder >= 0;
}

/* ---- Reading ------------------------------------------------------------------------ */

/* Returns NULL, or why the file is not used. A file that another process has just replaced has 0 links. */
static const char *check_cache_file(const struct stat *status)
{
    if (!S_ISREG(status->st_mode))
        return "is not a regular file";
    if (status->st_nlink > 1)
        return "has more than one hard link";
    if (status->st_size < (off_t)sizeof(cache_header_t))
        return "is truncated";
    if (status->st_size > FILE_BYTES_MAX)
        return "is larger than 256 MiB";
    return check_permissions(status);
}

static const char *check_header(const cache_header_t *found, const cache_header_t *expected)
{
    if (memcmp(found->magic, expected->magic, sizeof found->magic) != 0)
        return "has an unknown format";
    if (memcmp(found->key, expected->key, sizeof found->key) != 0)
        return "belongs to another key";
    if (memcmp(found->length, expected->length, sizeof found->length) != 0)
        return "has a wrong length";
    if (memcmp(found->code, expected->code, sizeof found->code) != 0)
        return "is damaged";
    return NULL;
}

/* Returns the code after the header, or NULL and the problem in `wrong`. */
static void *read_code(const code_file_t *cached, int file, size_t bytes, const char **wrong)
{
    cache_header_t found;
    void *code = rungi_allocate(cached->context, (int64_t)bytes, sizeof(max_align_t));
    if (!code) {
        *wrong = "there is not enough memory to read it";
        return NULL;
    }
    if (rungi_read_up_to(file, &found, sizeof found) != (int64_t)sizeof found ||
        rungi_read_up_to(file, code, (int64_t)bytes) != (int64_t)bytes) {
        *wrong = "cannot be read";
    } else {
        cache_header_t expected = make_header(cached, code, bytes);
        *wrong = check_header(&found, &expected);
    }
    if (!*wrong)
        return code;
    rungi_release(cached->context, code);
    return NULL;
}

/* Opens and reads the file of a key. O_NONBLOCK: opening a pipe would wait for a writer. */
static void *read_code_file(const code_file_t *cached, size_t *bytes)
{
    struct stat status;
    void *code = NULL;
    int file = openat(cached->folder, cached->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && errno == ENOENT)
        return NULL;
    const char *wrong = file < 0 || fstat(file, &status) != 0 ? strerror(errno) : check_cache_file(&status);
    if (!wrong) {
        *bytes = (size_t)status.st_size - sizeof(cache_header_t);
        code = read_code(cached, file, *bytes, &wrong);
    }
    if (wrong)
        log_cache(cached->context, cached->name, wrong);
    else
        futimens(file, NULL); /* marks the file as used; a failure does not matter */
    if (file >= 0)
        close(file);
    return code;
}

void *rungi_code_cache_read(rung_context *context, const char *folder, const char *const *key, int parts, size_t *bytes)
{
    int number = errno;
    code_file_t cached;
    void *code = NULL;
    rungi_saved_error error = rungi_error_save();
    *bytes = 0;
    if (open_code_file(&cached, context, folder, key, parts, false)) {
        code = read_code_file(&cached, bytes);
        close(cached.folder);
    }
    if (!code)
        *bytes = 0;
    rungi_error_restore(&error);
    errno = number;
    return code;
}

/* ---- Writing ------------------------------------------------------------------------ */

/* Writes and closes the file. Closing may fail too: some file systems write only then. */
static bool write_file(const code_file_t *cached, int file, const void *code, size_t bytes)
{
    cache_header_t header = make_header(cached, code, bytes);
    bool is_written = rungi_write_all(file, &header, sizeof header) && rungi_write_all(file, code, bytes);
    int number = errno;
    bool is_closed = close(file) == 0;
    if (!is_written)
        errno = number;
    return is_written && is_closed;
}

/* Renames the temporary file. An empty folder of the same name is removed first, because it cannot be replaced. */
static bool rename_temporary(const code_file_t *cached, const char *temporary)
{
    if (renameat(cached->folder, temporary, cached->folder, cached->name) == 0)
        return true;
    if (errno != EISDIR || unlinkat(cached->folder, cached->name, AT_REMOVEDIR) != 0)
        return false;
    return renameat(cached->folder, temporary, cached->folder, cached->name) == 0;
}

static bool write_code_file(const code_file_t *cached, const void *code, size_t bytes)
{
    static atomic_uint count;
    struct timespec now = {0};
    char temporary[128];
    if (bytes > FILE_BYTES_MAX - sizeof(cache_header_t) ||
        (int64_t)(bytes + sizeof(cache_header_t)) > rungi_file_size_limit()) {
        log_cache(cached->context, cached->name, "is too large for the cache");
        return false;
    }
    /* A name that no other thread, process or container uses at the same time. */
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(temporary, sizeof temporary, TEMPORARY_PREFIX "%ld.%lld.%ld.%u", (long)getpid(), (long long)now.tv_sec,
             now.tv_nsec, atomic_fetch_add(&count, 1));
    int file = openat(cached->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      S_IRUSR | S_IWUSR);
    bool is_cached = file >= 0 && write_file(cached, file, code, bytes) && rename_temporary(cached, temporary);
    if (!is_cached) {
        log_cache(cached->context, cached->name, strerror(errno));
        if (file >= 0)
            unlinkat(cached->folder, temporary, 0);
    }
    return is_cached;
}

/* ---- Limiting the cache size -------------------------------------------------------- */

typedef struct cached_file {
    char name[NAME_LENGTH + 1];
    int64_t bytes;
    struct timespec used;
} cached_file_t;

static bool is_regular(int folder, const char *name, struct stat *status)
{
    return fstatat(folder, name, status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status->st_mode);
}

/* Removes the temporary files of processes that ended before they could rename or remove them. */
static void remove_stale_temporaries(DIR *listing)
{
    const struct dirent *entry;
    struct stat status;
    time_t now = time(NULL);
    while ((entry = readdir(listing)))
        if (strncmp(entry->d_name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) == 0 &&
            is_regular(dirfd(listing), entry->d_name, &status) && status.st_mtim.tv_sec < now - STALE_SECONDS)
            unlinkat(dirfd(listing), entry->d_name, 0);
}

/* Returns the number of cached files and their total size; lists up to `capacity` of them. */
static int64_t list_cached(DIR *listing, cached_file_t *list, int64_t capacity, int64_t *total)
{
    const struct dirent *entry;
    struct stat status;
    int64_t count = 0;
    *total = 0;
    rewinddir(listing);
    while ((entry = readdir(listing))) {
        bool is_key = strlen(entry->d_name) == NAME_LENGTH && strspn(entry->d_name, "0123456789abcdef") == NAME_LENGTH;
        if (!is_key || !is_regular(dirfd(listing), entry->d_name, &status))
            continue;
        int64_t bytes = rungi_min(status.st_size, TOTAL_BYTES_MAX); /* so that the total cannot overflow */
        if (count < capacity) {
            list[count] = (cached_file_t){.bytes = bytes, .used = status.st_mtim};
            memcpy(list[count].name, entry->d_name, sizeof list[count].name);
        }
        *total += bytes;
        count++;
    }
    return count;
}

static int compare_last_use(const void *x, const void *y)
{
    const struct timespec *a = &((const cached_file_t *)x)->used, *b = &((const cached_file_t *)y)->used;
    if (a->tv_sec != b->tv_sec)
        return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* Removes files until the total is within its limit. If another process does so at the same time, too many files may be
 * removed, and their code is compiled again. */
static void evict_least_recently_used(const code_file_t *cached, DIR *listing)
{
    int64_t total, capacity = list_cached(listing, NULL, 0, &total);
    if (total <= TOTAL_BYTES_MAX)
        return;
    cached_file_t *list = rungi_allocate(cached->context, capacity * (int64_t)sizeof *list, sizeof(max_align_t));
    if (!list) {
        log_cache(cached->context, "more than 1 GiB in use", "there is not enough memory to sort the files");
        return;
    }
    int64_t count = rungi_min(list_cached(listing, list, capacity, &total), capacity);
    qsort(list, (size_t)count, sizeof *list, compare_last_use);
    for (int64_t i = 0; i < count && total > TOTAL_BYTES_MAX; i++) {
        if (unlinkat(cached->folder, list[i].name, 0) == 0)
            log_cache(cached->context, list[i].name, "removed as the least recently used file");
        total -= list[i].bytes;
    }
    rungi_release(cached->context, list);
}

/* Removes stale and least recently used files. The listing needs a descriptor of its own, because closedir() closes it. */
static void clean_folder(const code_file_t *cached)
{
    int reopened = openat(cached->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = reopened >= 0 ? fdopendir(reopened) : NULL;
    if (!listing) {
        log_cache(cached->context, "the folder cannot be listed", strerror(errno));
        if (reopened >= 0)
            close(reopened);
        return;
    }
    remove_stale_temporaries(listing);
    evict_least_recently_used(cached, listing);
    closedir(listing);
}

void rungi_code_cache_write(rung_context *context, const char *folder, const char *const *key, int parts,
                            const void *data, size_t bytes)
{
    int number = errno;
    code_file_t cached;
    rungi_saved_error error = rungi_error_save();
    if (open_code_file(&cached, context, folder, key, parts, true)) {
        if (write_code_file(&cached, data, bytes))
            clean_folder(&cached);
        close(cached.folder);
    }
    rungi_error_restore(&error);
    errno = number;
}
