"""libflashlab_gpu.so on PyTorch's tensors, by ctypes: gpu.h, gpu_device.h, peak.h in Python."""
import ctypes as c
import math

import torch

DTYPES = {torch.float32: 1, torch.float16: 2, torch.bfloat16: 3}  # enum fa_dtype


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


class Backward(c.Structure):
    _fields_ = [(n, Tensor) for n in ("q", "k", "v", "o", "lse", "d_o", "dq", "dk", "dv")]


class Options(c.Structure):
    _fields_ = [("stream", c.c_void_p), ("workspace", c.c_void_p), ("blocks", c.c_void_p),
                ("deterministic", c.c_bool)]


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("text", c.c_char * 1024)]


class Tiles(c.Structure):
    _fields_ = [(n, c.c_int64) for n in ("br", "bc", "dq_br", "dq_bc", "parts")]


class Rung(c.Structure):
    _fields_ = [("name", c.c_char_p), ("idea", c.c_char_p), ("takes", c.c_char_p),
                ("workspace_bytes", c.CFUNCTYPE(c.c_int, c.POINTER(Problem), c.c_bool,
                                                c.POINTER(c.c_int64), c.POINTER(Error))),
                ("forward", c.c_void_p), ("backward", c.c_void_p),
                ("tiles", c.CFUNCTYPE(None, c.POINTER(Problem), c.c_bool, c.c_bool,
                                      c.POINTER(Tiles)))]


class Device(c.Structure):
    _fields_ = [("name", c.c_char * 256), ("major", c.c_int), ("minor", c.c_int),
                ("multiprocessors", c.c_int), ("clock_khz", c.c_int), ("memory_bytes", c.c_int64),
                ("l2_bytes", c.c_int64), ("block_shared_bytes", c.c_int64),
                ("driver_version", c.c_int)]


class Refused(RuntimeError):
    """What a rung does not take, with the reason; or what went wrong."""


def tensor(t):
    return Tensor(t.data_ptr(), (c.c_int64 * 4)(*t.stride()))


class Library:
    """Tensors are [batch, heads, rows, columns] on the GPU, of any strides; lse is float32 and has
    one column. All calls go to PyTorch's current stream."""

    def __init__(self, path):
        self.shared = c.CDLL(path)
        count = c.c_int.in_dll(self.shared, "gpu_rung_count").value
        rungs = (c.POINTER(Rung) * count).in_dll(self.shared, "gpu_rungs")
        self.rungs = {r.contents.name.decode(): r.contents for r in rungs}
        self.shared.gpu_ceiling_bytes.restype = c.c_int64

    def call(self, function, *arguments):
        error = Error()
        if function(*arguments, c.byref(error)) != 0:
            raise Refused(error.text.decode())

    def problem(self, q, k, v, causal):
        b, h, nq, d = q.shape
        return Problem(b, h, k.shape[1], nq, k.shape[2], d, v.shape[3], d ** -0.5, int(causal), -1,
                       -1, None, None, DTYPES[q.dtype], 0, 0, None, None)

    def workspace(self, rung, problem, backward):
        """Memory that a call may use, and that must live until it is done."""
        bytes_ = c.c_int64()
        self.call(self.rungs[rung].workspace_bytes, c.byref(problem), backward, c.byref(bytes_))
        return torch.empty(max(1, bytes_.value), dtype=torch.uint8, device="cuda")

    def options(self, workspace, deterministic=False):
        return Options(torch.cuda.current_stream().cuda_stream, workspace.data_ptr(), None,
                       deterministic)

    def forward(self, rung, q, k, v, o, lse, causal=False, workspace=None):
        p = self.problem(q, k, v, causal)
        workspace = self.workspace(rung, p, False) if workspace is None else workspace
        self.call(self.shared.gpu_forward, rung.encode(), c.byref(p),
                  c.byref(Forward(*map(tensor, (q, k, v, o, lse)))),
                  c.byref(self.options(workspace)))

    def backward(self, rung, q, k, v, o, lse, d_o, dq, dk, dv, causal=False, workspace=None,
                 deterministic=False):
        p = self.problem(q, k, v, causal)
        workspace = self.workspace(rung, p, True) if workspace is None else workspace
        self.call(self.shared.gpu_backward, rung.encode(), c.byref(p),
                  c.byref(Backward(*map(tensor, (q, k, v, o, lse, d_o, dq, dk, dv)))),
                  c.byref(self.options(workspace, deterministic)))

    def has_backward(self, rung):
        return bool(self.rungs[rung].backward)

    def device(self):
        device = Device()
        self.call(self.shared.gpu_device_find, c.byref(device))
        return device

    def clock(self, run, n, milliseconds):
        """GHz under the load of n runs of so many milliseconds, read by a kernel beside them."""
        counts, gigahertz = torch.zeros(2, dtype=torch.int64, device="cuda"), c.c_double()
        part = c.c_double(min(0.25 * n * milliseconds, 5))
        self.call(self.shared.gpu_clock_start, c.c_void_p(counts.data_ptr()), part, part)
        for _ in range(n):
            run()
        self.call(self.shared.gpu_clock_read, c.c_void_p(counts.data_ptr()), c.byref(gigahertz))
        return gigahertz.value

    def error_factor(self, rung, problem):
        """flash1 rounds O to 16 bits once for each tile of keys."""
        if rung != "flash1" or problem.dtype == DTYPES[torch.float32]:
            return 1
        tiles = Tiles()
        self.rungs[rung].tiles(c.byref(problem), False, False, c.byref(tiles))
        return math.ceil(problem.nk / tiles.bc) ** 0.5

    def products(self, dtype):
        """The product ceiling of the dtype (peak.h): a function that launches it and says how many
        FLOPs that is."""
        device, work = self.device(), c.c_double()
        scratch = torch.empty(self.shared.gpu_ceiling_bytes(c.byref(device)), dtype=torch.uint8,
                              device="cuda")
        operands = torch.randn(2 ** 18 // dtype.itemsize, device="cuda").to(dtype)
        scratch[:2 ** 18].copy_(operands.view(torch.uint8))

        def launch():
            self.call(self.shared.gpu_ceiling_launch, 1 if dtype == torch.float32 else 0,
                      DTYPES[dtype], c.byref(device), c.c_void_p(scratch.data_ptr()),
                      c.byref(work))
            return work.value

        return launch
