/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - what a compiled kernel says of itself: a cubin's ELF tables or a PTX's text.
 *
 * Nothing here needs a driver or OpenCL, so that tests of the images in the library can
 * read them too. The bytes are not trusted: every offset is checked before it is read. */
#ifndef EMULATED_IMAGE_H
#define EMULATED_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IMAGE_NAME = 128, IMAGE_TEXT = 2048, IMAGE_PARAMETERS = 64, IMAGE_FUNCTIONS = 16 };

typedef struct image_function {
    char name[IMAGE_NAME];
    int registers;   /* a thread; 0 if not known, as in PTX */
    int shared;      /* bytes a block, without what the system keeps for itself */
    int frame;       /* bytes of stack a thread */
    int max_threads; /* a block */
    int parameter_count;
    int parameter_bytes[IMAGE_PARAMETERS];
} image_function_t;

typedef struct image {
    bool is_ptx;
    int architecture;       /* 86 for sm_86 */
    bool only_architecture; /* sm_90a, which runs on no other */
    int ptx_version;        /* 88 for 8.8; 0 in a cubin */
    char text[IMAGE_TEXT];  /* rung_image: file and defines; "" without one */
    int function_count;
    image_function_t functions[IMAGE_FUNCTIONS];
} image_t;

typedef enum image_result { IMAGE_OK, IMAGE_DAMAGED, IMAGE_BAD_PTX } image_result_t;

/* Reads an image of so many bytes. PTX ends with them or at a zero byte. */
image_result_t image_parse(const void *bytes, size_t size, image_t *image);

/* Whether these first bytes, at least four, begin an ELF file. */
bool image_is_elf(const void *bytes);

/* What the header of an ELF file, IMAGE_HEADER bytes, says of its whole size. */
enum { IMAGE_HEADER = 64 };
uint64_t image_elf_size(const void *header);

const image_function_t *image_find(const image_t *image, const char *name);

/* The PTX half of image_parse, in image_ptx.c. `text` ends with a zero byte. */
image_result_t image_parse_ptx(const char *text, image_t *image);

#endif /* EMULATED_IMAGE_H */
