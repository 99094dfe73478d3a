#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch operator, rung::linear, that computes gelu(x @ weight + bias) in one call of rung.matmul.

Tensors are passed by DLPack: nothing is copied, neither the operands nor the result. The operator has a gradient and a
version for torch.compile, which computes shapes only.
"""

import torch

import rung


@torch.library.custom_op("rung::linear", mutates_args=())
def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    out = torch.empty((*x.shape[:-1], weight.shape[1]), dtype=x.dtype, device=x.device)
    rung.matmul(x.detach(), weight.detach(), out, bias=bias.detach(), activation="gelu")
    return out


@linear.register_fake
def _(x, weight, bias):
    return x.new_empty((*x.shape[:-1], weight.shape[1]))


def _save_inputs(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _backward(ctx, gradient):
    x, weight, bias = ctx.saved_tensors
    before = x @ weight + bias
    normal = torch.exp(-0.5 * before**2) / (2 * torch.pi) ** 0.5
    slope = gradient * (0.5 * (1 + torch.erf(before / 2**0.5)) + before * normal)
    flat_x, flat_slope = x.reshape(-1, x.shape[-1]), slope.reshape(-1, slope.shape[-1])
    return slope @ weight.T, flat_x.T @ flat_slope, flat_slope.sum(0)


linear.register_autograd(_backward, setup_context=_save_inputs)


def round_trip():
    """Results of rung.matmul become tensors, and tensors become operands, without copies."""
    product = rung.matmul(torch.eye(3), torch.arange(9.0).reshape(3, 3))
    tensor = torch.from_dlpack(product)
    tensor[0, 0] = 7
    assert product[0, 0] == 7
    print("torch.from_dlpack shares the memory of the result")


def main():
    torch.manual_seed(1)
    x = torch.randn(4, 16, 64, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(64, 32, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(32, dtype=torch.float64, requires_grad=True)
    found = torch.ops.rung.linear(x, weight, bias)
    expected = torch.nn.functional.gelu(x @ weight + bias)
    torch.testing.assert_close(found, expected)
    gradients = torch.autograd.grad(found.sum(), (x, weight, bias))
    torch.testing.assert_close(gradients, torch.autograd.grad(expected.sum(), (x, weight, bias)))
    torch.library.opcheck(linear, (x, weight, bias))
    print("rung::linear agrees with PyTorch in float64, with its gradients")

    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        a, b, c = (t.detach().to(dtype) for t in (x, weight, bias))
        torch.testing.assert_close(linear(a, b, c), torch.nn.functional.gelu(a @ b + c), rtol=2e-2, atol=2e-2)
    print("rung::linear agrees with PyTorch in float32, bfloat16 and float16")
    round_trip()


if __name__ == "__main__":
    main()
