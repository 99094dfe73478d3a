/* SPDX-License-Identifier: Apache-2.0 */
/* driver_copies.c - copies and fills of memory, in one, two and three dimensions. */
#include <stdint.h>

#include "emulator/driver/driver.h"

/* ---- Checks ------------------------------------------------------------------------------------- */

/* A range of device memory must be inside of one allocation. Variables of modules are checked when the work runs. */
static bool range_is_valid(CUdeviceptr address, size_t bytes)
{
    driver_memory_t *memory = memory_containing(NULL, address);
    if (!memory)
        memory = memory_of_host(address);
    return memory ? bytes <= memory->bytes - (address - memory->address) : gpu_is_address(address);
}

/* Returns the bytes from the first to the last of one side, or SIZE_MAX if they overflow. */
static size_t extent_of(const copy_side_t *side, const driver_copy_t *copy)
{
    size_t rows, slices, sum;
    if (__builtin_mul_overflow(copy->height - 1, side->pitch, &rows) ||
        __builtin_mul_overflow(copy->depth - 1, side->slice, &slices) || __builtin_add_overflow(rows, slices, &sum) ||
        __builtin_add_overflow(sum, copy->width, &sum))
        return SIZE_MAX;
    return sum;
}

static bool side_is_valid(const copy_side_t *side, const driver_copy_t *copy)
{
    if (!side->address || (copy->height > 1 && side->pitch < copy->width))
        return false;
    return !side->is_device || range_is_valid(side->address, extent_of(side, copy));
}

/* Rows without gaps are one row. */
static void merge_rows(driver_copy_t *copy)
{
    size_t slice = copy->width * copy->height;
    if (copy->to.pitch == copy->width && copy->from.pitch == copy->width && copy->depth == 1) {
        copy->width = slice;
        copy->height = 1;
    }
}

CUresult copy_work(const driver_copy_t *copy, driver_work_t **out)
{
    if (extent_of(&copy->to, copy) == SIZE_MAX || extent_of(&copy->from, copy) == SIZE_MAX ||
        !side_is_valid(&copy->to, copy) || !side_is_valid(&copy->from, copy))
        return CUDA_ERROR_INVALID_VALUE;
    driver_work_t *work = work_new(COPY);
    if (!work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    work->copy = *copy;
    merge_rows(&work->copy);
    *out = work;
    return CUDA_SUCCESS;
}

CUresult fill_work(const driver_fill_t *fill, driver_work_t **out)
{
    size_t row, rows, bytes;
    if (fill->element != 1 && fill->element != 2 && fill->element != 4)
        return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(fill->width, (size_t)fill->element, &row) ||
        __builtin_mul_overflow(fill->height - 1, fill->pitch, &rows) || __builtin_add_overflow(rows, row, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    bool is_valid = gpu_is_address(fill->address) && fill->address % fill->element == 0 &&
                    (fill->height == 1 || fill->pitch >= row) && range_is_valid(fill->address, bytes);
    if (!is_valid)
        return CUDA_ERROR_INVALID_VALUE;
    driver_work_t *work = work_new(FILL);
    if (!work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    work->fill = *fill;
    *out = work;
    return CUDA_SUCCESS;
}

/* ---- Submitting ----------------------------------------------------------------------------------- */

/* Submits a copy or a fill; the other one is NULL. Waits for it if `is_async` is false. */
static CUresult submit(const char *symbol, const driver_copy_t *copy, const driver_fill_t *fill, CUstream handle,
                       bool is_async)
{
    driver_call_t here;
    CUstream stream = NULL;
    driver_work_t *work = NULL;
    CUresult result = call_begin(&here, symbol, NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !is_async)
        result = capture_forbid();
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    bool is_empty = copy ? copy->width == 0 || copy->height == 0 || copy->depth == 0
                         : fill->width == 0 || fill->height == 0;
    if (result == CUDA_SUCCESS && !is_empty)
        result = copy ? copy_work(copy, &work) : fill_work(fill, &work);
    if (work)
        result = work_submit(stream, work);
    if (result == CUDA_SUCCESS && !is_async)
        result = stream_finish(&here, stream);
    return call_end(&here, result);
}

/* Memory that the caller says is on the device must be there; the other kind may be. */
static copy_side_t side_of(CUdeviceptr address, bool must_be_device)
{
    return (copy_side_t){.address = must_be_device && !gpu_is_address(address) ? 0 : address,
                         .is_device = gpu_is_address(address)};
}

static CUresult copy_bytes(const char *symbol, CUdeviceptr to, bool to_device, CUdeviceptr from, bool from_device,
                           size_t bytes, CUstream stream, bool is_async)
{
    driver_copy_t copy = {
        .to = side_of(to, to_device), .from = side_of(from, from_device), .width = bytes, .height = 1, .depth = 1};
    return submit(symbol, &copy, NULL, stream, is_async);
}

static CUdeviceptr of_host(const void *address)
{
    return (CUdeviceptr)(uintptr_t)address;
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return copy_bytes("cuMemcpyHtoDAsync_v2", to, true, of_host(from), false, bytes, stream, true);
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_bytes("cuMemcpyDtoHAsync_v2", of_host(to), false, from, true, bytes, stream, true);
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_bytes("cuMemcpyDtoDAsync_v2", to, true, from, true, bytes, stream, true);
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_bytes("cuMemcpyAsync", to, false, from, false, bytes, stream, true);
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    return copy_bytes("cuMemcpyHtoD_v2", to, true, of_host(from), false, bytes, NULL, false);
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    return copy_bytes("cuMemcpyDtoH_v2", of_host(to), false, from, true, bytes, NULL, false);
}

CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_bytes("cuMemcpyDtoD_v2", to, true, from, true, bytes, NULL, false);
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_bytes("cuMemcpy", to, false, from, false, bytes, NULL, false);
}

/* One emulator has the memory of all devices. */
CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                              size_t bytes)
{
    (void)to_context, (void)from_context;
    return copy_bytes("cuMemcpyPeer", to, true, from, true, bytes, NULL, false);
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                   size_t bytes, CUstream stream)
{
    (void)to_context, (void)from_context;
    return copy_bytes("cuMemcpyPeerAsync", to, true, from, true, bytes, stream, true);
}

/* ---- Two and three dimensions ---------------------------------------------------------------------- */

/* Fills one side; false if the memory is an array. */
static bool describe_side(CUmemorytype type, const void *host, CUdeviceptr device, size_t pitch, size_t rows, size_t x,
                          size_t y, size_t z, copy_side_t *side)
{
    if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED)
        return false;
    CUdeviceptr base = type == CU_MEMORYTYPE_HOST ? of_host(host) : device;
    *side = side_of(base, type == CU_MEMORYTYPE_DEVICE);
    side->pitch = pitch;
    side->slice = pitch * rows;
    if (side->address)
        side->address += z * side->slice + y * pitch + x;
    return true;
}

static CUresult describe_3d(const CUDA_MEMCPY3D *given, driver_copy_t *copy)
{
    *copy = (driver_copy_t){.width = given->WidthInBytes, .height = given->Height, .depth = given->Depth};
    bool is_linear = describe_side(given->srcMemoryType, given->srcHost, given->srcDevice,
                                   given->srcPitch ? given->srcPitch : given->WidthInBytes,
                                   given->srcHeight ? given->srcHeight : given->Height, given->srcXInBytes, given->srcY,
                                   given->srcZ, &copy->from) &&
                     describe_side(given->dstMemoryType, given->dstHost, given->dstDevice,
                                   given->dstPitch ? given->dstPitch : given->WidthInBytes,
                                   given->dstHeight ? given->dstHeight : given->Height, given->dstXInBytes, given->dstY,
                                   given->dstZ, &copy->to);
    return is_linear ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED; /* arrays belong to textures */
}

CUresult copy_work_3d(const CUDA_MEMCPY3D *given, driver_work_t **out)
{
    driver_copy_t copy;
    CUresult result = describe_3d(given, &copy);
    return result == CUDA_SUCCESS ? copy_work(&copy, out) : result;
}

static CUresult copy_3d(const char *symbol, const CUDA_MEMCPY3D *given, CUstream stream, bool is_async)
{
    driver_copy_t copy;
    if (!given)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = describe_3d(given, &copy);
    return result == CUDA_SUCCESS ? submit(symbol, &copy, NULL, stream, is_async) : result;
}

static CUresult copy_2d(const char *symbol, const CUDA_MEMCPY2D *given, CUstream stream, bool is_async)
{
    if (!given)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY3D copy = {.srcXInBytes = given->srcXInBytes,
                                .srcY = given->srcY,
                                .srcMemoryType = given->srcMemoryType,
                                .srcHost = given->srcHost,
                                .srcDevice = given->srcDevice,
                                .srcPitch = given->srcPitch,
                                .dstXInBytes = given->dstXInBytes,
                                .dstY = given->dstY,
                                .dstMemoryType = given->dstMemoryType,
                                .dstHost = given->dstHost,
                                .dstDevice = given->dstDevice,
                                .dstPitch = given->dstPitch,
                                .WidthInBytes = given->WidthInBytes,
                                .Height = given->Height,
                                .Depth = 1};
    return copy_3d(symbol, &copy, stream, is_async);
}

CUresult CUDAAPI cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
    return copy_2d("cuMemcpy2D_v2", copy, NULL, false);
}

CUresult CUDAAPI cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
    return copy_2d("cuMemcpy2DUnaligned_v2", copy, NULL, false);
}

CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    return copy_2d("cuMemcpy2DAsync_v2", copy, stream, true);
}

CUresult CUDAAPI cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
    return copy_3d("cuMemcpy3D_v2", copy, NULL, false);
}

CUresult CUDAAPI cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    return copy_3d("cuMemcpy3DAsync_v2", copy, stream, true);
}

/* ---- Fills ----------------------------------------------------------------------------------------- */

static CUresult fill_rows(const char *symbol, CUdeviceptr address, size_t pitch, uint32_t value, uint32_t element,
                          size_t width, size_t height, CUstream stream, bool is_async)
{
    driver_fill_t fill = {address, pitch, width, height, value, element};
    return submit(symbol, NULL, &fill, stream, is_async);
}

/* clang-format off */
#define FILL_FUNCTIONS(bits, type)                                                                                      \
    CUresult CUDAAPI cuMemsetD##bits##_v2(CUdeviceptr address, type value, size_t count)                                \
    {                                                                                                                   \
        return fill_rows("cuMemsetD" #bits "_v2", address, 0, value, bits / 8, count, 1, NULL, false);                  \
    }                                                                                                                   \
    CUresult CUDAAPI cuMemsetD##bits##Async(CUdeviceptr address, type value, size_t count, CUstream stream)             \
    {                                                                                                                   \
        return fill_rows("cuMemsetD" #bits "Async", address, 0, value, bits / 8, count, 1, stream, true);               \
    }                                                                                                                   \
    CUresult CUDAAPI cuMemsetD2D##bits##_v2(CUdeviceptr address, size_t pitch, type value, size_t width, size_t height) \
    {                                                                                                                   \
        return fill_rows("cuMemsetD2D" #bits "_v2", address, pitch, value, bits / 8, width, height, NULL, false);       \
    }                                                                                                                   \
    CUresult CUDAAPI cuMemsetD2D##bits##Async(CUdeviceptr address, size_t pitch, type value, size_t width,              \
                                              size_t height, CUstream stream)                                           \
    {                                                                                                                   \
        return fill_rows("cuMemsetD2D" #bits "Async", address, pitch, value, bits / 8, width, height, stream, true);    \
    }
/* clang-format on */

FILL_FUNCTIONS(8, unsigned char)
FILL_FUNCTIONS(16, unsigned short)
FILL_FUNCTIONS(32, unsigned int)
