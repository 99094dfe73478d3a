# SPDX-License-Identifier: Apache-2.0
"""Spack's description of rung."""

from spack.package import *


class Rung(CMakePackage):
    """Matrix multiplication in C on CPUs, OpenCL devices and NVIDIA GPUs, and a lab that checks CUDA kernels
    without a GPU."""

    homepage = "https://github.com/OWNER/rung"
    url = "https://github.com/OWNER/rung/releases/download/v0.2.0/rung-0.2.0.tar.gz"

    license("Apache-2.0")

    version("0.2.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    variant("shared", default=True, description="Build shared libraries")
    variant("command", default=True, description="Build the rung command")
    variant("opencl", default=True, description="Support OpenCL devices")
    variant("mpi", default=False, description="Multiply on several machines with MPI")

    depends_on("c", type="build")
    depends_on("cmake@3.21:", type="build")
    depends_on("opencl-c-headers", when="+opencl", type="build")
    depends_on("mpi", when="+mpi")

    def cmake_args(self):
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("RUNG_LAB", "command"),
            self.define_from_variant("RUNG_OPENCL", "opencl"),
            self.define_from_variant("RUNG_MPI", "mpi"),
            self.define("RUNG_TESTS", False),
            self.define("RUNG_EXAMPLES", False),
            self.define("RUNG_IMAGES", False),
        ]
