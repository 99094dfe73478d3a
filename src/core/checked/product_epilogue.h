/* SPDX-License-Identifier: Apache-2.0 */
/* product_epilogue.h - the epilogue of a checked product, computed on the host. */
#pragma once

#include "rung/rung.h"

/* Stores the result of a normalized problem whose alpha * A * B is `product`, a batch of matrices with the accumulator's
 * type. Everything is in host memory. */
void rungi_product_epilogue(const rung_problem *normalized, const rung_matrix *product);
