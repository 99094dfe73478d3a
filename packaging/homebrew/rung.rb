# SPDX-License-Identifier: Apache-2.0
class Rung < Formula
  desc "Check CUDA kernels without a GPU, and multiply matrices in C"
  homepage "https://github.com/OWNER/rung"
  url "https://github.com/OWNER/rung/releases/download/v0.2.0/rung-0.2.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "cmake" => :build
  depends_on "opencl-headers" => :build
  depends_on :linux

  def install
    system "cmake", "-S", ".", "-B", "build", "-DRUNG_TESTS=OFF", "-DRUNG_EXAMPLES=OFF", "-DRUNG_IMAGES=OFF",
           "-DRUNG_MPI=OFF", "-DRUNG_CL_INCLUDE=#{Formula["opencl-headers"].opt_include}", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/rung --version")
    system bin/"rung", "verify", "--device", "cpu", "--kernels", "10", "--suite", "tile"
  end
end
