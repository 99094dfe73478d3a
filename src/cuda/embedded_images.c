/* SPDX-License-Identifier: Apache-2.0 */
/* embedded_images.c - embeds the images that make_images wrote. Builds without NVRTC use no_embedded_images.c
 * instead. */
#include "cuda/embedded_images.h"

/* The assembler includes the file directly. Compiling an array of that size would take minutes. */
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
