/* SPDX-License-Identifier: Apache-2.0 */
/* no_embedded_images.c - replaces embedded_images.c in programs without embedded kernels: make_images, tests, and
 * builds without NVRTC. */
#include "cuda/embedded_images.h"

const unsigned char rungi_cuda_image_data[] = {0};
const rungi_cuda_image rungi_cuda_images[] = {{0}};
