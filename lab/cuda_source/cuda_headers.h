/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_headers.h - finds NVIDIA's header files, which are not part of NVRTC. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { LAB_CUDA_HEADER_FOLDERS_MAX = 8, LAB_CUDA_FOLDER_BYTES = 4096 };

typedef struct lab_cuda_headers {
    char folders[LAB_CUDA_HEADER_FOLDERS_MAX][LAB_CUDA_FOLDER_BYTES];
    int count;
} lab_cuda_headers;

/* Finds the folders of the headers for an NVRTC of this major version: those of the toolkit, or of the packages of pip. */
void lab_cuda_headers_find(int major, lab_cuda_headers *headers);

/* Returns whether a name in an #include line is one of NVIDIA's headers for device code. */
bool lab_cuda_header_is_known(const char *name);

/* Writes the command that installs the headers for this version of NVRTC. */
void lab_cuda_headers_install_hint(int major, int minor, char *text, size_t capacity);

/* Writes the folders of NVIDIA's headers for the NVRTC that compiles, separated by ", " ("" if they were not found), and the command
 * that installs them. */
void lab_cuda_headers_describe(char *folders, size_t capacity, char *install, size_t install_capacity);
