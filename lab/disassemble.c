/* SPDX-License-Identifier: Apache-2.0 */
/* disassemble.c - running nvdisasm, NVIDIA's disassembler, on a cubin: the part of code.h that
 * starts a process. */
#define _GNU_SOURCE /* pipe2 */
#include "code.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "interrupt.h"
#include "start.h"
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
        found = is_program(all.gl_pathv[i]) && snprintf(path, capacity, "%s", all.gl_pathv[i]) < (int)capacity;
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

enum { SECONDS_MAX = 120 }; /* for a run of nvdisasm */

/* The cubin as a file without a name, so that nothing is left when this process is killed. NULL, with errno set, if it
 * cannot be written. */
static FILE *write_image(const void *image, int64_t bytes)
{
    FILE *file = lab_temporary();
    if (!file)
        return NULL;
    errno = 0;
    if (fwrite(image, 1, (size_t)bytes, file) == (size_t)bytes && fflush(file) == 0)
        return file;
    int error = errno;
    fclose(file);
    errno = error ? error : EIO;
    return NULL;
}

/* nvdisasm with the cubin as its input, its output in a pipe and its complaints in a file; 0, or an errno. nvdisasm reads
 * files only, so it opens its input by name. */
static int start(const char *program, FILE *image, int output, FILE *complaints, pid_t *process)
{
    const char *const arguments[] = {program, "-c", "-gi", "/proc/self/fd/0", NULL};
    return lab_start(program, (char *const *)(uintptr_t)arguments,
                     (lab_streams){fileno(image), output, fileno(complaints)}, process);
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

/* Reads all output of the process into memory, until the time `end`. Returns NULL with a sentence if there is more, if it
 * takes longer, or if this process is interrupted. The caller frees the text. */
static char *read_all(int from, int64_t end, size_t *length, char *why, size_t capacity)
{
    enum { MIB_MAX = 64, CHUNK = 1 << 16, LOOK_MS = 100 };
    size_t room = 0;
    char *text = NULL;
    for (*length = 0;;) {
        int64_t left = (end - lab_now()) / 1000000;
        struct pollfd ready = {.fd = from, .events = POLLIN};
        if (left <= 0) {
            snprintf(why, capacity, "nvdisasm did not end within %d seconds", SECONDS_MAX);
            break;
        }
        if (lab_interrupted()) {
            snprintf(why, capacity, "interrupted");
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
        if (poll(&ready, 1, left < LOOK_MS ? (int)left : LOOK_MS) <= 0)
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

/* Says how the process failed. */
static void tell_failure(int status, bool is_late, FILE *complaints, char *why, size_t capacity)
{
    char complaint[512];
    read_complaint(complaints, complaint, sizeof complaint);
    if (WIFSIGNALED(status) && lab_interrupted())
        snprintf(why, capacity, "interrupted");
    else if (WIFSIGNALED(status) && is_late)
        snprintf(why, capacity, "nvdisasm did not end within %d seconds", SECONDS_MAX);
    else
        snprintf(why, capacity, "nvdisasm failed: %s", complaint);
}

/* Reads the output of the process and waits for its end. */
static bool read_output(int from, pid_t process, FILE *complaints, lab_code *code, char *why, size_t capacity)
{
    const int64_t end = lab_now() + (int64_t)SECONDS_MAX * 1000000000;
    size_t length;
    char *text = read_all(from, end, &length, why, capacity);
    close(from);
    int status = lab_wait_until(process, text ? end : 0);
    bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    FILE *in = text && ended ? fmemopen(length > 0 ? text : (char[]){"\n"}, length > 0 ? length : 1, "r") : NULL;
    bool good = in && lab_code_read(in, code, why, capacity);
    if (text && !ended)
        tell_failure(status, lab_now() >= end, complaints, why, capacity);
    else if (text && !in)
        snprintf(why, capacity, "out of memory");
    if (in)
        fclose(in);
    free(text);
    return good;
}

static bool run(const char *program, FILE *image, FILE *complaints, lab_code *code, char *why, size_t capacity)
{
    int output[2];
    pid_t process;
    int error = pipe2(output, O_CLOEXEC) != 0 ? errno : 0;
    if (error == 0) {
        error = start(program, image, output[1], complaints, &process);
        close(output[1]);
        if (error == 0)
            return read_output(output[0], process, complaints, code, why, capacity);
        close(output[0]);
    }
    snprintf(why, capacity, "%s could not be started: %s", program, strerror(error));
    return false;
}

bool lab_code_take_apart(const void *image, int64_t bytes, lab_code *code, char *why, size_t capacity)
{
    char program[4096];
    *code = (lab_code){.has_loop = false};
    if (!lab_code_find_disassembler(program, sizeof program)) {
        snprintf(why, capacity, "nvdisasm was not found: %s", lab_code_install);
        return false;
    }
    FILE *file = write_image(image, bytes), *complaints = file ? lab_temporary() : NULL;
    if (!complaints)
        lab_temporary_failed(errno, why, capacity);
    bool good = complaints && run(program, file, complaints, code, why, capacity);
    if (complaints)
        fclose(complaints);
    if (file)
        fclose(file);
    return good;
}
