/* SPDX-License-Identifier: Apache-2.0 */
/* nvdisasm.c - finds nvdisasm, NVIDIA's disassembler, and runs it on a cubin; see sass.h. */
#define _GNU_SOURCE /* pipe2 */
#include "explain/sass.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/interrupt.h"
#include "common/failure.h"
#include "process/child_process.h"
#include "process/program_search.h"
#include "io/temporary_file.h"

const char *const lab_nvdisasm_install_hint = "pip install nvidia-cuda-nvdisasm, or set RUNG_NVDISASM to its path";

bool lab_nvdisasm_find(char *path, size_t capacity)
{
    return lab_cuda_program_find("nvdisasm", "RUNG_NVDISASM", path, capacity);
}

/* ---- Running ---- */

enum { SECONDS_MAX = 120 }; /* time limit of nvdisasm */

/* Writes the cubin to an unlinked file, so that nothing remains if this process is killed. Returns NULL and sets errno
 * on failure. */
static FILE *write_image(const void *image, int64_t bytes)
{
    FILE *file = lab_temporary_open();
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

/* Reads the last line of the errors; the lines before it are warnings. */
static void read_last_error(FILE *error_output, char *text, size_t capacity)
{
    char line[512];
    rewind(error_output);
    snprintf(text, capacity, "no error message");
    while (fgets(line, sizeof line, error_output))
        if (line[strspn(line, " \t\r\n")] != '\0')
            snprintf(text, capacity, "%.*s", (int)strcspn(line, "\r\n"), line);
}

/* Reads all output of the process into memory, until the time `end`. Returns false with a sentence if the output is too
 * long, on timeout, or if this process is interrupted. The caller frees the text, which is NULL at first. */
static bool read_all(int from, int64_t end, char **text, size_t *length, char *why, size_t capacity)
{
    enum { MIB_MAX = 64, CHUNK = 1 << 16, POLL_MS = 100 };
    size_t room = 0;
    for (*length = 0;;) {
        int64_t left = (end - rungi_clock_ns()) / 1000000;
        struct pollfd ready = {.fd = from, .events = POLLIN};
        if (left <= 0)
            return lab_set_reason(why, capacity, "nvdisasm did not finish within %d seconds", SECONDS_MAX);
        if (lab_is_interrupted())
            return lab_set_reason(why, capacity, "interrupted");
        if (*length > (size_t)MIB_MAX << 20)
            return lab_set_reason(why, capacity, "nvdisasm printed more than %d MiB", MIB_MAX);
        if (*length + CHUNK > room) {
            room = 2 * room + CHUNK;
            char *larger = realloc(*text, room);
            if (!larger)
                return lab_set_reason(why, capacity, "out of memory");
            *text = larger;
        }
        if (poll(&ready, 1, left < POLL_MS ? (int)left : POLL_MS) <= 0)
            continue;
        ssize_t bytes = read(from, *text + *length, CHUNK);
        if (bytes == 0)
            return true;
        *length += bytes > 0 ? (size_t)bytes : 0;
        if (bytes < 0 && errno != EINTR)
            return lab_set_reason(why, capacity, "cannot read the output of nvdisasm: %s", strerror(errno));
    }
}

/* Writes why the process failed. */
static void describe_failure(int status, bool is_late, FILE *error_output, char *why, size_t capacity)
{
    char message[512];
    read_last_error(error_output, message, sizeof message);
    if (WIFSIGNALED(status) && lab_is_interrupted())
        snprintf(why, capacity, "interrupted");
    else if (WIFSIGNALED(status) && is_late)
        snprintf(why, capacity, "nvdisasm did not finish within %d seconds", SECONDS_MAX);
    else
        snprintf(why, capacity, "nvdisasm failed: %s", message);
}

/* Reads the output of the process and waits for its end. */
static bool read_output(int from, pid_t process, FILE *error_output, const char *function, lab_sass *code, char *why,
                        size_t capacity)
{
    const int64_t end = rungi_clock_ns() + (int64_t)SECONDS_MAX * 1000000000;
    size_t length;
    char *text = NULL;
    bool is_read = read_all(from, end, &text, &length, why, capacity);
    close(from);
    int status = lab_child_wait_until(process, is_read ? end : 0);
    bool has_succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    FILE *in = is_read && has_succeeded ? fmemopen(length > 0 ? text : (char[]){"\n"}, length > 0 ? length : 1, "r")
                                        : NULL;
    bool good = in && lab_sass_parse(in, function, code, why, capacity);
    if (is_read && !has_succeeded)
        describe_failure(status, rungi_clock_ns() >= end, error_output, why, capacity);
    else if (is_read && !in)
        snprintf(why, capacity, "out of memory");
    if (in)
        fclose(in);
    free(text);
    return good;
}

/* Runs nvdisasm with its output in a pipe and its errors in a file. nvdisasm reads named files only, so its input is
 * /proc/self/fd/0. */
static bool run_nvdisasm(const char *program, FILE *image, FILE *error_output, const char *function, lab_sass *code,
                         char *why, size_t capacity)
{
    const char *const arguments[] = {program, "-c", "-gi", "-hex", "/proc/self/fd/0", NULL};
    int output[2];
    pid_t process;
    int error = pipe2(output, O_CLOEXEC) != 0 ? errno : 0;
    if (error == 0) {
        lab_child_streams streams = {fileno(image), output[1], fileno(error_output)};
        error = lab_child_start(program, (char *const *)(uintptr_t)arguments, NULL, streams, &process);
        close(output[1]);
        if (error == 0)
            return read_output(output[0], process, error_output, function, code, why, capacity);
        close(output[0]);
    }
    return lab_set_reason(why, capacity, "cannot start %s: %s", program, strerror(error));
}

bool lab_sass_disassemble(const void *image, int64_t bytes, const char *function, lab_sass *code, char *why,
                          size_t capacity)
{
    char program[4096];
    *code = (lab_sass){.has_loop = false};
    if (!lab_nvdisasm_find(program, sizeof program))
        return lab_set_reason(why, capacity, "nvdisasm was not found: %s", lab_nvdisasm_install_hint);
    FILE *file = write_image(image, bytes), *error_output = file ? lab_temporary_open() : NULL;
    if (!error_output)
        lab_temporary_error_text(errno, why, capacity);
    bool good = error_output && run_nvdisasm(program, file, error_output, function, code, why, capacity);
    if (error_output)
        fclose(error_output);
    if (file)
        fclose(file);
    return good;
}
