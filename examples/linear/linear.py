"""The layers of main.go in PyTorch, on a GPU of compute capability 9.0: prints the
checksums that it compares with."""

import zlib

import torch
import torch.nn.functional as F


def elements(rows, columns, seed, dtype):
    mask = 0xFFFFFFFF
    x = torch.arange(rows * columns, dtype=torch.int64, device="cuda")
    x = (x * 2654435761 + seed * 40503) & mask
    for _ in range(2):
        x = (((x >> 16) ^ x) * 0x45D9F3B) & mask
    x = (x >> 16) ^ x
    value = ((x & 0xFFFF) - 32768).to(torch.float32) / 32768
    return value.to(dtype).reshape(rows, columns)


def show(layer, y):
    print("%-24s %10d" % (layer, zlib.crc32(y.contiguous().view(torch.uint8).cpu().numpy().tobytes())))


n = 512
bias = elements(1, n, 5, torch.bfloat16).reshape(n)
x, w = elements(n, 512, 1, torch.bfloat16), elements(n, 512, 2, torch.bfloat16)
show("bf16", F.linear(x, w, bias))
show("bf16 with GELU", torch._addmm_activation(bias, x, w.t(), use_gelu=True))

x, w = elements(n, 1024, 1, torch.float8_e4m3fn), elements(n, 1024, 2, torch.float8_e4m3fn)
sx, sw = elements(n, 1, 3, torch.float32).abs() + 0.01, elements(1, n, 4, torch.float32).abs() + 0.01
for layer, fast in (("fp8, fast accumulation", True), ("fp8", False)):
    show(layer, torch._scaled_mm(x, w.t(), sx, sw, bias=bias, out_dtype=torch.bfloat16, use_fast_accum=fast))
