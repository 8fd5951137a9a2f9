// tma_im2col.bin, tma_im2col_edge.bin: loads, stores and reductions through im2col maps.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tma.cuh"

// random_offset is mostly that of a small filter. PTX gives rank 4 8 bits and rank 5 5; some need more, or all 16.
inline uint16_t random_offset(Rng& rng, uint32_t rank) {
  if (rng.chance(16)) return static_cast<uint16_t>(rng.chance(2) ? rng.below(1 << 16) : (1 << 16) - rng.range(1, 6));
  if (rng.chance(10)) return static_cast<uint16_t>((rank == 5 ? 32 : 256) * rng.below(2) + rng.below(8));
  return static_cast<uint16_t>(rng.below(5));
}

// random_im2col makes a copy that begins in the bounding box, which for a store lies in the tensor.
inline CopyCase random_im2col(Rng& rng) {
  for (;;) {
    CopyCase c;
    MapArgs& m = c.map;
    m.im2col = c.at.im2col = true;
    c.kind = rng.chance(3);
    c.multicast = c.kind == 0 && rng.chance(8);
    c.seed = rng.next();
    if (c.kind == 1 && rng.chance(4)) c.red = rng.range(1, 8);
    m.dtype = c.red != 0 ? random_reduced_type(rng, c.red) : static_cast<int>(rng.below(kTypes));
    m.rank = rng.range(3, 5);
    m.swizzle = rng.below(4);
    m.nan_fill = m.dtype >= kF16 ? rng.below(2) : 0;
    const uint32_t bytes = c.element(), spatial = m.rank - 2;
    const uint32_t chunks = rng.range(1, !rng.chance(4) ? 2 : m.swizzle != 0 ? kSpans[m.swizzle] / 16 : 12);
    m.box[0] = 16 * chunks / bytes;
    m.box[1] = rng.chance(12) ? rng.range(1, 1024) : rng.range(1, 30);
    m.dims[0] = rng.range(1, m.box[0] + 40 / bytes);
    m.dims[m.rank - 1] = rng.range(1, 4);
    for (uint32_t d = 0; d < m.rank; d++) {
      if (rng.chance(3)) m.estride[d] = rng.range(2, rng.chance(4) ? 8 : 3);
    }
    for (uint32_t d = 0; d < spatial; d++) {
      const int size = rng.range(1, m.rank == 3 ? (rng.chance(8) ? 300 : 20) : m.rank == 4 ? 7 : 5);
      m.dims[1 + d] = size;
      m.lower[d] = rng.range(c.kind == 0 ? -3 : 0, 2);
      m.upper[d] = rng.range(-3, c.kind == 0 ? 3 : 0);
      if (c.kind == 0 && rng.chance(10)) m.lower[d] = m.rank == 5 ? -16 : -rng.range(4, 128);
      if (c.kind == 0 && rng.chance(10)) m.upper[d] = m.rank == 5 ? 15 : rng.range(4, 127);
      if (m.lower[d] > size - 1 + m.upper[d]) m.lower[d] = m.upper[d] = 0;
      c.at.c[1 + d] = rng.chance(3) ? m.lower[d] : rng.range(m.lower[d], size - 1 + m.upper[d]);
      if (c.kind == 0) c.at.offset[d] = random_offset(rng, m.rank);
    }
    m.strides[0] = (m.dims[0] * bytes + 15) / 16 * 16 + (rng.chance(3) ? 16 * rng.range(1, 3) : 0);
    for (uint32_t d = 1; d < 4; d++) m.strides[d] = m.strides[d - 1] * m.dims[d];
    if (rng.chance(3)) c.offset = 128 * rng.below(8);
    const int unit = 16 / bytes, channels = static_cast<int>(m.dims[0]), low = c.kind == 0 ? -static_cast<int>(m.box[0]) - 2 : 0;
    c.at.c[0] = (rng.chance(2) ? 0 : rng.range(low, channels + 2)) / unit * unit;
    c.at.c[m.rank - 1] = rng.range(c.kind == 0 && rng.chance(4) ? -2 : 0, static_cast<int>(m.dims[m.rank - 1]));
    if (c.offset + c.shared_bytes() <= kSharedBytes && c.global_bytes() <= (c.red != 0 ? 4 << 10 : 64 << 10)) return c;
  }
}

constexpr uint32_t kEdges = 9;

// edge_im2col makes a copy that PTX forbids, in one of the ways.
inline CopyCase edge_im2col(Rng& rng, uint32_t way) {
  for (;;) {
    CopyCase c = random_im2col(rng);
    MapArgs& m = c.map;
    c.multicast = false;
    const bool load = c.kind == 0;
    const uint32_t d = rng.below(m.rank - 2), n = m.rank - 1;
    const int unit = 16 / static_cast<int>(c.element()), high = static_cast<int>(m.dims[1 + d]) - 1 + m.upper[d];
    int32_t& at = c.at.c[1 + d];
    switch (way) {
      case 0:  // a load that begins before the bounding box
        at = m.lower[d] - rng.range(1, 5);
        if (load) return c;
        break;
      case 1:  // or behind it
        at = high + rng.range(1, 5);
        if (load) return c;
        break;
      case 2:  // a store that does
        m.lower[d] = rng.range(0, high);
        at = m.lower[d] > 0 && rng.chance(2) ? rng.range(0, m.lower[d] - 1) : high + rng.range(1, 4);
        if (!load) return c;
        break;
      case 3:  // a store with a bounding box that is larger than the tensor
        if (rng.chance(2)) {
          m.lower[d] = -rng.range(1, 3);
        } else {
          m.upper[d] = rng.range(1, 3);
        }
        if (!load) return c;
        break;
      case 4:  // or with a negative coordinate
        c.at.c[0] = -unit;
        if (!load) return c;
        break;
      case 5:
        c.at.c[n] = -rng.range(1, 3);
        if (!load) return c;
        break;
      case 6:
        at = -rng.range(1, 3);
        m.lower[d] = rng.chance(2) ? at : 0;
        if (!load) return c;
        break;
      case 7:  // an inner coordinate off the 16 bytes
        c.at.c[0] = rng.range(1, unit);
        if (c.at.c[0] < unit) return c;
        break;
      case 8:  // the other mode's instruction
        if (rng.chance(2)) {
          c.at.im2col = false;
        } else {
          m.im2col = false;
          m.box[1] = rng.range(1, 8);
        }
        if (load && c.offset + c.shared_bytes() <= kSharedBytes) return c;
        break;
    }
  }
}

inline size_t probe_im2col(const std::string& dir, uint64_t seed) {
  constexpr size_t kCopies = 1000;
  Rng rng(seed, 11);
  File out(dir, "tma_im2col.bin");
  for (size_t i = 0; i < kCopies; i++) record(out, random_im2col(rng), i);
  return kCopies;
}

// probe_im2col_edge performs every copy in a process of its own, because a fault ends the CUDA context: done is then the
// error, negative. It must run before this process touches CUDA.
inline size_t probe_im2col_edge(const std::string& dir, uint64_t seed) {
  constexpr int kCases = 48, kAtOnce = 8;
  struct Outcome {
    int done;
    uint32_t bytes;
    unsigned char memory[64 << 10];
  };
  const size_t size = kAtOnce * sizeof(Outcome);
  auto* outcomes = static_cast<Outcome*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (outcomes == MAP_FAILED) fatal("no memory to share");
  Rng rng(seed, 12);
  File out(dir, "tma_im2col_edge.bin");
  for (int i = 0; i < kCases; i += kAtOnce) {
    fflush(nullptr);
    CopyCase copies[kAtOnce];
    pid_t children[kAtOnce];
    for (int k = 0; k < kAtOnce; k++) {
      copies[k] = edge_im2col(rng, (i + k) % kEdges);
      outcomes[k].done = 0;
      if ((children[k] = fork()) < 0) fatal("cannot fork");
      if (children[k] > 0) continue;
      const std::vector<unsigned char> after = perform(copies[k], &outcomes[k].done);
      outcomes[k].bytes = static_cast<uint32_t>(after.size());
      std::copy(after.begin(), after.end(), outcomes[k].memory);
      _exit(0);
    }
    for (int k = 0; k < kAtOnce; k++) {
      int status = 0;
      if (waitpid(children[k], &status, 0) != children[k] || status != 0) fatal("lost case %d", i + k);
      if (outcomes[k].done == 0) fatal("case %d: the driver refused its tensor map", i + k);
      const unsigned char* p = outcomes[k].memory;
      write_record(out, copies[k], outcomes[k].done,
                   std::vector<unsigned char>(p, p + (outcomes[k].done > 0 ? outcomes[k].bytes : 0)));
    }
  }
  munmap(outcomes, size);
  return kCases;
}
