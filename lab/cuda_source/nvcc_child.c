/* SPDX-License-Identifier: Apache-2.0 */
/* nvcc_child.c - see nvcc_child.h. Memory is not released here: the process ends after one compilation. */
#define _GNU_SOURCE /* realpath */
#include "cuda_source/nvcc_child.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/failure.h"
#include "cuda_source/compile_places.h"
#include "process/program_search.h"
#include "process/sandbox.h"

enum { ARGUMENTS_MAX = 160, PATH_BYTES = 4096 };

typedef struct nvcc_work {
    const lab_cuda_job *job;
    lab_compile_places places;
    char program[PATH_BYTES], toolkit[PATH_BYTES];
    char input[PATH_BYTES], output[PATH_BYTES], log[PATH_BYTES];
    char texts[ARGUMENTS_MAX][PATH_BYTES + 8];
    const char *arguments[ARGUMENTS_MAX + 1];
    int argument_count;
} nvcc_work_t;

bool lab_nvcc_find(char *path, size_t capacity)
{
    return lab_cuda_program_find("nvcc", "RUNG_NVCC", path, capacity);
}

/* ---- Preparation ---- */

/* Writes the file with one line per name whose initial value is the mangled name in the PTX. */
static bool write_input(const nvcc_work_t *work)
{
    const lab_cuda_job *job = work->job;
    FILE *file = fopen(work->input, "we");
    if (!file)
        return false;
    fprintf(file, "#line 1 \"%s\"\n", job->file);
    fwrite(job->text, 1, job->bytes, file);
    for (int i = 0; i < job->name_count; i++)
        fprintf(file, "\n__device__ auto *rung_lowered_name_%d = &%s;", i, job->names[i]);
    fputc('\n', file);
    return fclose(file) == 0;
}

__attribute__((format(printf, 2, 3))) static void add_argument(nvcc_work_t *work, const char *format, ...)
{
    va_list arguments;
    if (work->argument_count >= ARGUMENTS_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(work->texts[work->argument_count], sizeof *work->texts, format, arguments);
    va_end(arguments);
    work->arguments[work->argument_count] = work->texts[work->argument_count];
    work->argument_count++;
}

static void prepare_arguments(nvcc_work_t *work)
{
    const lab_compile_places *places = &work->places;
    add_argument(work, "%s", work->program);
    add_argument(work, "-ptx");
    add_argument(work, "-lineinfo");
    add_argument(work, "--expt-relaxed-constexpr");
    if (!places->has_architecture)
        add_argument(work, "-arch=compute_%d%s", work->job->architecture, work->job->architecture >= 90 ? "a" : "");
    if (!places->has_standard)
        add_argument(work, "-std=c++17");
    for (int i = 0; i < places->option_count; i++)
        add_argument(work, "%s", places->options[i]);
    for (const char *const *folder = places->user; *folder; folder++)
        add_argument(work, "-I%s", *folder);
    add_argument(work, "-o");
    add_argument(work, "%s", work->output);
    add_argument(work, "%s", work->input);
}

/* The toolkit is the folder above the program's, with symbolic links followed. */
static void set_toolkit(nvcc_work_t *work)
{
    char resolved[PATH_BYTES];
    snprintf(work->toolkit, sizeof work->toolkit, "%s", realpath(work->program, resolved) ? resolved : work->program);
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(work->toolkit, '/');
        if (slash)
            *slash = '\0';
    }
}

static bool restrict_files(const nvcc_work_t *work, const char *work_folder)
{
    const char *const writable[] = {work_folder, "/dev/null", NULL};
    const char *readable[LAB_COMPILE_FOLDERS_MAX + 16] = {
        "/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/proc/self", work->toolkit};
    int count = 7;
    for (const char *const *folder = work->places.user; *folder; folder++)
        readable[count++] = *folder;
    readable[count] = NULL;
    return lab_sandbox_restrict_files(readable, writable);
}

/* ---- Compilation ---- */

/* Runs nvcc with its messages in the log. Returns its exit code, or -1. */
static int run_nvcc(const nvcc_work_t *work, const char *work_folder)
{
    int log = open(work->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status = -1;
    pid_t process = log >= 0 ? fork() : -1;
    if (process == 0) {
        setenv("TMPDIR", work_folder, 1);
        if (dup2(log, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0)
            execv(work->program, (char *const *)(uintptr_t)work->arguments);
        _exit(127);
    }
    if (process < 0 || waitpid(process, &status, 0) < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *read_file(const char *path, int64_t *bytes)
{
    struct stat info;
    FILE *file = fopen(path, "re");
    size_t size = file && fstat(fileno(file), &info) == 0 ? (size_t)info.st_size : 0;
    char *text = file ? calloc(size + 1, 1) : NULL;
    *bytes = text ? (int64_t)fread(text, 1, size, file) : 0;
    if (file)
        fclose(file);
    return text;
}

/* Reads the mangled name from ".global .align 8 .u64 rung_lowered_name_0 = _Z5sgemm...;" and blanks that line. */
static char *take_lowered_name(char *ptx, int index)
{
    char word[64];
    snprintf(word, sizeof word, "rung_lowered_name_%d = ", index);
    char *at = strstr(ptx, word), *line = at;
    if (!at)
        return NULL;
    at += strlen(word);
    char *name = strndup(at, strcspn(at, ";\n"));
    while (line > ptx && line[-1] != '\n')
        line--;
    memset(line, ' ', strcspn(line, "\n"));
    return name;
}

static bool get_lowered_names(const lab_cuda_job *job, lab_cuda_code *code)
{
    code->lowered = calloc((size_t)job->name_count + 1, sizeof *code->lowered);
    for (int i = 0; code->lowered && i < job->name_count; i++) {
        code->lowered[i] = take_lowered_name(code->ptx, i);
        if (!code->lowered[i])
            return false;
        code->name_count = i + 1;
    }
    return code->lowered != NULL;
}

static void read_version(lab_cuda_code *code)
{
    const char *release = strstr(code->ptx, "release ");
    char *end;
    if (!release)
        return;
    code->version_major = (int)strtol(release + strlen("release "), &end, 10);
    code->version_minor = *end == '.' ? (int)strtol(end + 1, NULL, 10) : 0;
}

lab_cuda_compile_status lab_nvcc_child_compile(const lab_cuda_job *job, const char *work_folder, lab_cuda_code *code,
                                               char *why, size_t capacity)
{
    static nvcc_work_t work;
    int64_t log_bytes;
    work.job = job;
    code->way = LAB_CUDA_NVCC;
    if (!lab_nvcc_find(work.program, sizeof work.program) || !lab_sandbox_can_restrict_files()) {
        lab_set_reason(why, capacity, "nvcc is not installed, or this machine has no Landlock");
        return LAB_CUDA_NO_COMPILER;
    }
    if (!lab_compile_places_read(job, &work.places, why, capacity))
        return LAB_CUDA_FAILED;
    snprintf(work.input, sizeof work.input, "%s/file.cu", work_folder);
    snprintf(work.output, sizeof work.output, "%s/file.ptx", work_folder);
    snprintf(work.log, sizeof work.log, "%s/log", work_folder);
    set_toolkit(&work);
    prepare_arguments(&work);
    if (!write_input(&work) || !restrict_files(&work, work_folder)) {
        lab_set_reason(why, capacity, "no file can be written to %s for nvcc", work_folder);
        return LAB_CUDA_FAILED;
    }
    int result = run_nvcc(&work, work_folder);
    code->log = read_file(work.log, &log_bytes);
    code->ptx = result == 0 ? read_file(work.output, &code->ptx_bytes) : NULL;
    if (!code->ptx || !get_lowered_names(job, code)) {
        lab_set_reason(why, capacity, "%s did not compile with nvcc", job->file);
        return LAB_CUDA_REJECTED;
    }
    read_version(code);
    return LAB_CUDA_COMPILED;
}
