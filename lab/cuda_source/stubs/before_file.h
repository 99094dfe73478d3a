/* SPDX-License-Identifier: Apache-2.0 */
/* before_file.h - what NVRTC reads before every file. nvcc does the same: it includes cuda_runtime.h, and with it parts of the
 * C++ library, before the first line. */
#pragma once

#undef __host__ /* NVRTC rejects functions of the host; they become device functions, which no kernel calls */
#define __host__
#define register /* C++17 has no such word; nvcc only warns */

#include "rung_stubs/cuda_host.h"
