/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_samples.h - stub of the helper headers of NVIDIA's CUDA samples. */
#pragma once

#include "rung_stubs/cpp_library.h"
#include "rung_stubs/cuda_host.h"

#define checkCudaErrors(...) ((void)(__VA_ARGS__))
#define getLastCudaError(message) ((void)(message))
#define printLastCudaError(message) ((void)(message))
#define DEVICE_RESET
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#define EXIT_WAIVED 2

struct StopWatchInterface;
RUNG_STUB_0(int, findCudaDevice)
RUNG_STUB_0(int, gpuDeviceInit)
RUNG_STUB_0(int, gpuGetMaxGflopsDeviceId)
RUNG_STUB_0(int, findIntegratedGPU)
RUNG_STUB_0(int, _ConvertSMVer2Cores)
RUNG_STUB_0(int, _ConvertSMVer2ArchName)
RUNG_STUB_0(int, checkCudaCapabilities)
RUNG_STUB_0(int, checkCmdLineFlag)
RUNG_STUB_0(int, getCmdLineArgumentInt)
RUNG_STUB_0(float, getCmdLineArgumentFloat)
RUNG_STUB_0(int, getCmdLineArgumentString)
RUNG_STUB_0(char *, sdkFindFilePath)
RUNG_STUB_0(int, sdkCreateTimer)
RUNG_STUB_0(int, sdkDeleteTimer)
RUNG_STUB_0(int, sdkStartTimer)
RUNG_STUB_0(int, sdkStopTimer)
RUNG_STUB_0(int, sdkResetTimer)
RUNG_STUB_0(float, sdkGetTimerValue)
RUNG_STUB_0(float, sdkGetAverageTimerValue)
RUNG_STUB_0(int, sdkCompareL2fe)
RUNG_STUB_0(int, compareData)
RUNG_STUB_0(int, sdkLoadPGM)
RUNG_STUB_0(int, sdkSavePGM)
RUNG_STUB_0(int, sdkDumpBin)
RUNG_STUB_0(int, sdkReadFile)
RUNG_STUB_0(int, sdkWriteFile)
RUNG_STUB_0(int, sdkCompareBin2BinFloat)
RUNG_STUB_0(const char *, _cudaGetErrorEnum)
