/* SPDX-License-Identifier: Apache-2.0 */
/* test_images.h - how test programs get images: from make_image, a process of its own. */
#ifndef TEST_IMAGES_H
#define TEST_IMAGES_H

#include <stdio.h>
#include <sys/wait.h>

#include "support/unit.h"

typedef struct made_image {
    char *bytes; /* with a zero byte behind them */
    size_t size;
} made_image_t;

enum { MADE_IMAGE_LARGEST = 1 << 20 };

/* Runs make_image, whose compiler would load the emulated driver if it were on its path. Its exit code is returned, 0 with an image that is the caller's to free. */
static inline int run_make_image(const char *file, const char *defines, const char *target, made_image_t *image)
{
    char command[2048];
    snprintf(command, sizeof command, "env -u LD_LIBRARY_PATH '%s' '%s' '%s' '%s' '%s'", TEST_MAKE_IMAGE, TEST_NVRTC,
             file, defines, target);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    image->bytes = calloc(1, MADE_IMAGE_LARGEST);
    assert_non_null(image->bytes);
    image->size = fread(image->bytes, 1, MADE_IMAGE_LARGEST - 1, pipe);
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* A cubin for "sm_86" or a PTX for "compute_86" of a kernel file with "-DNAME=VALUE ...". */
static inline made_image_t make_image(const char *file, const char *defines, const char *target)
{
    made_image_t image;
    assert_int_equal(run_make_image(file, defines, target, &image), 0);
    return image;
}

/* Whether the compiler is here; says so if not. */
static inline bool images_can_be_made(void)
{
    made_image_t image;
    int code = run_make_image("01_naive.cu", "", "compute_60", &image);
    free(image.bytes);
    if (code != 0)
        puts("NVRTC is not here; see tools/install-test-tools");
    return code == 0;
}

#endif /* TEST_IMAGES_H */
