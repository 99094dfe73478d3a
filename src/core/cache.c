/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - compiled code on disk, one file a key, named by the key's SHA-256.
 *
 * A file is a header and the code. It is written aside and renamed, so that
 * other processes see all of it or nothing; nobody takes a lock. All work goes
 * through one descriptor of the folder, looked at after it was opened: a path
 * may mean something else the next time it is used, a descriptor cannot. */
#define _GNU_SOURCE /* secure_getenv: a set-uid program's caller must not name its files */
#include "core/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/checked.h"
#include "core/files.h"
#include "core/sha256.h"

enum {
    FILE_MAX = 256 << 20, /* bytes, header and all; far more than any kernel takes */
    TOTAL_MAX = 1 << 30,  /* bytes of all files */
    STALE_AFTER = 86400,  /* seconds: whoever wrote this aside is gone */
    NAME_LENGTH = 2 * RUNGI_SHA256_BYTES,
};

/* What files being written are called, apart from those of any key. */
#define ASIDE "aside."

/* How every file begins. Bytes alone, so that it looks the same everywhere. */
typedef struct header {
    uint8_t magic[16];
    uint8_t key[RUNGI_SHA256_BYTES];
    uint8_t length[8]; /* of the code, little endian */
    uint8_t code[RUNGI_SHA256_BYTES];
} header_t;
_Static_assert(sizeof(header_t) == 88, "a header has no gaps");

/* The last one is the format's version. */
static const char magic[] = "rung code cache1";
_Static_assert(sizeof magic - 1 == sizeof(((header_t *)0)->magic), "the magic fills its place");

/* Where the file of a key stands, or will. */
typedef struct place {
    rung_context *context;
    int folder; /* a descriptor */
    uint8_t key[RUNGI_SHA256_BYTES];
    char name[NAME_LENGTH + 1];
} place_t;

static void tell(rung_context *context, const char *what, const char *why)
{
    rungi_log(context, 2, "rung: code cache: %s: %s", what, why);
}

/* ---- Keys --------------------------------------------------------------------------- */

static void put_u64(uint8_t bytes[8], uint64_t value)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

/* Each part goes in behind its length: "ab", "c" is another key than "a", "bc". */
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

static void name_key(const uint8_t key[RUNGI_SHA256_BYTES], char name[NAME_LENGTH + 1])
{
    for (size_t i = 0; i < RUNGI_SHA256_BYTES; i++)
        snprintf(name + 2 * i, 3, "%02x", (unsigned)key[i]);
}

static bool is_name_of_key(const char *name)
{
    return strlen(name) == NAME_LENGTH && strspn(name, "0123456789abcdef") == NAME_LENGTH;
}

/* The only header that this code may stand behind. */
static header_t header_of(const place_t *place, const void *code, size_t bytes)
{
    header_t header;
    rungi_sha256 hash;
    memcpy(header.magic, magic, sizeof header.magic);
    memcpy(header.key, place->key, sizeof header.key);
    put_u64(header.length, bytes);
    rungi_sha256_begin(&hash);
    rungi_sha256_add(&hash, code, bytes);
    rungi_sha256_end(&hash, header.code);
    return header;
}

/* ---- The folder --------------------------------------------------------------------- */

static bool folder_under(const char *variable, const char *below, char *path, size_t capacity)
{
    const char *above = secure_getenv(variable);
    if (!above || above[0] != '/')
        return false;
    int length = snprintf(path, capacity, "%s%s", above, below);
    return length > 0 && (size_t)length < capacity;
}

bool rungi_cache_folder(char *path, size_t capacity)
{
    return folder_under("XDG_CACHE_HOME", "/rung", path, capacity) ||
           folder_under("HOME", "/.cache/rung", path, capacity);
}

/* What others can write, or own and so make writable, may be anything. NULL if
 * this is not so. A list of access rights (ACL) shows in the group's bits. */
static const char *wrong_with_rights(const struct stat *status)
{
    if (status->st_uid != geteuid())
        return "belongs to another user";
    if (status->st_mode & (S_IWGRP | S_IWOTH))
        return "can be written by others";
    return NULL;
}

/* Also the one it stands in, which new accounts lack. */
static bool make_folder(const char *folder)
{
    char above[4096];
    int length = (int)(strrchr(folder, '/') - folder);
    if (mkdir(folder, S_IRWXU) == 0 || errno == EEXIST)
        return true;
    if (errno != ENOENT || (size_t)length >= sizeof above)
        return false;
    snprintf(above, sizeof above, "%.*s", length, folder);
    if (mkdir(above, S_IRWXU) != 0 && errno != EEXIST)
        return false;
    return mkdir(folder, S_IRWXU) == 0 || errno == EEXIST;
}

/* A slash at the end would follow a link; so it is refused like a relative path. */
static int open_folder(rung_context *context, const char *folder, bool make)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct stat status;
    if (folder[0] != '/' || folder[strlen(folder) - 1] == '/') {
        tell(context, folder, "is no absolute path of a folder");
        return -1;
    }
    int opened = open(folder, flags);
    if (opened < 0 && errno == ENOENT) {
        if (!make)
            return -1; /* nothing was kept yet */
        if (make_folder(folder))
            opened = open(folder, flags);
    }
    const char *wrong = opened < 0 || fstat(opened, &status) != 0 ? strerror(errno) : wrong_with_rights(&status);
    if (!wrong)
        return opened;
    tell(context, folder, wrong);
    if (opened >= 0)
        close(opened);
    return -1;
}

static bool open_place(place_t *place, rung_context *context, const char *folder, const char *const *key, int parts,
                       bool make)
{
    place->context = context;
    hash_key(key, parts, place->key);
    name_key(place->key, place->name);
    place->folder = open_folder(context, folder, make);
    return place->folder >= 0;
}

/* ---- Reading ------------------------------------------------------------------------ */

/* False also where the file ends before `bytes`. */
static bool read_all(int file, void *data, size_t bytes)
{
    char *to = data;
    while (bytes > 0) {
        ssize_t got = read(file, to, bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        bytes -= (size_t)got;
    }
    return true;
}

/* No links are left where another process has just put a new file in its place. */
static const char *wrong_with_file(const struct stat *status)
{
    if (!S_ISREG(status->st_mode))
        return "is no regular file";
    if (status->st_nlink > 1)
        return "has a second name";
    if (status->st_size < (off_t)sizeof(header_t))
        return "is cut short";
    if (status->st_size > FILE_MAX)
        return "is too large";
    return wrong_with_rights(status);
}

static const char *wrong_with_header(const header_t *found, const header_t *right)
{
    if (memcmp(found->magic, right->magic, sizeof found->magic) != 0)
        return "is of another format";
    if (memcmp(found->key, right->key, sizeof found->key) != 0)
        return "is of another key";
    if (memcmp(found->length, right->length, sizeof found->length) != 0)
        return "has another length than it says";
    if (memcmp(found->code, right->code, sizeof found->code) != 0)
        return "is damaged";
    return NULL;
}

/* The code behind the header, or NULL and what is wrong with it. */
static void *read_code(const place_t *place, int file, size_t bytes, const char **wrong)
{
    header_t found;
    void *code = rungi_allocate(place->context, (int64_t)bytes, sizeof(max_align_t));
    if (!code) {
        *wrong = "there is no memory for it";
        return NULL;
    }
    if (!read_all(file, &found, sizeof found) || !read_all(file, code, bytes)) {
        *wrong = "cannot be read";
    } else {
        header_t right = header_of(place, code, bytes);
        *wrong = wrong_with_header(&found, &right);
    }
    if (!*wrong)
        return code;
    rungi_release(place->context, code);
    return NULL;
}

static void *read_file(const place_t *place, int file, size_t *bytes)
{
    struct stat status;
    void *code = NULL;
    const char *wrong = fstat(file, &status) == 0 ? wrong_with_file(&status) : strerror(errno);
    if (!wrong) {
        *bytes = (size_t)status.st_size - sizeof(header_t);
        code = read_code(place, file, *bytes, &wrong);
    }
    if (wrong)
        tell(place->context, place->name, wrong);
    else
        futimens(file, NULL); /* it was used; that it cannot be said does not matter */
    return code;
}

/* O_NONBLOCK: opening a pipe would wait for a writer. */
static void *read_place(const place_t *place, size_t *bytes)
{
    int file = openat(place->folder, place->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        if (errno != ENOENT)
            tell(place->context, place->name, strerror(errno));
        return NULL;
    }
    void *code = read_file(place, file, bytes);
    close(file);
    return code;
}

void *rungi_cache_read(rung_context *context, const char *folder, const char *const *key, int parts, size_t *bytes)
{
    int number = errno;
    rungi_error error;
    place_t place;
    void *code = NULL;
    rungi_error_save(&error);
    *bytes = 0;
    if (open_place(&place, context, folder, key, parts, false)) {
        code = read_place(&place, bytes);
        close(place.folder);
    }
    if (!code)
        *bytes = 0;
    rungi_error_restore(&error);
    errno = number;
    return code;
}

/* ---- Writing ------------------------------------------------------------------------ */

/* Closing is the last that can fail: some file systems write only then. */
static bool write_file(const place_t *place, int file, const void *code, size_t bytes)
{
    header_t header = header_of(place, code, bytes);
    bool written = rungi_write_all(file, &header, sizeof header) && rungi_write_all(file, code, bytes);
    int number = errno;
    bool closed = close(file) == 0;
    if (!written)
        errno = number;
    return written && closed;
}

/* Nothing can be renamed over a folder; an empty one may go. */
static bool put_in_place(const place_t *place, const char *aside)
{
    if (renameat(place->folder, aside, place->folder, place->name) == 0)
        return true;
    if (errno != EISDIR || unlinkat(place->folder, place->name, AT_REMOVEDIR) != 0)
        return false;
    return renameat(place->folder, aside, place->folder, place->name) == 0;
}

/* A name that no other thread, process or container gives at the same time. */
static void name_aside(char *name, size_t capacity)
{
    static atomic_uint count;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, capacity, ASIDE "%ld.%lld.%ld.%u", (long)getpid(), (long long)now.tv_sec, now.tv_nsec,
             atomic_fetch_add(&count, 1));
}

/* A process that writes past its limit on file sizes is sent a signal that ends it. */
static bool is_too_large(size_t bytes)
{
    struct rlimit limit;
    if (bytes > FILE_MAX - sizeof(header_t))
        return true;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           bytes + sizeof(header_t) > limit.rlim_cur;
}

static bool write_place(const place_t *place, const void *code, size_t bytes)
{
    char aside[128];
    if (is_too_large(bytes)) {
        tell(place->context, place->name, "is too large to be kept");
        return false;
    }
    name_aside(aside, sizeof aside);
    int file = openat(place->folder, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    bool kept = file >= 0 && write_file(place, file, code, bytes) && put_in_place(place, aside);
    if (!kept) {
        tell(place->context, place->name, strerror(errno));
        if (file >= 0)
            unlinkat(place->folder, aside, 0);
    }
    return kept;
}

/* ---- Keeping the folder small ------------------------------------------------------- */

typedef struct kept {
    char name[NAME_LENGTH + 1];
    int64_t bytes;
    struct timespec used;
} kept_t;

static bool is_regular(int folder, const char *name, struct stat *status)
{
    return fstatat(folder, name, status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status->st_mode);
}

/* Of processes that were ended before they could rename or unlink. */
static void remove_stale(DIR *listing)
{
    const struct dirent *entry;
    struct stat status;
    time_t now = time(NULL);
    while ((entry = readdir(listing)))
        if (strncmp(entry->d_name, ASIDE, strlen(ASIDE)) == 0 && is_regular(dirfd(listing), entry->d_name, &status) &&
            status.st_mtim.tv_sec < now - STALE_AFTER)
            unlinkat(dirfd(listing), entry->d_name, 0);
}

/* How many files there are and their bytes together; the first of them in `list`. */
static int64_t list_kept(DIR *listing, kept_t *list, int64_t capacity, int64_t *total)
{
    const struct dirent *entry;
    struct stat status;
    int64_t count = 0;
    *total = 0;
    rewinddir(listing);
    while ((entry = readdir(listing))) {
        if (!is_name_of_key(entry->d_name) || !is_regular(dirfd(listing), entry->d_name, &status))
            continue;
        /* No more than the limit a file, or the sum may overflow. */
        kept_t one = {.bytes = rungi_smaller(status.st_size, TOTAL_MAX), .used = status.st_mtim};
        memcpy(one.name, entry->d_name, sizeof one.name);
        if (count < capacity)
            list[count] = one;
        *total += one.bytes;
        count++;
    }
    return count;
}

static int by_use(const void *x, const void *y)
{
    const struct timespec *a = &((const kept_t *)x)->used, *b = &((const kept_t *)y)->used;
    if (a->tv_sec != b->tv_sec)
        return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* Another process may do the same meanwhile; at worst something is compiled again. */
static void remove_least_used(const place_t *place, DIR *listing)
{
    int64_t total, room = list_kept(listing, NULL, 0, &total);
    if (total <= TOTAL_MAX)
        return;
    kept_t *list = rungi_allocate(place->context, room * (int64_t)sizeof *list, sizeof(max_align_t));
    if (!list) {
        tell(place->context, "its files are over 1 GiB", "there is no memory to sort them");
        return;
    }
    int64_t count = rungi_smaller(list_kept(listing, list, room, &total), room);
    qsort(list, (size_t)count, sizeof *list, by_use);
    for (int64_t i = 0; i < count && total > TOTAL_MAX; i++) {
        if (unlinkat(place->folder, list[i].name, 0) == 0)
            tell(place->context, list[i].name, "removed, used the longest ago");
        total -= list[i].bytes;
    }
    rungi_release(place->context, list);
}

/* The listing has a descriptor of its own, since closing it closes that. */
static void tidy(const place_t *place)
{
    int again = openat(place->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = again >= 0 ? fdopendir(again) : NULL;
    if (!listing) {
        tell(place->context, "its folder cannot be listed", strerror(errno));
        if (again >= 0)
            close(again);
        return;
    }
    remove_stale(listing);
    remove_least_used(place, listing);
    closedir(listing);
}

void rungi_cache_write(rung_context *context, const char *folder, const char *const *key, int parts, const void *data,
                       size_t bytes)
{
    int number = errno;
    rungi_error error;
    place_t place;
    rungi_error_save(&error);
    if (open_place(&place, context, folder, key, parts, true)) {
        if (write_place(&place, data, bytes))
            tidy(&place);
        close(place.folder);
    }
    rungi_error_restore(&error);
    errno = number;
}
