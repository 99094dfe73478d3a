/* SPDX-License-Identifier: Apache-2.0 */
/* code_cache.c - what is kept comes back to the bit, and nothing else ever does: each
 * test plants something in the folder, sees it refused for the right reason, and
 * replaced by the next write. After each, no descriptor, no memory and no file that
 * was written aside may be left over. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/code_cache.h"
#include "core/context.h"

enum { ANOTHER_USER = 12345, HEADER = 88, CODE = 300 };

static const char *const key[] = {"source", "-O3", "12.9", "sm_90"};
static const char *const other_key[] = {"source", "-O3", "12.9", "sm_80"};
static char code[CODE];

/* ---- One folder a test -------------------------------------------------------------- */

typedef struct cache_fixture {
    char base[64];   /* all that the test makes stands below */
    char folder[80]; /* base/cache */
    char file[160];  /* of `key` */
    char aside[96];  /* a path that is not in the folder */
    char line[1024]; /* the last of the log */
    int descriptors; /* open before the test */
    int live;        /* allocations not released */
    int fail_at;     /* counts down; the allocation that makes it 0 fails */
    mode_t mask;
    rung_context *context;
} cache_fixture_t;

static int count_entries(const char *path)
{
    DIR *listing = opendir(path);
    int count = 0;
    if (!listing)
        return -1;
    while (readdir(listing))
        count++;
    closedir(listing);
    return count;
}

static void append_log_line(void *user, const char *line)
{
    cache_fixture_t *f = user;
    snprintf(f->line, sizeof f->line, "%s", line);
    errno = ERANGE; /* a log may do so, and the cache's caller must not see it */
}

static void *count_allocate(void *user, size_t bytes, size_t alignment)
{
    cache_fixture_t *f = user;
    void *memory = NULL;
    if (f->fail_at > 0 && --f->fail_at == 0)
        return NULL;
    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    if (posix_memalign(&memory, alignment, bytes) != 0)
        return NULL;
    f->live++;
    return memory;
}

static void count_release(void *user, void *memory)
{
    cache_fixture_t *f = user;
    f->live--;
    free(memory);
}

static mode_t current_mask(void)
{
    mode_t mask = umask(022);
    umask(mask);
    return mask;
}

static void make_context(cache_fixture_t *f)
{
    rung_context_options options = {.size = sizeof(rung_context_options),
                                    .verbose = 2,
                                    .log = append_log_line,
                                    .log_user = f,
                                    .allocate = count_allocate,
                                    .release = count_release,
                                    .memory_user = f};
    assert_int_equal(rung_context_create(&options, &f->context), RUNG_OK);
}

static int set_up(void **state)
{
    cache_fixture_t *f = calloc(1, sizeof *f);
    assert_non_null(f);
    uint64_t seed = 11;
    for (int i = 0; i < CODE; i++)
        code[i] = (char)unit_random(&seed, 256);
    strcpy(f->base, "/tmp/rung-cache-XXXXXX");
    assert_non_null(mkdtemp(f->base));
    snprintf(f->folder, sizeof f->folder, "%s/cache", f->base);
    snprintf(f->aside, sizeof f->aside, "%s/aside", f->base);
    make_context(f);
    f->mask = current_mask();
    f->descriptors = count_entries("/proc/self/fd");
    *state = f;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    return remove(path);
}

static int tear_down(void **state)
{
    cache_fixture_t *f = *state;
    assert_int_equal(nftw(f->base, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    assert_int_equal(count_entries("/proc/self/fd"), f->descriptors);
    assert_int_equal(current_mask(), f->mask);
    rung_context_destroy(f->context);
    assert_int_equal(f->live, 0);
    free(f);
    return 0;
}

/* ---- Reading and writing as callers do ---------------------------------------------- */

/* None of the calls may be noticed but by what it gives. */
static void *read_key(cache_fixture_t *f, const char *const *which, size_t *bytes)
{
    rungi_fail(RUNG_STATUS_INVALID, "an older sentence");
    errno = EDOM;
    f->line[0] = '\0';
    *bytes = 99;
    void *read = rungi_code_cache_read(f->context, f->folder, which, 4, bytes);
    assert_int_equal(errno, EDOM);
    assert_string_equal(rung_error_text(), "an older sentence");
    assert_true(read || *bytes == 0);
    return read;
}

static void write_key(cache_fixture_t *f, const char *const *which, const void *data, size_t bytes)
{
    rungi_fail(RUNG_STATUS_INVALID, "an older sentence");
    errno = EDOM;
    f->line[0] = '\0';
    rungi_code_cache_write(f->context, f->folder, which, 4, data, bytes);
    assert_int_equal(errno, EDOM);
    assert_string_equal(rung_error_text(), "an older sentence");
}

static void assert_cached_as(cache_fixture_t *f, const char *const *which, const void *data, size_t bytes)
{
    size_t found;
    void *read = read_key(f, which, &found);
    if (!read)
        fail_msg("nothing was kept: %s", f->line);
    assert_int_equal(found, bytes);
    assert_memory_equal(read, data, bytes);
    assert_string_equal(f->line, "");
    rungi_release(f->context, read);
}

static void assert_cached(cache_fixture_t *f)
{
    assert_cached_as(f, key, code, CODE);
}

static void assert_missing(cache_fixture_t *f, const char *const *which)
{
    size_t bytes;
    assert_null(read_key(f, which, &bytes));
    assert_string_equal(f->line, "");
}

static void assert_refused(cache_fixture_t *f, const char *why)
{
    size_t bytes;
    void *read = read_key(f, key, &bytes);
    if (read)
        fail_msg("%zu bytes were read; they should have been refused: %s", bytes, why);
    if (!strstr(f->line, why))
        fail_msg("refused for another reason than \"%s\": \"%s\"", why, f->line);
}

static void assert_refused_then_replaced(cache_fixture_t *f, const char *why)
{
    assert_refused(f, why);
    write_key(f, key, code, CODE);
    assert_cached(f);
}

/* The one file of the folder that is not "." or "..". */
static void find_file(cache_fixture_t *f)
{
    DIR *listing = opendir(f->folder);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing));)
        if (entry->d_name[0] != '.')
            snprintf(f->file, sizeof f->file, "%s/%.64s", f->folder, entry->d_name);
    closedir(listing);
}

/* A sound file for `key`, with its path in f->file. */
static void store_entry(cache_fixture_t *f)
{
    write_key(f, key, code, CODE);
    assert_string_equal(f->line, "");
    if (!f->file[0]) {
        assert_int_equal(count_entries(f->folder), 3);
        find_file(f);
    }
    assert_cached(f);
}

static size_t load(const char *path, char *data, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t bytes = fread(data, 1, capacity, file);
    fclose(file);
    return bytes;
}

static void store(const char *path, const char *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
}

/* ---- What is kept comes back -------------------------------------------------------- */

static void round_trip(void **state)
{
    cache_fixture_t *f = *state;
    struct stat folder, file;
    assert_missing(f, key);
    assert_int_equal(access(f->folder, F_OK), -1); /* reading makes nothing */
    store_entry(f);
    assert_int_equal(stat(f->folder, &folder), 0);
    assert_int_equal(folder.st_mode & 07777, 0700);
    assert_int_equal(stat(f->file, &file), 0);
    assert_int_equal(file.st_mode & 07777, 0600);
    assert_int_equal(file.st_size, HEADER + CODE);
    write_key(f, key, "other code", 10);
    assert_cached_as(f, key, "other code", 10);
    assert_int_equal(count_entries(f->folder), 3);
}

/* The file as the format is written down; Python's hashlib has hashed the key. */
static void the_format(void **state)
{
    cache_fixture_t *f = *state;
    char file[HEADER + 3];
    static const char start[] = "rung code cache1"
                                "\xa3\x8a\x44\xa3\xeb\x94\x30\x83\x99\xc0\xf6\x58\x4f\x36\xcb\x9d"
                                "\xb8\x04\x17\xb2\xd2\x45\x42\x86\xc9\x89\x13\x01\xb5\x99\xf8\x51"
                                "\3\0\0\0\0\0\0\0"
                                "\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23"
                                "\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad"
                                "abc";
    write_key(f, key, "abc", 3);
    find_file(f);
    assert_non_null(strstr(f->file, "/a38a44a3eb94308399c0f6584f36cb9db80417b2d2454286c9891301b599f851"));
    assert_int_equal(load(f->file, file, sizeof file), HEADER + 3);
    assert_memory_equal(file, start, sizeof file);
}

static void different_keys_do_not_match(void **state)
{
    cache_fixture_t *f = *state;
    static const char *const others[][4] = {
        {"sourc", "e-O3", "12.9", "sm_90"}, {"source", "-O3", "12.9", "sm_9"},  {"source", "-O3", "", "12.9sm_90"},
        {"-O3", "source", "12.9", "sm_90"}, {"source-O312.9sm_90", "", "", ""}, {"", "", "", ""},
    };
    size_t bytes;
    store_entry(f);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_missing(f, others[i]);
    assert_null(rungi_code_cache_read(f->context, f->folder, key, 3, &bytes));
    write_key(f, other_key, "another", 7);
    assert_cached_as(f, other_key, "another", 7);
    assert_cached(f);
}

static void code_of_no_bytes(void **state)
{
    cache_fixture_t *f = *state;
    write_key(f, key, NULL, 0);
    assert_cached_as(f, key, "", 0);
}

static void code_of_many_bytes(void **state)
{
    cache_fixture_t *f = *state;
    size_t bytes = (5 << 20) + 1;
    char *much = malloc(bytes);
    assert_non_null(much);
    for (size_t i = 0; i < bytes; i++)
        much[i] = (char)(i * i >> 7);
    write_key(f, key, much, bytes);
    assert_cached_as(f, key, much, bytes);
    free(much);
}

/* It would be refused when read. The length alone is looked at. */
static void code_of_too_many_bytes(void **state)
{
    cache_fixture_t *f = *state;
    store_entry(f);
    write_key(f, key, code, (256u << 20) - HEADER + 1);
    assert_non_null(strstr(f->line, "too large"));
    assert_cached(f);
    write_key(f, key, code, SIZE_MAX);
    assert_non_null(strstr(f->line, "too large"));
}

/* ---- Files that are not ours -------------------------------------------------------- */

static void truncated_file(void **state)
{
    cache_fixture_t *f = *state;
    store_entry(f);
    for (int length = 0; length < HEADER + CODE; length++) {
        assert_int_equal(truncate(f->file, length), 0);
        assert_refused(f, length < HEADER ? "is truncated" : "wrong length");
        store_entry(f);
    }
    assert_int_equal(truncate(f->file, HEADER + CODE + 1), 0);
    assert_refused_then_replaced(f, "wrong length");
}

static void every_bit_counts(void **state)
{
    cache_fixture_t *f = *state;
    char file[HEADER + CODE];
    store_entry(f);
    assert_int_equal(load(f->file, file, sizeof file), sizeof file);
    for (int bit = 0; bit < 8 * (HEADER + CODE); bit++) {
        int byte = bit / 8;
        file[byte] = (char)(file[byte] ^ 1 << bit % 8);
        store(f->file, file, sizeof file);
        assert_refused(f, byte < 16   ? "unknown format"
                          : byte < 48 ? "another key"
                          : byte < 56 ? "wrong length"
                                      : "damaged");
        file[byte] = (char)(file[byte] ^ 1 << bit % 8);
    }
    assert_refused_then_replaced(f, "damaged");
}

static void of_another_key(void **state)
{
    cache_fixture_t *f = *state;
    store_entry(f);
    assert_int_equal(unlink(f->file), 0);
    write_key(f, other_key, code, CODE);
    char name[160];
    strcpy(name, f->file);
    find_file(f);
    assert_int_equal(rename(f->file, name), 0);
    assert_refused_then_replaced(f, "another key");
}

static void larger_than_any(void **state)
{
    cache_fixture_t *f = *state;
    store_entry(f);
    assert_int_equal(truncate(f->file, (256 << 20) + 1), 0);
    assert_refused_then_replaced(f, "larger than 256 MiB");
}

static void symlink_to_a_valid_file(void **state)
{
    cache_fixture_t *f = *state;
    struct stat status;
    store_entry(f);
    assert_int_equal(rename(f->file, f->aside), 0);
    assert_int_equal(symlink(f->aside, f->file), 0);
    assert_refused_then_replaced(f, strerror(ELOOP));
    assert_int_equal(lstat(f->file, &status), 0);
    assert_true(S_ISREG(status.st_mode));
    assert_int_equal(stat(f->aside, &status), 0); /* written over the link, not through it */
    assert_int_equal(status.st_size, HEADER + CODE);
}

static void second_name(void **state)
{
    cache_fixture_t *f = *state;
    store_entry(f);
    assert_int_equal(link(f->file, f->aside), 0);
    assert_refused_then_replaced(f, "hard link");
}

static void writable_by_others(void **state)
{
    cache_fixture_t *f = *state;
    static const mode_t modes[] = {0620, 0602, 0666};
    store_entry(f);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(f->file, modes[i]), 0);
        assert_refused_then_replaced(f, "written by other users");
    }
}

/* Opened without O_NONBLOCK, it would never return. */
static void a_pipe(void **state)
{
    cache_fixture_t *f = *state;
    store_entry(f);
    assert_int_equal(unlink(f->file), 0);
    assert_int_equal(mkfifo(f->file, 0600), 0);
    alarm(20);
    assert_refused_then_replaced(f, "not a regular file");
    alarm(0);
}

static void a_folder_instead_of_the_file(void **state)
{
    cache_fixture_t *f = *state;
    store_entry(f);
    assert_int_equal(unlink(f->file), 0);
    assert_int_equal(mkdir(f->file, 0700), 0);
    assert_refused_then_replaced(f, "not a regular file");
    assert_int_equal(unlink(f->file), 0);
    assert_int_equal(mkdir(f->file, 0700), 0);
    char inside[170];
    snprintf(inside, sizeof inside, "%s/full", f->file);
    store(inside, "", 0);
    write_key(f, key, code, CODE); /* nobody's files are removed for it */
    assert_non_null(strstr(f->line, strerror(ENOTEMPTY)));
    assert_refused(f, "not a regular file");
    assert_int_equal(count_entries(f->folder), 3);
}

static void of_another_user(void **state)
{
    cache_fixture_t *f = *state;
    if (geteuid() != 0)
        skip();
    store_entry(f);
    assert_int_equal(chown(f->file, ANOTHER_USER, 0), 0);
    assert_refused_then_replaced(f, "another user");
}

/* ---- Folders that are not ours ------------------------------------------------------ */

/* Nothing is read from it, and nothing written to it. */
static void assert_folder_refused(cache_fixture_t *f, const char *why)
{
    char before[HEADER + CODE], after[HEADER + CODE];
    assert_int_equal(load(f->file, before, sizeof before), sizeof before);
    assert_refused(f, why);
    write_key(f, key, "new", 3);
    if (!strstr(f->line, why))
        fail_msg("written, or refused for another reason: \"%s\"", f->line);
    assert_int_equal(load(f->file, after, sizeof after), sizeof after);
    assert_memory_equal(before, after, sizeof before);
}

static void folder_is_a_link(void **state)
{
    cache_fixture_t *f = *state;
    store_entry(f);
    assert_int_equal(rename(f->folder, f->aside), 0);
    assert_int_equal(symlink(f->aside, f->folder), 0);
    assert_folder_refused(f, strerror(ENOTDIR)); /* what O_DIRECTORY says of a link */
    strcat(f->folder, "/");
    assert_folder_refused(f, "not an absolute path");
}

static void folder_is_relative(void **state)
{
    cache_fixture_t *f = *state;
    size_t bytes;
    assert_null(rungi_code_cache_read(f->context, "cache", key, 4, &bytes));
    assert_non_null(strstr(f->line, "not an absolute path"));
    rungi_code_cache_write(f->context, "", key, 4, code, CODE);
    assert_non_null(strstr(f->line, "not an absolute path"));
}

static void folder_is_writable_by_others(void **state)
{
    cache_fixture_t *f = *state;
    static const mode_t modes[] = {0720, 0702, 0777, 01777};
    store_entry(f);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(f->folder, modes[i]), 0);
        assert_folder_refused(f, "written by other users");
    }
    assert_int_equal(chmod(f->folder, 0755), 0); /* that others read it is no harm */
    assert_cached(f);
}

static void folder_of_another_user(void **state)
{
    cache_fixture_t *f = *state;
    if (geteuid() != 0)
        skip();
    store_entry(f);
    assert_int_equal(chown(f->folder, ANOTHER_USER, 0), 0);
    assert_folder_refused(f, "another user");
}

static void folder_is_a_file(void **state)
{
    cache_fixture_t *f = *state;
    store(f->folder, "", 0);
    assert_refused(f, strerror(ENOTDIR));
    write_key(f, key, code, CODE);
    assert_non_null(strstr(f->line, strerror(ENOTDIR)));
}

/* ---- Children: what a process can do only once -------------------------------------- */

/* Runs it in a child and returns what it did. A child must not assert: it leaves
 * by _exit, and so without cmocka's notice. */
static int in_child(int (*work)(cache_fixture_t *), cache_fixture_t *f)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(work(f));
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        fail_msg("the child was ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static bool reads_back(cache_fixture_t *f, const void *data, size_t bytes)
{
    size_t found;
    void *read = rungi_code_cache_read(f->context, f->folder, key, 4, &found);
    bool same = read && found == bytes && memcmp(read, data, bytes) == 0;
    rungi_release(f->context, read);
    return same;
}

/* Root may write anywhere, and so is somebody else here. */
static int use_read_only_folder(cache_fixture_t *f)
{
    if (geteuid() == 0 && setuid(ANOTHER_USER) != 0)
        return 1;
    if (!reads_back(f, code, CODE))
        return 2;
    rungi_code_cache_write(f->context, f->folder, key, 4, "new", 3);
    if (!strstr(f->line, strerror(EACCES)))
        return 3;
    return reads_back(f, code, CODE) ? 0 : 4;
}

static void folder_is_read_only(void **state)
{
    cache_fixture_t *f = *state;
    store_entry(f);
    assert_int_equal(chmod(f->base, 0755), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(f->folder, ANOTHER_USER, 0), 0);
        assert_int_equal(chown(f->file, ANOTHER_USER, 0), 0);
    }
    assert_int_equal(chmod(f->folder, 0500), 0);
    assert_int_equal(in_child(use_read_only_folder, f), 0);
    assert_int_equal(count_entries(f->folder), 3);
    assert_int_equal(chmod(f->folder, 0700), 0);
}

static int write_past_the_limit(cache_fixture_t *f)
{
    struct rlimit limit = {HEADER + CODE - 1, HEADER + CODE - 1};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    rungi_code_cache_write(f->context, f->folder, other_key, 4, code, CODE);
    if (!strstr(f->line, "too large"))
        return 2;
    rungi_code_cache_write(f->context, f->folder, key, 4, code, CODE - 1);
    return reads_back(f, code, CODE - 1) ? 0 : 3;
}

static void files_may_be_limited(void **state)
{
    cache_fixture_t *f = *state;
    assert_int_equal(in_child(write_past_the_limit, f), 0);
    assert_int_equal(count_entries(f->folder), 3);
}

/* ---- Where it is -------------------------------------------------------------------- */

static void folders_of_the_environment(void **state)
{
    char path[64];
    (void)state;
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    setenv("HOME", "/home/me", 1);
    assert_true(rungi_code_cache_folder(path, sizeof path));
    assert_string_equal(path, "/xdg/rung");
    assert_true(rungi_code_cache_folder(path, strlen("/xdg/rung") + 1));
    setenv("XDG_CACHE_HOME", "", 1);
    assert_true(rungi_code_cache_folder(path, sizeof path));
    assert_string_equal(path, "/home/me/.cache/rung");
    assert_false(rungi_code_cache_folder(path, strlen("/home/me/.cache/rung")));
    setenv("XDG_CACHE_HOME", "xdg", 1);
    assert_true(rungi_code_cache_folder(path, sizeof path));
    assert_string_equal(path, "/home/me/.cache/rung");
    unsetenv("XDG_CACHE_HOME");
    assert_true(rungi_code_cache_folder(path, sizeof path));
    setenv("HOME", ".", 1);
    assert_false(rungi_code_cache_folder(path, sizeof path));
    unsetenv("HOME");
    assert_false(rungi_code_cache_folder(path, sizeof path));
}

static void folder_and_the_one_above_are_made(void **state)
{
    cache_fixture_t *f = *state;
    struct stat status;
    snprintf(f->folder, sizeof f->folder, "%s/a/b", f->base);
    write_key(f, key, code, CODE);
    assert_cached(f);
    snprintf(f->folder, sizeof f->folder, "%s/a", f->base);
    assert_int_equal(stat(f->folder, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    snprintf(f->folder, sizeof f->folder, "%s/c/d/e", f->base); /* but no further ones */
    write_key(f, key, code, CODE);
    assert_non_null(strstr(f->line, strerror(ENOENT)));
    assert_missing(f, key);
}

/* This program again, set-uid: what it says is its exit status. */
enum { NO_FOLDER = 40, A_FOLDER, NOT_SET_UID };

static int folder_of_this_process(void)
{
    char path[4096];
    if (geteuid() == getuid())
        return NOT_SET_UID;
    return rungi_code_cache_folder(path, sizeof path) ? A_FOLDER : NO_FOLDER;
}

static int run_set_uid(cache_fixture_t *f)
{
    setenv("HOME", f->base, 1);
    setenv("XDG_CACHE_HOME", f->base, 1);
    execl(f->aside, f->aside, "--folder", (char *)NULL);
    return NOT_SET_UID;
}

static void set_uid_programs_have_no_cache(void **state)
{
    cache_fixture_t *f = *state;
    static char program[64 << 20];
    if (geteuid() != 0)
        skip();
    store(f->aside, program, load("/proc/self/exe", program, sizeof program));
    assert_int_equal(chmod(f->base, 0755), 0);
    assert_int_equal(chown(f->aside, ANOTHER_USER, 0), 0);
    assert_int_equal(chmod(f->aside, 04755), 0);
    int said = in_child(run_set_uid, f);
    if (said != NO_FOLDER && said != A_FOLDER)
        skip(); /* the file system takes no such programs */
    assert_int_equal(said, NO_FOLDER);
}

/* ---- The limit ---------------------------------------------------------------------- */

/* One letter stands for a name as long as a key's. */
static void written_path(const cache_fixture_t *f, const char *name, char *path, size_t capacity)
{
    char letters[65] = "";
    if (strlen(name) == 1)
        memset(letters, name[0], 64);
    snprintf(path, capacity, "%s/%s", f->folder, letters[0] ? letters : name);
}

/* A file last used `ago` seconds ago. It is all hole and takes no disk. */
static void write_file(cache_fixture_t *f, const char *name, off_t bytes, int64_t ago)
{
    char path[160];
    written_path(f, name, path, sizeof path);
    struct timespec then = {.tv_sec = time(NULL) - ago};
    store(path, "", 0);
    assert_int_equal(truncate(path, bytes), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){then, then}, 0), 0);
}

static bool is_there(cache_fixture_t *f, const char *name)
{
    char path[160];
    written_path(f, name, path, sizeof path);
    return access(path, F_OK) == 0;
}

static void least_recently_used_entries_are_evicted(void **state)
{
    cache_fixture_t *f = *state;
    store_entry(f);
    write_file(f, "a", 256 << 20, 30);
    write_file(f, "b", 256 << 20, 50); /* the oldest */
    write_file(f, "c", 256 << 20, 10);
    write_file(f, "d", 256 << 20, 40);
    write_file(f, "e", 1 << 20, 99999);
    write_file(f, "A", 256 << 20, 9999); /* not a name of ours */
    write_file(f, "notes", 1 << 30, 9999);
    write_key(f, key, code, CODE);
    assert_false(is_there(f, "e"));
    assert_false(is_there(f, "b")); /* without it they are just over 768 MiB */
    assert_true(is_there(f, "d") && is_there(f, "a") && is_there(f, "c"));
    assert_true(is_there(f, "A") && is_there(f, "notes"));
    assert_cached(f);
}

static void no_eviction_below_the_limit(void **state)
{
    cache_fixture_t *f = *state;
    store_entry(f);
    write_file(f, "a", (1 << 30) - HEADER - CODE, 30);
    write_key(f, key, code, CODE);
    assert_true(is_there(f, "a"));
    write_key(f, key, "", 0);
    write_key(f, other_key, "", 0);
    assert_true(is_there(f, "a"));
    write_key(f, key, code, CODE); /* and no further */
    assert_false(is_there(f, "a"));
    write_file(f, "a", (1 << 30) - CODE - 2 * HEADER, 30);
    write_file(f, "b", 1, 60); /* the byte too many */
    write_key(f, key, code, CODE);
    assert_true(is_there(f, "a") && !is_there(f, "b"));
}

static void reading_updates_last_use(void **state)
{
    cache_fixture_t *f = *state;
    store_entry(f);
    struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, f->file, long_ago, 0), 0);
    write_file(f, "a", 512 << 20, 60);
    write_file(f, "b", 512 << 20, 50);
    assert_cached(f);
    write_key(f, other_key, code, CODE);
    assert_false(is_there(f, "a"));
    assert_true(is_there(f, "b"));
    assert_cached(f);
}

/* What is refused was not used. */
static void rejecting_does_not_update_last_use(void **state)
{
    cache_fixture_t *f = *state;
    struct stat status;
    store_entry(f);
    struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(truncate(f->file, HEADER), 0);
    assert_int_equal(utimensat(AT_FDCWD, f->file, long_ago, 0), 0);
    assert_refused(f, "wrong length");
    assert_int_equal(stat(f->file, &status), 0);
    assert_int_equal(status.st_mtime, 1000);
}

/* Sums that would overflow, if they were of what the files say. Files that large are
 * for a file system in memory. */
static void oversized_files_are_rejected(void **state)
{
    cache_fixture_t *f = *state;
    const off_t most = INT64_MAX - 65536;
    strcpy(f->folder, "/dev/shm/rung-cache-XXXXXX");
    if (!mkdtemp(f->folder))
        skip();
    store_entry(f);
    write_file(f, "a", most, 60);
    write_file(f, "b", most, 50);
    write_file(f, "c", most, 40);
    write_key(f, key, code, CODE);
    bool all_gone = !is_there(f, "a") && !is_there(f, "b") && !is_there(f, "c");
    assert_cached(f);
    assert_int_equal(nftw(f->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    assert_true(all_gone);
}

static void stale_temporary_files_are_removed(void **state)
{
    cache_fixture_t *f = *state;
    store_entry(f);
    write_file(f, "aside.1.2.3.4", 5, 86400 + 60);
    write_file(f, "aside.1.2.3.5", 5, 86400 - 60); /* somebody may be writing it */
    write_file(f, "besides", 5, 999999);
    write_key(f, key, code, CODE);
    assert_false(is_there(f, "aside.1.2.3.4"));
    assert_true(is_there(f, "aside.1.2.3.5"));
    assert_true(is_there(f, "besides"));
}

/* ---- Memory ------------------------------------------------------------------------- */

static void without_memory(void **state)
{
    cache_fixture_t *f = *state;
    store_entry(f);
    f->fail_at = 1;
    assert_refused(f, "not enough memory");
    assert_cached(f);
    write_file(f, "a", 1 << 30, 60);
    f->fail_at = 1;
    write_key(f, key, "new", 3); /* kept, though nothing can be removed */
    assert_non_null(strstr(f->line, "not enough memory"));
    assert_true(is_there(f, "a"));
    assert_cached_as(f, key, "new", 3);
    write_key(f, key, code, CODE);
    assert_false(is_there(f, "a"));
}

/* ---- Many at once ------------------------------------------------------------------- */

enum { KEYS = 3, LENGTHS = 4, ROUNDS = 1500 };

/* The code of a key has one of several lengths, all of its bytes say which. */
static size_t make_code(char *to, int which, int variant)
{
    size_t bytes = (size_t)(variant * 9000 + which + 1);
    memset(to, 'a' + which * LENGTHS + variant, bytes);
    return bytes;
}

static bool is_code_of(const char *read, size_t bytes, int which)
{
    char right[LENGTHS * 9000];
    for (int variant = 0; variant < LENGTHS; variant++)
        if (bytes == make_code(right, which, variant) && memcmp(read, right, bytes) == 0)
            return true;
    return false;
}

static void write_variant(cache_fixture_t *f, int which, int variant)
{
    static const char *const names[KEYS] = {"one", "two", "three"};
    char data[LENGTHS * 9000];
    size_t bytes = make_code(data, which, variant);
    rungi_code_cache_write(f->context, f->folder, &names[which], 1, data, bytes);
}

/* Writers never come between a reader and the file, nor between each other: once there
 * is one, every read finds one, and the log stays empty. 0 if so. */
static int write_and_read(cache_fixture_t *f, uint64_t seed)
{
    static const char *const names[KEYS] = {"one", "two", "three"};
    for (int round = 0; round < ROUNDS; round++) {
        int which = (int)unit_random(&seed, KEYS);
        size_t bytes;
        if (unit_random(&seed, 3) == 0)
            write_variant(f, which, (int)unit_random(&seed, LENGTHS));
        char *read = rungi_code_cache_read(f->context, f->folder, &names[which], 1, &bytes);
        bool right = read && is_code_of(read, bytes, which);
        rungi_release(f->context, read);
        if (!right)
            return read ? 1 : 2;
    }
    return f->line[0] ? 3 : 0;
}

static int write_and_read_too(cache_fixture_t *f)
{
    return write_and_read(f, 2);
}

static void processes_at_once(void **state)
{
    cache_fixture_t *f = *state;
    int status;
    for (int which = 0; which < KEYS; which++)
        write_variant(f, which, 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(write_and_read(f, 1));
    int second = in_child(write_and_read_too, f);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(second, 0);
    assert_int_equal(count_entries(f->folder), 2 + KEYS);
}

typedef struct cache_thread {
    pthread_t id;
    cache_fixture_t own; /* the same folder, with a context and a log of its own */
    int number, wrong;
} cache_thread_t;

static void *run_thread(void *argument)
{
    cache_thread_t *self = argument;
    self->wrong = write_and_read(&self->own, (uint64_t)self->number);
    return NULL;
}

/* One process number for all of them: names of files written aside must differ still. */
static void threads_at_once(void **state)
{
    cache_fixture_t *f = *state;
    static cache_thread_t threads[4];
    for (int which = 0; which < KEYS; which++)
        write_variant(f, which, 0);
    for (int i = 0; i < 4; i++) {
        threads[i].number = i;
        strcpy(threads[i].own.folder, f->folder);
        make_context(&threads[i].own);
        assert_int_equal(pthread_create(&threads[i].id, NULL, run_thread, &threads[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i].id, NULL);
        rung_context_destroy(threads[i].own.context);
        assert_string_equal(threads[i].own.line, "");
        assert_int_equal(threads[i].wrong, 0);
        assert_int_equal(threads[i].own.live, 0);
    }
    assert_int_equal(count_entries(f->folder), 2 + KEYS);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(round_trip),
        IN_A_FOLDER(the_format),
        IN_A_FOLDER(different_keys_do_not_match),
        IN_A_FOLDER(code_of_no_bytes),
        IN_A_FOLDER(code_of_many_bytes),
        IN_A_FOLDER(code_of_too_many_bytes),
        IN_A_FOLDER(truncated_file),
        IN_A_FOLDER(every_bit_counts),
        IN_A_FOLDER(of_another_key),
        IN_A_FOLDER(larger_than_any),
        IN_A_FOLDER(symlink_to_a_valid_file),
        IN_A_FOLDER(second_name),
        IN_A_FOLDER(writable_by_others),
        IN_A_FOLDER(a_pipe),
        IN_A_FOLDER(a_folder_instead_of_the_file),
        IN_A_FOLDER(of_another_user),
        IN_A_FOLDER(folder_is_a_link),
        IN_A_FOLDER(folder_is_relative),
        IN_A_FOLDER(folder_is_writable_by_others),
        IN_A_FOLDER(folder_of_another_user),
        IN_A_FOLDER(folder_is_a_file),
        IN_A_FOLDER(folder_is_read_only),
        IN_A_FOLDER(files_may_be_limited),
        cmocka_unit_test(folders_of_the_environment),
        IN_A_FOLDER(folder_and_the_one_above_are_made),
        IN_A_FOLDER(set_uid_programs_have_no_cache),
        IN_A_FOLDER(least_recently_used_entries_are_evicted),
        IN_A_FOLDER(no_eviction_below_the_limit),
        IN_A_FOLDER(reading_updates_last_use),
        IN_A_FOLDER(rejecting_does_not_update_last_use),
        IN_A_FOLDER(oversized_files_are_rejected),
        IN_A_FOLDER(stale_temporary_files_are_removed),
        IN_A_FOLDER(without_memory),
        IN_A_FOLDER(processes_at_once),
        IN_A_FOLDER(threads_at_once),
    };
    if (count == 2 && strcmp(arguments[1], "--folder") == 0)
        return folder_of_this_process();
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
