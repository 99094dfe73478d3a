/* SPDX-License-Identifier: Apache-2.0 */
/* cancel.c - tests/core/cancel.c on the CUDA device. */
#define CANCEL_DEVICE "cuda"
#include "core/cancel.c"
