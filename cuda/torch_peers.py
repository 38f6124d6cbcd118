"""Times our kernels beside PyTorch's attention in one process, as `flashlab bench gpu` does.

    python3 cuda/torch_peers.py build/gpu/cuda/libflashlab_gpu.so --n 4096 --causal --csv peers.csv

Entries are our rungs, PyTorch's back ends (flash is FA2) and the device's product ceiling. First
each entry's result is compared with float64 on one head; the budget is twice the error of a naive
run in the dtype. Then come the rounds, each in a new random order. Burst: 0.2 s of rest, two
launches, about 12 ms of launches between two events. --hot: no rest, 150 ms. Launches take input
sets in turn that exceed L2. The clock is read by a kernel beside some more launches. Backward peers
run torch.autograd.grad on a kept graph. Columns are those of `bench gpu`; what only the simulator
predicts stays empty.
"""
import argparse
import csv
import math
import os
import random
import re
import statistics
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from torch_library import Library, Refused

PEERS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
         "efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
COLUMNS = ("entry,pass,dtype,d,mask,n,batch,heads,protocol,repeats,median_ms,low_ms,high_ms,tflops,"
           "peak_share,clock_ghz,error,error_budget,predicted_ms,bound_by,read_bytes,write_bytes,"
           "measured_read_bytes,measured_write_bytes,memory_bytes,matrix_tflops,fma_tflops,texp,"
           "l2_tbs,copy_tbs,device,driver,cuda,refused").split(",")


def read_options():
    def words(text):
        return [] if text == "none" else text.split(",")

    def lengths(text):
        return sorted({int(n) for n in text.split(",")})

    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("library", help="path of libflashlab_gpu.so")
    parser.add_argument("--rungs", type=words, help="these alone (all), or none")
    parser.add_argument("--peers", type=words, default=list(PEERS),
                        help=f"these alone ({','.join(PEERS)}), or none")
    parser.add_argument("--n", type=lengths, default=[1024, 2048, 4096])
    parser.add_argument("--d", type=int, default=128)
    parser.add_argument("--dtype", choices=DTYPES, default="f16")
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--deterministic", action="store_true",
                        help="our backward passes in the mode whose bits do not change")
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--hot", action="store_true")
    parser.add_argument("--csv", help="write the table there too")
    return parser.parse_args()


# ---- one length ----------------------------------------------------------------------------------


def reference(tensors, causal, backward, dtype):
    """O, or the gradients, of one head the obvious way: in float64, or naively in the dtype."""
    q, k, v, d_o = (t.detach().to(dtype).requires_grad_(backward) for t in tensors)
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
    o = torch.softmax(scores, -1) @ v
    return torch.autograd.grad(o, (q, k, v), d_o.detach()) if backward else (o,)


class Length:
    """The inputs of one N: sets of q, k, v, dO; and what is right for the first one's last head."""

    def __init__(self, n, options, l2_bytes):
        self.n, self.batch, dtype = n, max(1, options.tokens // n), DTYPES[options.dtype]
        shape = (self.batch, options.heads, n, options.d)
        set_bytes = 4 * self.batch * options.heads * n * options.d * dtype.itemsize
        self.sets = [[torch.randn(shape, device="cuda", dtype=dtype) for _ in range(4)]
                     for _ in range(min(16, 2 + 2 * l2_bytes // set_bytes))]
        head = [t[-1:, -1:] for t in self.sets[0]]
        self.right = reference(head, options.causal, options.backward, torch.float64)
        naive = reference(head, options.causal, options.backward, dtype)
        # Where the naive run is right by luck, the rounding of the result still counts.
        unit = torch.finfo(dtype).eps / 2
        self.budgets = [2 * (a.double() - b).abs().max().item() + 2 * unit * b.abs().max().item()
                        for a, b in zip(naive, self.right)]

    def worst(self, results, factor):
        """The error of the worst tensor, and its budget."""
        pairs = [((a[-1:, -1:].double() - b).abs().max().nan_to_num(float("inf")).item(),
                  factor * budget) for a, b, budget in zip(results, self.right, self.budgets)]
        return max(pairs, key=lambda p: p[0] / p[1])


class Entry:
    def __init__(self, name, length):
        self.name, self.length, self.ms, self.ghz = name, length, [], []
        self.error = self.budget = None
        self.factor = 1  # of the budget
        self.refused = ""
        self.turn = 0

    def run(self):
        self.turn += 1
        return self.launch(self.turn % len(self.length.sets))


def make_ours(library, rung, length, options):
    entry = Entry(rung, length)
    if options.backward and not library.has_backward(rung):
        entry.refused = "it has no backward pass"
        return entry
    q, k, v, _ = length.sets[0]
    try:
        problem = library.problem(q, k, v, options.causal)
        workspace = library.workspace(rung, problem, options.backward)
        entry.factor = library.error_factor(rung, problem)
        outputs = [(torch.full_like(q, float("nan")),
                    torch.full((*q.shape[:3], 1), float("nan"), dtype=torch.float32, device="cuda"))
                   for _ in length.sets]
        gradients = [torch.full_like(q, float("nan")) for _ in range(3)] if options.backward else []
        for (q, k, v, _), (o, lse) in zip(length.sets, outputs):
            library.forward(rung, q, k, v, o, lse, options.causal, workspace)
    except (Refused, torch.OutOfMemoryError) as error:
        entry.refused = str(error).split("\n")[0]
        return entry

    def launch(i):
        q, k, v, d_o = length.sets[i]
        o, lse = outputs[i]
        if options.backward:
            library.backward(rung, q, k, v, o, lse, d_o, *gradients, options.causal, workspace,
                             options.deterministic)
            return gradients
        library.forward(rung, q, k, v, o, lse, options.causal, workspace)
        return [o]

    entry.launch = launch
    return entry


def make_peer(name, length, options):
    entry, graphs = Entry(name, length), []

    def attention(q, k, v):
        with sdpa_kernel(PEERS[name]):
            return F.scaled_dot_product_attention(q, k, v, is_causal=options.causal)

    try:
        if options.backward:
            for tensors in length.sets:
                inputs = [t.detach().requires_grad_() for t in tensors[:3]]
                graphs.append((attention(*inputs), inputs, tensors[3]))
        else:
            attention(*length.sets[0][:3])
        torch.cuda.synchronize()
    except RuntimeError as error:  # also out of memory
        entry.refused = str(error).split("\n")[0]
        graphs.clear()
        return entry

    def launch(i):
        if options.backward:
            o, inputs, d_o = graphs[i]
            return torch.autograd.grad(o, inputs, d_o, retain_graph=True)
        return [attention(*length.sets[i][:3])]

    entry.launch = launch
    return entry


def verify(entry):
    try:
        results = entry.launch(0)
        torch.cuda.synchronize()
    except RuntimeError as error:
        entry.refused = str(error).split("\n")[0]
        return
    entry.error, entry.budget = entry.length.worst(results, entry.factor)
    if not entry.error <= entry.budget:
        entry.refused = f"wrong: {entry.error:.2g} off, and may be {entry.budget:.2g}"


# ---- time ----------------------------------------------------------------------------------------


def time_launches(run, n):
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(n):
        run()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) / n


def measure(entry, library, hot):
    if not hot:
        time.sleep(0.2)
    for _ in range(2):
        entry.run()
    entry.ms.append(time_launches(entry.run, entry.launches))
    n = min(entry.launches, max(8, math.ceil(4 / entry.ms[-1])))
    entry.ghz.append(library.clock(entry.run, n, entry.ms[-1]))


def spread(values):
    if len(values) == 1:
        return values * 3
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return median, low, high


# ---- report --------------------------------------------------------------------------------------


def driver_version():
    try:
        with open("/proc/driver/nvidia/version") as file:
            found = re.search(r" (\d+\.[\d.]+) ", file.readline())
            return found.group(1) if found else ""
    except OSError:
        return ""


def row_of(entry, options, device, peak):
    n, batch = entry.length.n, entry.length.batch
    version = device.driver_version
    row = dict.fromkeys(COLUMNS, "")
    row.update({"entry": entry.name, "pass": "backward" if options.backward else "forward",
                "dtype": options.dtype, "d": options.d,
                "mask": "causal" if options.causal else "full", "n": n, "batch": batch,
                "heads": options.heads, "protocol": "hot" if options.hot else "burst",
                "repeats": options.repeats, "device": device.name.decode(),
                "driver": driver_version(), "cuda": f"{version // 1000}.{version % 1000 // 10}",
                "refused": entry.refused})
    row["fma_tflops" if options.dtype == "f32" else "matrix_tflops"] = peak * 1e-12
    if entry.refused:
        return row
    median, low, high = spread(entry.ms)
    flops = 4 * batch * options.heads * n * n * options.d * (0.5 if options.causal else 1)
    rate = flops * (2.5 if options.backward else 1) / median * 1e3
    row.update(median_ms=median, low_ms=low, high_ms=high, tflops=rate * 1e-12,
               peak_share=rate / peak, clock_ghz=statistics.median(entry.ghz), error=entry.error,
               error_budget=entry.budget)
    return row


def print_rows(rows, options, peak, gigahertz):
    first = rows[0]
    print(f"{first['device']}, driver {first['driver']}, PyTorch {torch.__version__}, cuDNN "
          f"{torch.backends.cudnn.version()}; {first['pass']}, {first['dtype']}, d = {first['d']}, "
          f"{first['mask']}, {options.heads} heads, {options.tokens} tokens\n"
          f"{options.repeats} rounds in random order, {first['protocol']}; products alone: "
          f"{peak * 1e-12:.1f} TFLOP/s at {gigahertz:.2f} GHz\n\n"
          f"{'entry':10} {'N':>6} {'ms':>10}  {'quartiles':21} {'TFLOP/s':>8} {'of peak':>7} "
          f"{'GHz':>6}  error")
    for row in rows:
        start = f"{row['entry']:10} {row['n']:6} "
        if row["refused"]:
            print(f"{start}{'-':>10}  {row['refused'][:100]}")
            continue
        quartiles = f"{row['low_ms']:.4f} .. {row['high_ms']:.4f}"
        print(f"{start}{row['median_ms']:10.4f}  {quartiles:21} {row['tflops']:8.2f} "
              f"{100 * row['peak_share']:5.1f} % {row['clock_ghz']:6.2f}  {row['error']:.1e} of "
              f"{row['error_budget']:.1e}")


def write_csv(path, rows):
    part = f"{path}.part-{os.getpid()}"
    with open(part, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: f"{value:.9g}" if isinstance(value, float) else value
                             for name, value in row.items()})
    os.replace(part, path)


def main():
    options = read_options()
    library = Library(options.library)
    device = library.device()
    rungs = list(library.rungs) if options.rungs is None else options.rungs
    for name in set(rungs) - set(library.rungs) | set(options.peers) - set(PEERS):
        raise SystemExit(f"{name}: expected rungs of {', '.join(library.rungs)}, and peers of "
                         f"{', '.join(PEERS)}")
    torch.manual_seed(1)
    random.seed(1)
    entries = []
    for n in options.n:
        length = Length(n, options, device.l2_bytes)
        entries += [make_ours(library, rung, length, options) for rung in rungs]
        entries += [make_peer(peer, length, options) for peer in options.peers]
    for entry in entries:
        if not entry.refused:
            verify(entry)
    products = Entry("products", None)
    products.run = library.products(DTYPES[options.dtype])
    timed = [e for e in entries if not e.refused] + [products]
    for entry in timed:
        entry.run()
        one = time_launches(entry.run, 3)
        entry.launches = max(1, round((150 if options.hot else 12) / one))
    for _ in range(options.repeats):
        random.shuffle(timed)
        for entry in timed:
            measure(entry, library, options.hot)
    peak = products.run() / spread(products.ms)[0] * 1e3
    rows = [row_of(e, options, device, peak) for e in entries]
    print_rows(rows, options, peak, statistics.median(products.ghz))
    if options.csv:
        write_csv(options.csv, rows)


if __name__ == "__main__":
    main()
