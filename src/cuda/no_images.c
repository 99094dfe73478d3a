/* SPDX-License-Identifier: Apache-2.0 */
/* no_images.c - in the place of images.c for programs that have the library's objects and
 * carry no compiled kernels: the one that makes them, and tests. */
#include "cuda/images.h"

const unsigned char rungi_cuda_image_data[] = {0};
const rungi_cuda_image rungi_cuda_images[] = {{0}};
