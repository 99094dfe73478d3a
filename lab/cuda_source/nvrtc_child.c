/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc_child.c - see nvrtc_child.h. Memory is not released here: the process ends after one compilation. */
#define _GNU_SOURCE /* realpath */
#include "cuda_source/nvrtc_child.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dynamic_library.h"
#include "base/nvrtc_library.h"
#include "common/failure.h"
#include "common/text.h"
#include "cuda_source/compile_places.h"
#include "cuda_source/cuda_headers.h"
#include "cuda_source/device_view.h"
#include "cuda_source/include_scan.h"
#include "cuda_source/stub_headers.h"
#include "process/sandbox.h"

enum {
    NVRTC_OUT_OF_MEMORY = 1,
    NVRTC_INVALID_OPTION = 5,
    NVRTC_BUILTINS_MISSING = 7, /* NVRTC cannot load a library of its own */
    NO_MEMORY_FOR_CODE = -1,    /* no error of NVRTC */
    NO_CODE = -2,               /* NVRTC reports success without a result, as for some names of kernels */
    OPTIONS_MAX = 160,
    STUB_PARTS_MAX = 16,
    NOTE_BYTES = 512,
    ARCHITECTURES_MAX = 64
};

/* One child's work. */
typedef struct nvrtc_work {
    const lab_cuda_job *job;
    rungi_nvrtc nvrtc;
    char library_folder[4096];
    lab_compile_places places;
    lab_cuda_headers headers;
    const char *cuda_folders[LAB_CUDA_HEADER_FOLDERS_MAX + 1];
    const char **header_names, **header_texts;
    int header_count;
    lab_include_list includes;
    const char *options[OPTIONS_MAX];
    char option_texts[OPTIONS_MAX][4200];
    int option_count;
    char *notes; /* about headers that were not found */
} nvrtc_work_t;

/* ---- Preparation ---- */

/* Compiles an empty file, so that NVRTC opens its other files before they are out of reach. */
static void warm_up(const rungi_nvrtc *nvrtc)
{
    rungi_nvrtc_program *program = NULL;
    if (nvrtc->create(&program, "", "empty.cu", 0, NULL, NULL) != 0)
        return;
    nvrtc->compile(program, 0, NULL);
    nvrtc->destroy(&program);
}

static bool load_compiler(nvrtc_work_t *work)
{
    if (!rungi_nvrtc_load(&work->nvrtc, RUNGI_NVRTC_ANY_DRIVER, work->job->architecture))
        return false;
    rungi_library_path(&work->nvrtc.create, work->library_folder, sizeof work->library_folder);
    char *slash = strrchr(work->library_folder, '/');
    if (slash)
        *slash = '\0';
    warm_up(&work->nvrtc);
    return true;
}

/* Returns whether NVRTC compiles for the job's architecture. Writes those that it knows otherwise. */
static bool knows_architecture(const nvrtc_work_t *work, char *why, size_t capacity)
{
    int known[ARCHITECTURES_MAX], count = 0, wanted = work->job->architecture;
    if (work->nvrtc.architecture_count(&count) != 0 || count < 1 || count > ARCHITECTURES_MAX ||
        work->nvrtc.architectures(known) != 0)
        return true; /* the compiler will tell */
    for (int i = 0; i < count; i++)
        if (known[i] == wanted)
            return true;
    lab_set_reason(why, capacity, "NVRTC %d.%d does not compile for sm_%d; it compiles for", work->nvrtc.major,
                   work->nvrtc.minor, wanted);
    for (int i = 0; i < count; i++)
        lab_append(why, capacity, "%s sm_%d", i > 0 ? "," : "", known[i]);
    return false;
}

/* From here on the process reads the user's folders, NVIDIA's headers and NVRTC's own files. */
static bool restrict_files(const nvrtc_work_t *work)
{
    const char *readable[LAB_COMPILE_FOLDERS_MAX + LAB_CUDA_HEADER_FOLDERS_MAX + 8];
    static const char *const writable[] = {NULL};
    int count = 0;
    for (const char *const *folder = work->places.user; *folder; folder++)
        readable[count++] = *folder;
    for (int i = 0; i < work->headers.count; i++)
        readable[count++] = work->headers.folders[i];
    readable[count++] = work->library_folder;
    readable[count] = NULL;
    return lab_sandbox_restrict_files(readable, writable);
}

static void add_note(nvrtc_work_t *work, const char *note)
{
    size_t before = work->notes ? strlen(work->notes) : 0;
    char *longer = realloc(work->notes, before + strlen(note) + 1);
    if (!longer)
        return;
    strcpy(longer + before, note);
    work->notes = longer;
}

static void add_header(nvrtc_work_t *work, const char *name, const char *text)
{
    work->header_names[work->header_count] = name;
    work->header_texts[work->header_count++] = text;
}

static void note_empty_header(nvrtc_work_t *work, const lab_include *include)
{
    char note[NOTE_BYTES], place[64] = "";
    if (include->line > 0)
        snprintf(place, sizeof place, " (line %d)", include->line);
    snprintf(note, sizeof note,
             "note: %.200s%s %s; the compiler continues without it; -I FOLDER names the folder to read\n",
             include->name, place,
             include->kind == LAB_INCLUDE_OUTSIDE ? "is outside of the folders that the compiler may read"
                                                  : "was not found");
    add_note(work, note);
}

/* Returns the text that replaces a header that was not found. Headers of a repository often include these of NVIDIA. */
static const char *text_of_missing(const nvrtc_work_t *work)
{
    return work->headers.count > 0 ? "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <mma.h>\n" : "\n";
}

/* Reports headers without which the file cannot compile. */
static lab_cuda_compile_status check_include(const nvrtc_work_t *work, const lab_include *include, char *why,
                                             size_t capacity)
{
    char hint[256];
    bool is_unknown = include->kind == LAB_INCLUDE_COMPUTED && !lab_sandbox_can_restrict_files();
    if (is_unknown || (include->kind == LAB_INCLUDE_OUTSIDE && *include->name == '/')) {
        lab_set_reason(why, capacity,
                       "%s:%d includes %s; the compiler reads only the folder of the file, folders of -I and NVIDIA's "
                       "headers: remove the line, or name the folder with -I and include the file by its name",
                       work->job->file, include->line, include->name);
        return LAB_CUDA_REJECTED;
    }
    if (include->kind != LAB_INCLUDE_CUDA)
        return LAB_CUDA_COMPILED;
    lab_cuda_headers_install_hint(work->nvrtc.major, work->nvrtc.minor, hint, sizeof hint);
    lab_set_reason(why, capacity, "%s:%d includes %s, a header of CUDA that was not found; to install it: %s",
                   work->job->file, include->line, include->name, hint);
    return LAB_CUDA_NO_HEADERS;
}

static bool has_header(const nvrtc_work_t *work, const char *name)
{
    for (int i = 0; i < work->header_count; i++)
        if (strcmp(work->header_names[i], name) == 0)
            return true;
    return false;
}

static bool is_in_folders(const char *const *folders, const char *name)
{
    char path[2 * 4096];
    for (; *folders; folders++)
        if (snprintf(path, sizeof path, "%s/%s", *folders, name) < (int)sizeof path && access(path, F_OK) == 0)
            return true;
    return false;
}

/* Adds the stubs that the file does not name: NVIDIA's headers and the stubs themselves include some of them. */
static void add_further_stubs(nvrtc_work_t *work)
{
    const char *name;
    for (int i = 0; (name = lab_stub_header_name(i)); i++) {
        const char *text = lab_stub_header_find(name, is_in_folders(work->cuda_folders, name));
        if (text && !has_header(work, name) && !is_in_folders(work->places.user, name))
            add_header(work, name, text);
    }
}

/* Collects the headers that NVRTC receives as text. */
static lab_cuda_compile_status prepare_headers(nvrtc_work_t *work, char *why, size_t capacity)
{
    int stub_count = 0;
    while (lab_stub_header_name(stub_count))
        stub_count++;
    lab_include_places places = {work->places.user, work->cuda_folders};
    lab_include_list list;
    lab_includes_scan(work->job->text, work->job->bytes, &places, &list);
    work->includes = list;
    size_t room = 2 * (size_t)list.count + (size_t)stub_count + STUB_PARTS_MAX;
    work->header_names = calloc(room, sizeof *work->header_names);
    work->header_texts = calloc(room, sizeof *work->header_texts);
    if (list.out_of_memory || !work->header_names || !work->header_texts) {
        lab_set_reason(why, capacity, "no memory for the headers of %s", work->job->file);
        return lab_sandbox_is_memory_exhausted() ? LAB_CUDA_LIMIT : LAB_CUDA_NO_RESOURCES;
    }
    for (int i = 0; i < STUB_PARTS_MAX && lab_stub_part_name(i); i++)
        add_header(work, lab_stub_part_name(i), lab_stub_part_text(i));
    for (int i = 0; i < list.count; i++) {
        const lab_include *include = &list.items[i];
        lab_cuda_compile_status status = check_include(work, include, why, capacity);
        if (status != LAB_CUDA_COMPILED)
            return status;
        if (include->kind == LAB_INCLUDE_STUB) {
            add_header(work, include->name, lab_stub_header_find(include->name, false));
        } else if (include->kind != LAB_INCLUDE_USER && include->kind != LAB_INCLUDE_COMPUTED) {
            add_header(work, include->name, text_of_missing(work));
            note_empty_header(work, include);
        }
    }
    add_further_stubs(work);
    return LAB_CUDA_COMPILED;
}

__attribute__((format(printf, 2, 3))) static void add_option(nvrtc_work_t *work, const char *format, ...)
{
    va_list arguments;
    if (work->option_count >= OPTIONS_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(work->option_texts[work->option_count], sizeof *work->option_texts, format, arguments);
    va_end(arguments);
    work->options[work->option_count] = work->option_texts[work->option_count];
    work->option_count++;
}

static void prepare_options(nvrtc_work_t *work)
{
    const lab_compile_places *places = &work->places;
    int architecture = work->job->architecture;
    if (!places->has_architecture) /* the instructions of sm_90a and later are not in sm_90 */
        add_option(work, "--gpu-architecture=%s_%d%s", work->job->wants_cubin ? "sm" : "compute", architecture,
                   architecture >= 90 ? "a" : "");
    if (!places->has_standard)
        add_option(work, "-std=c++17");
    add_option(work, "-lineinfo");
    add_option(work, "--pre-include=%s", lab_stub_part_name(0));
    add_option(work, "-default-device"); /* functions of the host become device functions, which nothing calls */
    for (int i = 0; i < places->option_count; i++)
        add_option(work, "%s", places->options[i]);
    for (const char *const *folder = places->user; *folder; folder++)
        add_option(work, "-I%s", *folder);
    for (int i = 0; i < work->headers.count; i++)
        add_option(work, "-I%s", work->headers.folders[i]);
}

/* ---- Compilation ---- */

/* Gets a text of NVRTC with a terminating 0. Returns 0, NO_MEMORY_FOR_CODE, or NO_CODE. */
static int get_text(rungi_nvrtc_program *program, int (*size_of)(rungi_nvrtc_program *, size_t *),
                    int (*get)(rungi_nvrtc_program *, char *), char **text, int64_t *bytes)
{
    size_t size = 0;
    *text = NULL;
    *bytes = 0;
    if (size_of(program, &size) != 0 || size == 0)
        return NO_CODE;
    *text = calloc(size + 1, 1);
    if (*text && get(program, *text) == 0) {
        *bytes = (int64_t)size;
        return 0;
    }
    int error = *text ? NO_CODE : NO_MEMORY_FOR_CODE;
    free(*text);
    *text = NULL;
    return error;
}

/* Returns NVRTC's error, NO_MEMORY_FOR_CODE, NO_CODE, or 0. */
static int get_lowered_names(const nvrtc_work_t *work, rungi_nvrtc_program *program, lab_cuda_code *code)
{
    const lab_cuda_job *job = work->job;
    code->lowered = calloc((size_t)job->name_count + 1, sizeof *code->lowered);
    for (int i = 0; code->lowered && i < job->name_count; i++) {
        const char *lowered = NULL;
        int error = work->nvrtc.lowered_name(program, job->names[i], &lowered);
        if (error != 0 || !lowered)
            return error != 0 ? error : NO_CODE;
        code->lowered[i] = strdup(lowered);
        if (!code->lowered[i])
            return NO_MEMORY_FOR_CODE;
        code->name_count = i + 1;
    }
    return code->lowered ? 0 : NO_MEMORY_FOR_CODE;
}

/* Gets the result of a successful compilation. Returns NVRTC's error, NO_MEMORY_FOR_CODE, NO_CODE, or 0. */
static int get_code(const nvrtc_work_t *work, rungi_nvrtc_program *program, lab_cuda_code *code)
{
    const rungi_nvrtc *nvrtc = &work->nvrtc;
    char *cubin = NULL;
    int error = get_text(program, nvrtc->ptx_size, nvrtc->ptx, &code->ptx, &code->ptx_bytes);
    if (error == 0 && work->job->wants_cubin)
        error = get_text(program, nvrtc->cubin_size, nvrtc->cubin, &cubin, &code->cubin_bytes);
    code->cubin = cubin;
    if (error != 0)
        return error;
    code->ptx_bytes = (int64_t)strlen(code->ptx);
    return get_lowered_names(work, program, code);
}

/* Compiles one text. Returns NVRTC's error, NO_MEMORY_FOR_CODE, NO_CODE, or 0. */
static int compile_text(const nvrtc_work_t *work, const char *text, lab_cuda_code *code)
{
    const rungi_nvrtc *nvrtc = &work->nvrtc;
    rungi_nvrtc_program *program = NULL;
    int64_t bytes;
    int error = nvrtc->create(&program, text, work->job->file, work->header_count, work->header_texts,
                              work->header_names);
    for (int i = 0; i < work->job->name_count && error == 0; i++)
        error = nvrtc->add_name(program, work->job->names[i]);
    if (error == 0)
        error = nvrtc->compile(program, work->option_count, work->options);
    if (program)
        get_text(program, nvrtc->log_size, nvrtc->log, &code->log, &bytes);
    if (error == 0)
        error = get_code(work, program, code);
    if (program)
        nvrtc->destroy(&program);
    return error;
}

/* Returns the device view of a file, or NULL. */
static char *view_file(const char *path, bool keeps_helpers)
{
    struct stat info;
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    size_t size = fstat(fileno(file), &info) == 0 && info.st_size > 0 ? (size_t)info.st_size : 0;
    char *text = malloc(size + 1);
    size_t bytes = text ? fread(text, 1, size, file) : 0;
    fclose(file);
    return text ? lab_device_view(text, bytes, keeps_helpers) : NULL;
}

/* Replaces the headers of the user by their device views: those below the folder of the file, or all. Libraries in folders
 * of -I usually compile for the device as they are. */
static void add_header_views(nvrtc_work_t *work, bool keeps_helpers)
{
    char folder[PATH_MAX];
    size_t length = realpath(work->places.file_folder, folder) ? strlen(folder) : 0;
    for (int i = 0; i < work->includes.count; i++) {
        const lab_include *include = &work->includes.items[i];
        bool is_wanted = include->path && (!keeps_helpers || strncmp(include->path, folder, length) == 0);
        char *view = is_wanted ? view_file(include->path, keeps_helpers) : NULL;
        if (view)
            add_header(work, include->name, view);
    }
}

/* Returns the text of an attempt; NULL if memory is exhausted. */
static char *text_of(const lab_cuda_job *job, lab_cuda_way way)
{
    if (way != LAB_CUDA_WHOLE)
        return lab_device_view(job->text, job->bytes, way == LAB_CUDA_HELPERS);
    char *text = malloc(job->bytes + 1);
    if (!text)
        return NULL;
    memcpy(text, job->text, job->bytes);
    text[job->bytes] = '\0';
    return text;
}

/* Compiles in each way until one succeeds. Of failures, the last log has the fewest messages about host code. */
static int compile_in_turn(nvrtc_work_t *work, lab_cuda_code *code)
{
    const int header_count = work->header_count;
    int error = NO_MEMORY_FOR_CODE;
    for (int way = LAB_CUDA_WHOLE; way <= LAB_CUDA_DEVICE_ONLY; way++) {
        char *text = text_of(work->job, (lab_cuda_way)way);
        if (!text)
            continue;
        code->way = (lab_cuda_way)way;
        work->header_count = header_count;
        if (way != LAB_CUDA_WHOLE)
            add_header_views(work, way == LAB_CUDA_HELPERS);
        error = compile_text(work, text, code);
        if (error == 0 || error == NVRTC_INVALID_OPTION || error == NVRTC_OUT_OF_MEMORY ||
            error == NVRTC_BUILTINS_MISSING || lab_sandbox_is_memory_exhausted())
            return error;
    }
    return error;
}

/* Puts the notes after the compiler's log, which begins with the error. */
static void add_notes(const nvrtc_work_t *work, lab_cuda_code *code)
{
    const char *notes = work->notes ? work->notes : "", *log = code->log ? code->log : "";
    char *both = malloc(strlen(notes) + strlen(log) + 2);
    if (both)
        sprintf(both, "%s%s%s", log, *log && log[strlen(log) - 1] != '\n' ? "\n" : "", notes);
    code->log = both;
}

static lab_cuda_compile_status describe(const nvrtc_work_t *work, int error, const lab_cuda_code *code, char *why,
                                        size_t capacity)
{
    const char *file = work->job->file, *log = code->log ? code->log : "";
    if (error == 0)
        return LAB_CUDA_COMPILED;
    if (error == NVRTC_OUT_OF_MEMORY || lab_sandbox_is_memory_exhausted()) {
        lab_set_reason(why, capacity,
                       "the compiler needs more memory for %s than its limit; look for macros or templates "
                       "that expand without end",
                       file);
        return LAB_CUDA_LIMIT;
    }
    if (error == NO_MEMORY_FOR_CODE) {
        lab_set_reason(why, capacity, "no memory for the compiled code of %s", file);
        return LAB_CUDA_NO_RESOURCES;
    }
    if (error == NVRTC_BUILTINS_MISSING) {
        lab_set_reason(why, capacity, "NVRTC %d.%d does not work (%.*s); to install it again: %s", work->nvrtc.major,
                       work->nvrtc.minor, (int)strcspn(log, "\n"), log, rungi_nvrtc_install_hint());
        return LAB_CUDA_NO_COMPILER;
    }
    if (error == NVRTC_INVALID_OPTION) {
        lab_set_reason(why, capacity, "NVRTC %d.%d rejects an option: %.300s", work->nvrtc.major, work->nvrtc.minor,
                       log);
        return LAB_CUDA_FAILED;
    }
    lab_set_reason(why, capacity, "%s did not compile with NVRTC %d.%d", file, work->nvrtc.major, work->nvrtc.minor);
    return LAB_CUDA_REJECTED;
}

lab_cuda_compile_status lab_nvrtc_child_compile(const lab_cuda_job *job, lab_cuda_code *code, char *why,
                                                size_t capacity)
{
    static nvrtc_work_t work;
    work.job = job;
    if (!lab_compile_places_read(job, &work.places, why, capacity))
        return LAB_CUDA_FAILED;
    if (!load_compiler(&work)) {
        lab_set_reason(
            why, capacity,
            "NVRTC, NVIDIA's compiler, was not found; to install it: %s; neither a GPU nor a driver is needed",
            rungi_nvrtc_install_hint());
        return LAB_CUDA_NO_COMPILER;
    }
    code->version_major = work.nvrtc.major;
    code->version_minor = work.nvrtc.minor;
    if (!work.places.has_architecture && !knows_architecture(&work, why, capacity))
        return LAB_CUDA_FAILED;
    lab_cuda_headers_find(work.nvrtc.major, &work.headers);
    for (int i = 0; i < work.headers.count; i++)
        work.cuda_folders[i] = work.headers.folders[i];
    restrict_files(&work); /* without Landlock the scan of the #include lines alone protects other files */
    if (job->is_untrusted)
        lab_sandbox_forbid_effects();
    lab_cuda_compile_status status = prepare_headers(&work, why, capacity);
    if (status != LAB_CUDA_COMPILED)
        return status;
    prepare_options(&work);
    status = describe(&work, compile_in_turn(&work, code), code, why, capacity);
    add_notes(&work, code);
    return status;
}
