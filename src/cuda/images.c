/* SPDX-License-Identifier: Apache-2.0 */
/* images.c - the images themselves, as make_images left them in a folder; where
 * the build had no NVRTC no_images.c takes its place. */
#include "cuda/images.h"

/* The assembler takes a file as it is; a compiler would need minutes for so many numbers. */
__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        ".globl rungi_cuda_image_data\n"
        ".hidden rungi_cuda_image_data\n"
        ".type rungi_cuda_image_data, %object\n"
        "rungi_cuda_image_data:\n"
        ".incbin \"" RUNG_IMAGES_FOLDER "/images.bin\"\n"
        ".byte 0\n"
        ".size rungi_cuda_image_data, . - rungi_cuda_image_data\n"
        ".popsection\n");

const rungi_cuda_image rungi_cuda_images[] = {
#define IMAGE(name, architecture, is_ptx, offset, packed, bytes) {name, architecture, is_ptx, offset, packed, bytes},
#include "images.inc"
#undef IMAGE
    {0},
};
