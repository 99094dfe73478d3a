/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_headers.c - see cuda_headers.h.
 *
 * The packages of pip split the headers: nvidia-cuda-runtime has most of them, nvidia-cuda-nvcc (since CUDA 13
 * nvidia-cuda-crt) those in crt/, and nvidia-cuda-cccl cuda/, cub/ and nv/. */
#include "cuda_source/cuda_headers.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cuda_folders.h"
#include "base/nvrtc_library.h"
#include "base/python_package.h"

/* The architecture for which NVRTC is loaded to choose the headers, and the version that is assumed without NVRTC. */
enum { USUAL_ARCHITECTURE = 86, USUAL_MAJOR = 12, USUAL_MINOR = 9 };

/* Files that show that a folder contains one part of the headers. */
enum { MAIN_PART, PART_COUNT = 3 };
static const char *const part_files[PART_COUNT] = {"cuda_fp16.h", "crt/host_defines.h", "nv/target"};

/* Returns the major version of the CUDA runtime's headers in a folder; 0 if they are not there. */
static int read_major(const char *folder)
{
    static const char word[] = "#define CUDART_VERSION";
    char path[LAB_CUDA_FOLDER_BYTES + 64], line[512];
    int version = 0;
    snprintf(path, sizeof path, "%s/cuda_runtime_api.h", folder);
    FILE *file = fopen(path, "re");
    while (file && version == 0 && fgets(line, sizeof line, file))
        if (strncmp(line, word, sizeof word - 1) == 0)
            version = (int)strtol(line + sizeof word - 1, NULL, 10);
    if (file)
        fclose(file);
    return version / 1000;
}

static bool has_part(const char *folder, int part)
{
    char path[LAB_CUDA_FOLDER_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", folder, part_files[part]);
    return access(path, R_OK) == 0;
}

static void add_folder(lab_cuda_headers *headers, const char *folder)
{
    for (int i = 0; i < headers->count; i++)
        if (strcmp(headers->folders[i], folder) == 0)
            return;
    if (headers->count < LAB_CUDA_HEADER_FOLDERS_MAX && strlen(folder) < LAB_CUDA_FOLDER_BYTES)
        strcpy(headers->folders[headers->count++], folder);
}

/* Takes the first folder of each part from the matches of one place. Packages of two versions of CUDA can be side by side:
 * "cu13" contains those of 13, and the packages of 12 have a folder each. */
static void take_parts(const glob_t *found, int major, lab_cuda_headers *headers)
{
    bool has[PART_COUNT] = {false};
    for (int part = 0; part < PART_COUNT; part++)
        for (size_t i = 0; i < found->gl_pathc && !has[part]; i++) {
            const char *folder = found->gl_pathv[i];
            int folder_major = read_major(folder);
            has[part] = has_part(folder, part) &&
                        (folder_major == major || (folder_major == 0 && part != MAIN_PART && headers->count > 0));
            if (has[part])
                add_folder(headers, folder);
        }
}

/* Toolkits since CUDA 13 have cuda/, cub/ and nv/ in a folder of their own. */
static void add_cccl_of_toolkit(lab_cuda_headers *headers)
{
    char folder[LAB_CUDA_FOLDER_BYTES + 8];
    for (int i = headers->count - 1; i >= 0; i--) {
        snprintf(folder, sizeof folder, "%s/cccl", headers->folders[i]);
        if (has_part(folder, PART_COUNT - 1))
            add_folder(headers, folder);
    }
}

void lab_cuda_headers_find(int major, lab_cuda_headers *headers)
{
    char pattern[4000];
    headers->count = 0;
    for (size_t i = 0; headers->count == 0 && rungi_cuda_folder_pattern(i, RUNGI_CUDA_HEADERS, pattern, sizeof pattern);
         i++) {
        glob_t found;
        if (!*pattern || glob(pattern, 0, NULL, &found) != 0)
            continue;
        take_parts(&found, major, headers);
        globfree(&found);
    }
    add_cccl_of_toolkit(headers);
}

void lab_cuda_headers_describe(char *folders, size_t capacity, char *install, size_t install_capacity)
{
    static lab_cuda_headers headers;
    rungi_nvrtc nvrtc = {0};
    size_t length = 0;
    if (!rungi_nvrtc_load(&nvrtc, RUNGI_NVRTC_ANY_DRIVER, USUAL_ARCHITECTURE)) {
        nvrtc.major = USUAL_MAJOR;
        nvrtc.minor = USUAL_MINOR;
    }
    lab_cuda_headers_find(nvrtc.major, &headers);
    lab_cuda_headers_install_hint(nvrtc.major, nvrtc.minor, install, install_capacity);
    if (capacity > 0)
        *folders = '\0';
    for (int i = 0; i < headers.count && length < capacity; i++)
        length += (size_t)snprintf(folders + length, capacity - length, "%s%s", i > 0 ? ", " : "", headers.folders[i]);
}

bool lab_cuda_header_is_known(const char *name)
{
    static const char *const known[] = {
#define CUDA_HEADER(beginning) beginning,
#include "cuda_source/cuda_headers.def"
#undef CUDA_HEADER
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(name, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

void lab_cuda_headers_install_hint(int major, int minor, char *text, size_t capacity)
{
    const char *extra = rungi_lab_install_hint(NULL);
    if (extra && major == USUAL_MAJOR)
        snprintf(text, capacity, "%s", extra);
    else if (major >= 13)
        snprintf(text, capacity,
                 "pip install 'nvidia-cuda-runtime==%d.%d.*' 'nvidia-cuda-crt==%d.%d.*' 'nvidia-cuda-cccl==%d.%d.*'",
                 major, minor, major, minor, major, minor);
    else
        snprintf(text, capacity,
                 "pip install 'nvidia-cuda-runtime-cu%d==%d.%d.*' 'nvidia-cuda-nvcc-cu%d==%d.%d.*' "
                 "'nvidia-cuda-cccl-cu%d==%d.%d.*'",
                 major, major, minor, major, major, minor, major, major, minor);
}
