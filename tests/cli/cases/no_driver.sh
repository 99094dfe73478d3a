# SPDX-License-Identifier: Apache-2.0
# An OpenCL loader without a driver: told, with what to do, and nothing fails that
# need not. Without the OpenCL device there is nothing to try.
rung kernels --device opencl > /dev/null 2>&1 || exit 77
export OCL_ICD_VENDORS=/nonexistent OPENCL_VENDOR_PATH=/nonexistent
rung devices --json | jq -c '.devices[] | select(.backend == "opencl") | [.name, .present, .missing]'
rung devices > /dev/null; echo "devices: exit $?"
try rung verify --device opencl
try rung verify --device cpu --m 2 | tail -n 1
