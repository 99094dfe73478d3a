/* SPDX-License-Identifier: Apache-2.0 */
/* disassemble.c - running nvdisasm, NVIDIA's disassembler, on a cubin: the part of code.h that
 * starts a process. */
#define _GNU_SOURCE /* environ */
#include "code.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "temporary.h"

const char *const lab_code_install = "pip install nvidia-cuda-nvdisasm, or set RUNG_NVDISASM to its path";

/* ---- Finding ------------------------------------------------------------------------------ */

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

/* The first of the files that a pattern stands for. */
static bool take_match(const char *pattern, char *path, size_t capacity)
{
    bool found = false;
    glob_t all;
    if (glob(pattern, 0, NULL, &all) != 0)
        return false;
    for (size_t i = 0; i < all.gl_pathc && !found; i++)
        found = is_program(all.gl_pathv[i]) &&
                snprintf(path, capacity, "%s", all.gl_pathv[i]) < (int)capacity;
    globfree(&all);
    return found;
}

static bool is_on_path(char *path, size_t capacity)
{
    const char *folder = getenv("PATH");
    while (folder && *folder) {
        size_t length = strcspn(folder, ":");
        if (length > 0 && snprintf(path, capacity, "%.*s/nvdisasm", (int)length, folder) < (int)capacity &&
            is_program(path))
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

/* Beside the libraries that the library itself looks for (src/cuda/libraries.c). */
static bool is_in_a_package(char *path, size_t capacity)
{
    static const struct {
        const char *variable, *folder;
    } places[] = {
        {"CUDA_HOME", "/bin"},
        {"CUDA_PATH", "/bin"},
        {"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/*/bin"},
        {"CONDA_PREFIX", "/bin"},
        {"CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/*/bin"},
        {NULL, "/usr/local/cuda/bin"},
        {"HOME", "/.local/lib/python3*/site-packages/nvidia/*/bin"},
        {NULL, "/usr/local/lib/python3*/dist-packages/nvidia/*/bin"},
        {NULL, "/usr/local/lib/python3*/site-packages/nvidia/*/bin"},
        {NULL, "/usr/lib/python3/dist-packages/nvidia/*/bin"},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char pattern[4096];
        const char *start = places[i].variable ? getenv(places[i].variable) : "";
        if (!start || (places[i].variable && *start != '/'))
            continue;
        if (snprintf(pattern, sizeof pattern, "%s%s/nvdisasm", start, places[i].folder) < (int)sizeof pattern &&
            take_match(pattern, path, capacity))
            return true;
    }
    return false;
}

bool lab_code_find_disassembler(char *path, size_t capacity)
{
    const char *named = getenv("RUNG_NVDISASM");
    bool found = named && *named ? snprintf(path, capacity, "%s", named) < (int)capacity && is_program(path)
                                 : is_on_path(path, capacity) || is_in_a_package(path, capacity);
    if (!found && capacity > 0)
        *path = '\0';
    return found;
}

/* ---- Running ------------------------------------------------------------------------------ */

/* The cubin as a file, which nvdisasm wants; false if it cannot be written. */
static bool write_image(const void *image, int64_t bytes, char *path, size_t capacity)
{
    const char *from = image;
    if (snprintf(path, capacity, "%s/rung-XXXXXX", lab_temporary_folder()) >= (int)capacity) {
        errno = ENAMETOOLONG;
        return false;
    }
    int file = mkostemp(path, O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t written = 0;
    for (; bytes > 0 && (written >= 0 || errno == EINTR); ) {
        written = write(file, from, (size_t)bytes);
        from += written > 0 ? written : 0;
        bytes -= written > 0 ? written : 0;
    }
    int error = bytes > 0 ? errno : 0;
    if (close(file) != 0 && error == 0)
        error = errno;
    if (error == 0)
        return true;
    unlink(path);
    errno = error;
    return false;
}

/* nvdisasm with its output in a pipe and its complaints in a file; 0, or an errno. */
static int start(const char *program, const char *image, int output[2], FILE *complaints, pid_t *process)
{
    const char *const arguments[] = {program, "-c", "-gi", image, NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    error = posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&actions, fileno(complaints), STDERR_FILENO);
    if (error == 0) /* its interface is older than const */
        error = posix_spawn(process, program, &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Its last line: what comes before are warnings. */
static void read_complaint(FILE *complaints, char *text, size_t capacity)
{
    char line[512];
    rewind(complaints);
    snprintf(text, capacity, "it gave no reason");
    while (fgets(line, sizeof line, complaints))
        if (line[strspn(line, " \t\r\n")] != '\0')
            snprintf(text, capacity, "%.*s", (int)strcspn(line, "\r\n"), line);
}

/* Reads all output of the process into memory, for at most SECONDS_MAX. Returns NULL with a sentence if there is more,
 * or if it takes longer. The caller frees the text. */
static char *read_all(int from, size_t *length, char *why, size_t capacity)
{
    enum { SECONDS_MAX = 120, MIB_MAX = 64, CHUNK = 1 << 16 };
    const int64_t end = lab_now() + (int64_t)SECONDS_MAX * 1000000000;
    size_t room = 0;
    char *text = NULL;
    for (*length = 0;;) {
        int64_t left = (end - lab_now()) / 1000000;
        struct pollfd ready = {.fd = from, .events = POLLIN};
        if (left <= 0) {
            snprintf(why, capacity, "nvdisasm did not end within %d seconds", SECONDS_MAX);
            break;
        }
        if (*length > (size_t)MIB_MAX << 20) {
            snprintf(why, capacity, "nvdisasm printed more than %d MiB", MIB_MAX);
            break;
        }
        if (*length + CHUNK > room) {
            char *larger = realloc(text, room = 2 * room + CHUNK);
            if (!larger) {
                snprintf(why, capacity, "out of memory");
                break;
            }
            text = larger;
        }
        if (poll(&ready, 1, (int)left) <= 0)
            continue;
        ssize_t bytes = read(from, text + *length, CHUNK);
        if (bytes == 0)
            return text;
        *length += bytes > 0 ? (size_t)bytes : 0;
        if (bytes < 0 && errno != EINTR) {
            snprintf(why, capacity, "the output of nvdisasm cannot be read: %s", strerror(errno));
            break;
        }
    }
    free(text);
    return NULL;
}

/* Reads the output of the process and waits for its end. */
static bool read_output(int from, pid_t process, FILE *complaints, lab_code *code, char *why, size_t capacity)
{
    char complaint[512];
    int status = 0;
    size_t length;
    char *text = read_all(from, &length, why, capacity);
    close(from);
    if (!text)
        kill(process, SIGKILL);
    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    FILE *in = text && ended ? fmemopen(length > 0 ? text : (char[]){"\n"}, length > 0 ? length : 1, "r") : NULL;
    bool good = in && lab_code_read(in, code, why, capacity);
    if (text && !ended) {
        read_complaint(complaints, complaint, sizeof complaint);
        snprintf(why, capacity, "nvdisasm failed: %s", complaint);
    } else if (text && !in) {
        snprintf(why, capacity, "out of memory");
    }
    if (in)
        fclose(in);
    free(text);
    return good;
}

static bool run(const char *program, const char *image, lab_code *code, char *why, size_t capacity)
{
    int output[2];
    pid_t process;
    FILE *complaints = lab_temporary();
    if (!complaints || pipe2(output, O_CLOEXEC) != 0) {
        snprintf(why, capacity, "nvdisasm could not be started: %s", strerror(errno));
        if (complaints)
            fclose(complaints);
        return false;
    }
    int error = start(program, image, output, complaints, &process);
    close(output[1]);
    bool good = false;
    if (error != 0) {
        snprintf(why, capacity, "%s could not be started: %s", program, strerror(error));
        close(output[0]);
    } else {
        good = read_output(output[0], process, complaints, code, why, capacity);
    }
    fclose(complaints);
    return good;
}

bool lab_code_take_apart(const void *image, int64_t bytes, lab_code *code, char *why, size_t capacity)
{
    char program[4096], path[4096];
    *code = (lab_code){.has_loop = false};
    if (!lab_code_find_disassembler(program, sizeof program)) {
        snprintf(why, capacity, "nvdisasm was not found: %s", lab_code_install);
        return false;
    }
    if (!write_image(image, bytes, path, sizeof path)) {
        lab_temporary_failed(errno, why, capacity);
        return false;
    }
    bool good = run(program, path, code, why, capacity);
    unlink(path);
    return good;
}
