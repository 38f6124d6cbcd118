"""Calls libflashlab_gpu.so on PyTorch's tensors, and compares with PyTorch's own attention.

    python3 cuda/torch_example.py build/gpu/cuda/libflashlab_gpu.so
"""
import sys

import torch

from torch_library import Library

library = Library(sys.argv[1])
for rung in ("flash2", "mma", "async"):
    # [batch, rows, heads, columns] in memory: strides say so.
    q, k, v = (torch.randn(2, 500, 8, 64, device="cuda", dtype=torch.float16).transpose(1, 2)
               for _ in range(3))
    o = torch.empty_like(q)
    lse = torch.empty(*q.shape[:3], 1, dtype=torch.float32, device="cuda")
    library.forward(rung, q, k, v, o, lse, causal=True)
    right = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(),
                                                             is_causal=True)
    worst = (o.double() - right).abs().max().item()
    print(f"{rung}: largest difference {worst:.1e}")
    assert worst < 2e-3
