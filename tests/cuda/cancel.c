/* SPDX-License-Identifier: Apache-2.0 */
/* cancel.c - tests/unit/cancel.c on the CUDA device. */
#define CANCEL_DEVICE "cuda"
#include "../unit/cancel.c"
