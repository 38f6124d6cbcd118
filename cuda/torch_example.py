"""Calls libflashlab_gpu.so on PyTorch's tensors by ctypes, and compares with PyTorch's own attention.

    python3 cuda/torch_example.py build/gpu/cuda/libflashlab_gpu.so
"""
import ctypes as c
import sys

import torch


class Problem(c.Structure):  # struct fa_problem of reference/problem.h
    _fields_ = [(n, c.c_int64) for n in ("batch", "heads", "kv_heads", "nq", "nk", "d", "dv")] + [
        ("scale", c.c_double), ("causal", c.c_int), ("window_left", c.c_int64),
        ("window_right", c.c_int64), ("mask", c.c_void_p), ("bias", c.c_void_p), ("dtype", c.c_int),
        ("dropout_p", c.c_double), ("dropout_seed", c.c_uint64), ("dropout_keep", c.c_void_p),
        ("blocks", c.c_void_p)]


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("stride", c.c_int64 * 4)]


class Forward(c.Structure):
    _fields_ = [(n, Tensor) for n in ("q", "k", "v", "o", "lse")]


class Options(c.Structure):
    _fields_ = [("stream", c.c_void_p), ("workspace", c.c_void_p), ("blocks", c.c_void_p),
                ("deterministic", c.c_bool)]


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("text", c.c_char * 1024)]


def tensor(t):
    return Tensor(t.data_ptr(), (c.c_int64 * 4)(*t.stride()))


library = c.CDLL(sys.argv[1])
dtypes = {torch.float32: 1, torch.float16: 2, torch.bfloat16: 3}


def attention(rung, q, k, v, causal=False):
    b, h, nq, d = q.shape
    o = torch.empty(b, h, nq, v.shape[3], dtype=q.dtype, device=q.device)
    lse = torch.empty(b, h, nq, 1, dtype=torch.float32, device=q.device)
    p = Problem(b, h, k.shape[1], nq, k.shape[2], d, v.shape[3], d ** -0.5, int(causal), -1, -1,
                None, None, dtypes[q.dtype], 0, 0, None, None)
    tensors = Forward(*map(tensor, (q, k, v, o, lse)))
    options = Options(torch.cuda.current_stream().cuda_stream, None, None, False)
    error = Error()
    if library.gpu_forward(rung.encode(), c.byref(p), c.byref(tensors), c.byref(options),
                           c.byref(error)) != 0:
        raise RuntimeError(error.text.decode())
    return o, lse


for rung in ("flash2", "mma", "async"):
    # [batch, rows, heads, columns] in memory: strides say so.
    q, k, v = (torch.randn(2, 500, 8, 64, device="cuda", dtype=torch.float16).transpose(1, 2)
               for _ in range(3))
    o, _ = attention(rung, q, k, v, causal=True)
    right = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(),
                                                             is_causal=True)
    worst = (o.double() - right).abs().max().item()
    print(f"{rung}: largest difference {worst:.1e}")
    assert worst < 2e-3
