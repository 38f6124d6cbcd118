"""Calls libflashlab_gpu.so on PyTorch's tensors, forward and backward, and compares with PyTorch.

    python3 cuda/torch_example.py build/gpu/cuda/libflashlab_gpu.so
"""
import sys

import torch

from torch_library import Library, Refused


def parts(packed):
    """Q, K and V of [batch, rows, 3, heads, columns], each as [batch, heads, rows, columns]."""
    return (t.transpose(1, 2) for t in packed.unbind(2))


library = Library(sys.argv[1])
# As one product of a layer gives them. Nothing is copied: strides say where the elements lie.
packed = torch.randn(2, 500, 3, 8, 64, device="cuda", dtype=torch.float16)
q, k, v = parts(packed)
d_o = torch.randn_like(q)
exact = [t.double().requires_grad_() for t in (q, k, v)]
right_o = torch.nn.functional.scaled_dot_product_attention(*exact, is_causal=True)
right = torch.autograd.grad(right_o, exact, d_o.double())

for rung in library.rungs:
    o, gradients = torch.empty_like(q), torch.empty_like(packed)
    lse = torch.empty(*q.shape[:3], 1, dtype=torch.float32, device="cuda")
    try:
        library.forward(rung, q, k, v, o, lse, causal=True)
    except Refused as reason:  # a device without the rung's instructions
        print(f"{rung}: {reason}")
        continue
    worst = [(o - right_o).abs().max().item()]
    if library.has_backward(rung):
        library.backward(rung, q, k, v, o, lse, d_o, *parts(gradients), causal=True)
        worst += [(a - b).abs().max().item() for a, b in zip(parts(gradients), right)]
    print(f"{rung}: largest difference", ", ".join(f"{x:.1e} in {name}" for x, name
                                                   in zip(worst, ("O", "dQ", "dK", "dV"))))
    assert max(worst) < 1e-2
