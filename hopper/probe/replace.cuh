// tensormap_replace.bin, tensormap_replace_edge.bin: tensor maps that a kernel changes, and copies through them.
#pragma once

#include <cstring>

#include "change.cuh"
#include "im2col.cuh"

// replace_kernel changes a map and copies through it, or with a kind of -1 does not.
__global__ void replace_kernel(const __grid_constant__ CUtensorMap base, const __grid_constant__ Changes changes, bool in_global,
                               CUtensorMap* slot, int kind, uint32_t red, uint32_t rank, const __grid_constant__ Coord at,
                               uint32_t offset, int bytes, uint32_t seed, unsigned char* out, int* done) {
  if (threadIdx.x < 32) publish(&base, changes, in_global, slot);
  __syncthreads();
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(slot) : "memory");
  if (kind == 0) load_box(slot, rank, at, offset, bytes, out, done);
  if (kind == 1) store_box(slot, rank, red, at, offset, seed);
}

// ReplaceCase is a copy through a map that has become its own from another.
struct ReplaceCase {
  CopyCase copy;
  MapArgs base;
  Changes changes = {};
  bool in_global = false;
};

// differences are the changes, in any order, that make base target; some that change nothing are among them.
inline void differences(Rng& rng, ReplaceCase& r) {
  const MapArgs &a = r.base, &b = r.copy.map;
  Changes& all = r.changes;
  const bool every = rng.chance(4);  // whatever the rank
  const uint32_t more = rng.chance(3) ? 3 : 1000;
  const auto needs = [&](bool differs) { return differs || rng.chance(more); };
  all.n = 0;
  if (needs(r.copy.map.address != r.base.address)) all.add(kGlobalAddress, 0, b.address);
  if (needs(a.rank != b.rank)) all.add(kRank, 0, b.rank - 1);
  for (uint32_t d = 0; d < 5; d++) {
    const bool in = d < b.rank;
    if (!in && !every) continue;
    if (needs(every || a.dims[d] != b.dims[d])) all.add(kGlobalDim, d, in ? b.dims[d] : 1);
    if (d < 4 && needs(every || a.strides[d] != b.strides[d] || a.rank < b.rank)) {
      all.add(kGlobalStride, d, d + 1 < b.rank ? b.strides[d] : 0);
    }
    if (!in) continue;
    if (!b.im2col && needs(a.box[d] != b.box[d] || d >= a.rank)) all.add(kBoxDim, d, b.box[d]);
    if (needs(a.estride[d] != b.estride[d] || d >= a.rank)) all.add(kElementStride, d, b.estride[d]);
    if (d >= a.rank) all.add(kGlobalDim, d, b.dims[d]);
  }
  if (needs(a.dtype != b.dtype)) all.add(kElemType, 0, kElemTypes[b.dtype]);
  if (needs(false)) all.add(kInterleave, 0, 0);
  if (needs(a.swizzle != b.swizzle)) all.add(kSwizzleMode, 0, b.swizzle);
  if (needs(a.nan_fill != b.nan_fill)) all.add(kFillMode, 0, b.nan_fill);
  for (uint32_t i = all.n; i > 1; i--) std::swap(all.at[i - 1], all.at[rng.below(i)]);
}

// vary makes the base of the target, with some fields of another map, or that map.
inline void vary(Rng& rng, ReplaceCase& r, const MapArgs& other) {
  r.base = r.copy.map;
  MapArgs& a = r.base;
  if (!a.im2col && rng.chance(3)) {
    a = other;
  } else {
    const bool all = rng.chance(3);
    const auto mix = [&] { return all || rng.chance(4); };
    if (mix()) a.dtype = other.dtype, a.nan_fill = other.nan_fill;
    if (mix()) a.swizzle = other.swizzle;
    if (mix() && a.dtype >= kF16) a.nan_fill ^= 1;
    for (int d = 0; d < 5; d++) {
      if (mix()) a.dims[d] = other.dims[d];
      if (mix() && d < 4) a.strides[d] = other.strides[d];
      if (mix() && !a.im2col) a.box[d] = other.box[d];
      if (mix()) a.estride[d] = other.estride[d];
    }
    if (!a.im2col && mix()) a.rank = other.rank;
  }
  a.l2 = rng.below(4);
  r.copy.map.l2 = a.l2;
  // Addresses are behind that of a tensor; the driver gets those of memory.
  r.base.address = 0;
  r.copy.map.address = rng.chance(4) ? 0 : 16 * rng.range(1, 64);
}

inline bool rounds(const MapArgs& m) { return m.dtype >= kTF32; }

inline bool small(const CopyCase& c) { return c.shared_bytes() <= 1 << 10 && c.global_bytes() <= 1 << 10; }

inline ReplaceCase random_replace(Rng& rng) {
  ReplaceCase r;
  r.in_global = rng.chance(3);
  do {
    do r.copy = random_copy(rng);
    while (!small(r.copy));
    vary(rng, r, random_copy(rng).map);
  } while (rounds(r.base) && !rounds(r.copy.map));  // an edge
  differences(rng, r);
  return r;
}

// alike compares the bits of two maps that copies of a rank read, which are among the first 512. What the driver keeps
// behind them no instruction changes.
inline bool alike(const CUtensorMap& a, const CUtensorMap& b, uint32_t rank, bool im2col) {
  uint32_t x[16], mask[16] = {~0u, ~0u, ~0u};
  for (uint32_t d = 0; d < rank; d++) {
    if (d + 1 < rank) mask[3 + d] = ~0u, mask[7] |= 15u << 4 * d;
    mask[8 + d] = ~0u;
    mask[13] |= 7u << 3 * d;
    if (d > 0) mask[14] |= 255u << 8 * (d - 1);
  }
  mask[13] |= 255u << 24;
  if (im2col) mask[13] = mask[14] = mask[15] = ~0u;
  memcpy(x, &a, sizeof x);
  for (int i = 0; i < 16; i++) {
    uint32_t y;
    memcpy(&y, reinterpret_cast<const char*>(&b) + 4 * i, sizeof y);
    if (((x[i] ^ y) & mask[i]) != 0) return false;
  }
  return true;
}

// prepare makes the base of a case, of a tensor at an address, its changes and what the driver makes of it. What is the
// same is not said but with 2 that the driver has none. It returns false if the driver refuses the base.
inline bool prepare(const ReplaceCase& r, uint64_t address, CUtensorMap* base, Changes* changes, CUtensorMap* want, int* same) {
  MapArgs a = r.base, b = r.copy.map;
  a.address += address;
  b.address += address;
  if (encode(base, a) != CUDA_SUCCESS) return false;
  *same = encode(want, b) == CUDA_SUCCESS ? 0 : 2;
  *changes = r.changes;
  for (uint32_t i = 0; i < changes->n; i++) {
    if (changes->at[i].field == kGlobalAddress) changes->at[i].value += address;
  }
  return true;
}

// perform_replaced does the copy of a case and returns the memory that it writes; done is 0 if the driver has no such base.
inline std::vector<unsigned char> perform_replaced(const ReplaceCase& r, int* done, int* same) {
  const CopyCase& c = r.copy;
  Buffer<unsigned char> global(2 * kGlobalBytes), shared(kSharedBytes);
  Buffer<int> signals(1);
  Buffer<CUtensorMap> slot(1);
  alignas(64) CUtensorMap base, want = {};
  Changes changes;
  CHECK(cudaMemset(global.get(), 0x55, 2 * kGlobalBytes));
  if (!prepare(r, reinterpret_cast<uint64_t>(global.get()), &base, &changes, &want, same)) {
    *done = 0;
    return {};
  }
  unsigned char* tensor = global.get() + c.map.address;
  fill(c, tensor, c.global_bytes());
  const auto launch = [&](int kind) {
    replace_kernel<<<1, 128, kSharedBytes + 1024>>>(base, changes, r.in_global, slot.get(), kind, static_cast<uint32_t>(c.red),
                                                    c.map.rank, c.at, c.offset, static_cast<int>(c.box_bytes()), c.seed,
                                                    shared.get(), signals.get());
  };
  launch(-1);
  outcome(CopyCase{2}, tensor, shared, signals, done);
  if (*done < 0) {
    *same = 3;  // the change itself has faulted
    return {};
  }
  CUtensorMap got;
  CHECK(cudaMemcpy(&got, slot.get(), sizeof got, cudaMemcpyDeviceToHost));
  if (*same == 0) *same = alike(got, want, c.map.rank, c.map.im2col);
  launch(c.kind);
  return outcome(c, tensor, shared, signals, done);
}

inline void write_map(File& out, const MapArgs& m) {
  const int32_t head[6] = {m.dtype, static_cast<int32_t>(m.rank), m.swizzle, m.nan_fill, m.im2col, 0};
  out.bytes(head, sizeof head);
  out.bytes(m.box, 5 * sizeof(uint32_t));
  out.bytes(m.estride, 5 * sizeof(uint32_t));
  out.bytes(m.lower, 3 * sizeof(int32_t));
  out.bytes(m.upper, 3 * sizeof(int32_t));
  out.bytes(m.dims, 5 * sizeof(uint64_t));
  out.bytes(m.strides, 4 * sizeof(uint64_t));
}

inline void write_replaced(File& out, const ReplaceCase& r, int done, int same, const std::vector<unsigned char>& after) {
  const uint32_t head[4] = {r.in_global, static_cast<uint32_t>(same), r.changes.n, 0};
  out.bytes(head, sizeof head);
  write_map(out, r.base);
  out.bytes(r.changes.at, r.changes.n * sizeof(Change));
  write_record(out, r.copy, done, after);
}

inline size_t probe_replace(const std::string& dir, uint64_t seed) {
  constexpr size_t kCases = 600;
  Rng rng(seed, 15);
  File out(dir, "tensormap_replace.bin");
  for (size_t i = 0; i < kCases;) {
    const ReplaceCase r = random_replace(rng);
    int done = 0, same = 0;
    const std::vector<unsigned char> after = perform_replaced(r, &done, &same);
    if (done == 0) continue;  // the driver has no such base
    if (done < 0) fatal("replace %zu: error %d", i, -done);
    write_replaced(out, r, done, same, after);
    i++;
  }
  return kCases;
}

constexpr uint32_t kReplaceEdges = 19;

// edge_replace makes a case whose last change no driver's map has, in one of the ways, or whose base is an im2col map.
inline ReplaceCase edge_replace(Rng& rng, uint32_t way) {
  for (;;) {
    ReplaceCase r = random_replace(rng);
    MapArgs& m = r.copy.map;
    if (way >= 13 && way < 18) {
      do r.copy = random_im2col(rng);
      while (!small(r.copy) || r.copy.multicast);
      vary(rng, r, random_im2col(rng).map);
    } else if (r.copy.kind != 0) {
      continue;
    }
    if (r.copy.red != 0) continue;
    const uint32_t l2 = m.l2;
    const uint32_t d = rng.below(m.rank), row = m.box[0] * r.copy.element();
    Change last = {};
    switch (way) {
      case 0: last = {kGlobalStride, d, m.strides[d] | 8}; break;
      case 1: last = {kGlobalStride, d, m.strides[d] + (1ull << 40)}; break;
      case 2: last = {kBoxDim, d, 0}; break;
      case 3: last = {kBoxDim, d, m.box[d] + 256}; break;
      case 4: last = {kElementStride, d, 0}; break;
      case 5: last = {kElementStride, d, m.estride[d] + 8}; break;
      case 6: last = {kGlobalDim, d, 0}; break;
      case 7: last = {kGlobalAddress, 0, 16ull * 100 + 8}; break;
      case 8: last = {kRank, 0, rng.below(8)}; break;
      case 9: last = {kElemType, 0, rng.below(13)}; break;
      case 10: last = {kSwizzleMode, 0, rng.below(4)}; break;
      case 11: last = {kFillMode, 0, 1}; break;
      case 12: last = {kInterleave, 0, 1 + rng.below(2)}; break;
      case 13: break;  // the address of an im2col map
      case 14: break;  // its dimensions and strides
      case 15: break;  // everything else
      case 16: last = {kBoxDim, rng.below(2), 0}; break;
      case 17: last = {kRank, 0, m.rank == 3 ? 3u : m.rank - 2}; break;
      case 18: break;  // a tf32 map becomes one that is none
    }
    if (way <= 1 && d + 1 >= m.rank) continue;
    if (way == 8 && last.value + 1 == m.rank) continue;
    static const uint32_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4};
    const uint32_t new_row = m.box[0] * bytes[last.value % 13];
    if (way == 9 && new_row % 16 == 0 && (m.swizzle == 0 || new_row <= kSpans[m.swizzle])) continue;
    if (way == 10 && (last.value == 0 || row <= kSpans[last.value])) continue;
    if (way == 11 && m.dtype >= kF16) continue;
    if (way >= 13 && way < 18) {
      r.base = m;
      if (way == 14 || way == 15) {
        for (int k = 0; k < 5; k++) r.base.dims[k] = m.dims[k] + rng.below(5);
        for (int k = 0; k < 4; k++) r.base.strides[k] = 16 * rng.range(1, 100);
      }
      if (way == 15) {
        if (row <= 128) r.base.swizzle = 3 - m.swizzle / 3 * 3;
        for (int k = 0; k < 5; k++) r.base.estride[k] = rng.range(1, 8);
        if (r.copy.element() == 2) r.base.dtype = m.dtype == kF16 ? kBF16 : kF16;
        r.base.nan_fill = r.base.dtype >= kF16 && rng.chance(2);
      }
      if (way == 16) {
        const uint32_t k = last.ord;
        last.value = m.box[k] = k == 0 ? 2 * m.box[0] : rng.range(1, 30);
        if (!small(r.copy) || (m.swizzle != 0 && m.box[0] * r.copy.element() > kSpans[m.swizzle])) continue;
      }
    }
    if (way < 13 || way == 18) r.base = random_copy(rng).map;
    if (rounds(m) || rounds(r.base) != (way == 18)) continue;
    r.base.address = 0;
    r.base.l2 = static_cast<int>(l2);
    m.address = 16 * rng.range(1, 64);
    differences(rng, r);
    if (way < 13 || way == 16 || way == 17) r.changes.add(last.field, last.ord, last.value);
    return r;
  }
}

inline size_t probe_replace_edge(const std::string& dir, uint64_t seed) {
  size_t records = 0;
  Rng rng(seed, 16);
  File out(dir, "tensormap_replace_edge.bin");
  forked<ReplaceCase>(
      3 * kReplaceEdges, [&](int i) { return edge_replace(rng, i % kReplaceEdges); },
      [](const ReplaceCase& r, Outcome* o) { return perform_replaced(r, &o->done, &o->same); },
      [&](const ReplaceCase& r, const Outcome& o, const std::vector<unsigned char>& after) {
        if (o.done == 0) return;
        records++;
        write_replaced(out, r, o.done, o.same, after);
      });
  return records;
}
