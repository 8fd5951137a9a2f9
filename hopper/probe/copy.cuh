// Copies through tensor maps: the instructions, the kernels that perform one, and how it is recorded.
#pragma once

#include "mbarrier.cuh"
#include "tensormap.cuh"

constexpr uint32_t kSharedBytes = 32 << 10;
constexpr size_t kGlobalBytes = 1 << 20;

// Coord is where an instruction copies, and in which mode.
struct Coord {
  int32_t c[5];
  bool im2col;
  uint16_t offset[3];  // of im2col loads
};

// The copies, PTX ISA 9.7.9.27. Every rank is an instruction of its own.

__device__ inline void im2col_load(uint32_t rank, uint32_t dst, const CUtensorMap* map, const Coord& at, uint32_t bar) {
#define LOAD(dims, coords, offsets, ...)                                                                                   \
  asm volatile("cp.async.bulk.tensor." dims ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {" coords \
               "}], [%2], {" offsets "};" ::"r"(dst), "l"(map), "r"(bar), __VA_ARGS__ : "memory")
  const int32_t* c = at.c;
  const uint16_t* o = at.offset;
  switch (rank) {
    case 3: LOAD("3d", "%3, %4, %5", "%6", "r"(c[0]), "r"(c[1]), "r"(c[2]), "h"(o[0])); break;
    case 4:
      LOAD("4d", "%3, %4, %5, %6", "%7, %8", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "h"(o[0]), "h"(o[1]));
      break;
    case 5:
      LOAD("5d", "%3, %4, %5, %6, %7", "%8, %9, %10", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]), "h"(o[0]), "h"(o[1]),
           "h"(o[2]));
      break;
  }
#undef LOAD
}

__device__ inline void im2col_multicast(uint32_t rank, uint32_t dst, const CUtensorMap* map, const Coord& at, uint32_t bar,
                                        uint16_t mask) {
#define LOAD(dims, coords, offsets, ...)                                                                                        \
  asm volatile("cp.async.bulk.tensor." dims                                                                                      \
               ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {" coords "}], [%2], {" \
               offsets "}, %3;" ::"r"(dst), "l"(map), "r"(bar), "h"(mask), __VA_ARGS__ : "memory")
  const int32_t* c = at.c;
  const uint16_t* o = at.offset;
  switch (rank) {
    case 3: LOAD("3d", "%4, %5, %6", "%7", "r"(c[0]), "r"(c[1]), "r"(c[2]), "h"(o[0])); break;
    case 4:
      LOAD("4d", "%4, %5, %6, %7", "%8, %9", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "h"(o[0]), "h"(o[1]));
      break;
    case 5:
      LOAD("5d", "%4, %5, %6, %7, %8", "%9, %10, %11", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]), "h"(o[0]),
           "h"(o[1]), "h"(o[2]));
      break;
  }
#undef LOAD
}

__device__ inline void im2col_store(uint32_t rank, uint32_t red, const CUtensorMap* map, const Coord& at, uint32_t src) {
#define ISSUE(name, dims, mode, coords, ...)                                                                      \
  asm volatile(name dims ".global.shared::cta" mode ".im2col_no_offs.bulk_group [%0, {" coords "}], [%1];" ::"l"(map), \
               "r"(src), __VA_ARGS__ : "memory")
#define RANKS(name, mode)                                                                                                \
  switch (rank) {                                                                                                        \
    case 3: ISSUE(name, "3d", mode, "%2, %3, %4", "r"(c[0]), "r"(c[1]), "r"(c[2])); break;                                 \
    case 4: ISSUE(name, "4d", mode, "%2, %3, %4, %5", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])); break;                  \
    case 5: ISSUE(name, "5d", mode, "%2, %3, %4, %5, %6", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4])); break; \
  }                                                                                                                      \
  break
#define REDUCE(op) RANKS("cp.reduce.async.bulk.tensor.", op)
  const int32_t* c = at.c;
  switch (red) {
    case 0: RANKS("cp.async.bulk.tensor.", "");
    case 1: REDUCE(".add");
    case 2: REDUCE(".min");
    case 3: REDUCE(".max");
    case 4: REDUCE(".inc");
    case 5: REDUCE(".dec");
    case 6: REDUCE(".and");
    case 7: REDUCE(".or");
    case 8: REDUCE(".xor");
  }
#undef ISSUE
#undef RANKS
#undef REDUCE
}

__device__ inline void tma_load(uint32_t rank, uint32_t dst, const CUtensorMap* map, const Coord& at, uint32_t bar) {
  if (at.im2col) return im2col_load(rank, dst, map, at, bar);
#define LOAD(dims) "cp.async.bulk.tensor." dims ".shared::cluster.global.tile.mbarrier::complete_tx::bytes "
  switch (rank) {
    case 1:
      asm volatile(LOAD("1d") "[%0], [%1, {%3}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]) : "memory");
      break;
    case 2:
      asm volatile(LOAD("2d") "[%0], [%1, {%3, %4}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]), "r"(at.c[1]) : "memory");
      break;
    case 3:
      asm volatile(LOAD("3d") "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]), "r"(at.c[1]),
                   "r"(at.c[2]) : "memory");
      break;
    case 4:
      asm volatile(LOAD("4d") "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]), "r"(at.c[1]),
                   "r"(at.c[2]), "r"(at.c[3]) : "memory");
      break;
    case 5:
      asm volatile(LOAD("5d") "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]), "r"(at.c[1]),
                   "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4]) : "memory");
      break;
  }
#undef LOAD
}

__device__ inline void tma_store(uint32_t rank, const CUtensorMap* map, const Coord& at, uint32_t src) {
#define STORE(dims) "cp.async.bulk.tensor." dims ".global.shared::cta.tile.bulk_group "
  switch (rank) {
    case 1:
      asm volatile(STORE("1d") "[%0, {%2}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]) : "memory");
      break;
    case 2:
      asm volatile(STORE("2d") "[%0, {%2, %3}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]) : "memory");
      break;
    case 3:
      asm volatile(STORE("3d") "[%0, {%2, %3, %4}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]) : "memory");
      break;
    case 4:
      asm volatile(STORE("4d") "[%0, {%2, %3, %4, %5}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]),
                   "r"(at.c[3]) : "memory");
      break;
    case 5:
      asm volatile(STORE("5d") "[%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]),
                   "r"(at.c[3]), "r"(at.c[4]) : "memory");
      break;
  }
#undef STORE
}

__device__ inline void tma_reduce(uint32_t red, const CUtensorMap* map, const Coord& at, uint32_t src) {
#define REDUCE(op)                                                                                        \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." op ".tile.bulk_group [%0, {%2, %3}], [%1];" \
               ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]) : "memory")
  switch (red) {
    case 1: REDUCE("add"); break;
    case 2: REDUCE("min"); break;
    case 3: REDUCE("max"); break;
    case 4: REDUCE("inc"); break;
    case 5: REDUCE("dec"); break;
    case 6: REDUCE("and"); break;
    case 7: REDUCE("or"); break;
    case 8: REDUCE("xor"); break;
  }
#undef REDUCE
}

// poll waits for the phase of a parity, but not for ever.
__device__ inline bool poll(uint32_t bar, uint32_t parity, long long cycles) {
  const long long start = clock64();
  do {
    if (mbarrier_test_wait_parity(bar, parity)) return true;
  } while (clock64() - start < cycles);
  return false;
}

// signalled returns how many bytes a copy booked on a barrier whose only
// arrival expected bytes: it makes up for what is missing, or has the next phase
// absorb what is too much.
__device__ inline int signalled(uint32_t bar, int bytes) {
  constexpr long long kLong = 200 * 1000 * 1000, kShort = 20000;
  if (!poll(bar, 0, kLong)) {
    for (int missing = 1; missing <= bytes; missing++) {
      mbarrier_complete_tx(bar, 1);
      if (mbarrier_test_wait_parity(bar, 0)) return bytes - missing;
    }
    return -1;
  }
  mbarrier_arrive(bar);
  if (poll(bar, 1, kShort)) return bytes;
  for (int more = 1; more <= bytes; more++) {
    mbarrier_expect_tx(bar, 1);
    if (mbarrier_test_wait_parity(bar, 1)) return bytes + more;
  }
  return -2;
}

__global__ void load_kernel(const __grid_constant__ CUtensorMap map, uint32_t rank, Coord at, uint32_t offset, int bytes,
                            unsigned char* out, int* done) {
  extern __shared__ unsigned char raw[];
  __shared__ uint64_t object;
  unsigned char* memory = align1024(raw);
  for (uint32_t k = threadIdx.x; k < kSharedBytes; k += blockDim.x) memory[k] = 0xEE;
  const uint32_t bar = shared_address(&object);
  if (threadIdx.x == 0) mbarrier_init(bar, 1);
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(bar, bytes);
    tma_load(rank, shared_address(memory) + offset, &map, at, bar);
    *done = signalled(bar, bytes);
  }
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < kSharedBytes; k += blockDim.x) out[k] = memory[k];
}

// multicast_kernel is load_kernel where CTA 0 of two copies to CTA 1, whose memory and barrier are recorded.
__global__ void __cluster_dims__(2) multicast_kernel(const __grid_constant__ CUtensorMap map, uint32_t rank, Coord at,
                                                     uint32_t offset, int bytes, unsigned char* out, int* done) {
  extern __shared__ unsigned char raw[];
  __shared__ uint64_t object;
  unsigned char* memory = align1024(raw);
  for (uint32_t k = threadIdx.x; k < kSharedBytes; k += blockDim.x) memory[k] = 0xEE;
  const uint32_t bar = shared_address(&object);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    mbarrier_arrive_expect_tx(bar, bytes);
  }
  fence_async();
  __syncthreads();
  cluster_sync();
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) {
      im2col_multicast(rank, shared_address(memory) + offset, &map, at, bar, 2);
    } else {
      *done = signalled(bar, bytes);
    }
  }
  __syncthreads();
  cluster_sync();
  if (blockIdx.x == 0) return;
  for (uint32_t k = threadIdx.x; k < kSharedBytes; k += blockDim.x) out[k] = memory[k];
}

__global__ void store_kernel(const __grid_constant__ CUtensorMap map, uint32_t rank, uint32_t red, Coord at, uint32_t offset,
                             uint32_t seed) {
  extern __shared__ unsigned char raw[];
  unsigned char* memory = align1024(raw);
  for (uint32_t k = threadIdx.x; k < kSharedBytes; k += blockDim.x) memory[k] = (k * 2246822519u + seed) >> 11 & 255;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint32_t src = shared_address(memory) + offset;
    if (at.im2col) {
      im2col_store(rank, red, &map, at, src);
    } else if (red != 0) {
      tma_reduce(red, &map, at, src);
    } else {
      tma_store(rank, &map, at, src);
    }
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  __syncthreads();
}

// CopyCase is one copy.
struct CopyCase {
  int kind = 0;  // 0 load, 1 store or reduction
  int red = 0;
  MapArgs map;
  uint32_t offset = 0;
  Coord at = {};
  bool multicast = false;  // by another CTA of the cluster
  uint32_t seed = 0;

  uint32_t element() const { return kTypeBytes[map.dtype]; }
  uint32_t moved(uint32_t d) const {
    return d == 0 || map.im2col ? map.box[d] : (map.box[d] + map.estride[d] - 1) / map.estride[d];
  }
  uint32_t box_bytes() const {
    uint32_t n = element();
    for (uint32_t d = 0; d < (map.im2col ? 2 : map.rank); d++) n *= moved(d);
    return n;
  }
  uint32_t shared_bytes() const {
    const uint32_t row = map.box[0] * element();
    return box_bytes() / row * (map.swizzle != 0 ? kSpans[map.swizzle] : row);
  }
  uint64_t global_bytes() const {
    return map.rank == 1 ? (map.dims[0] * element() + 15) / 16 * 16 : map.strides[map.rank - 2] * map.dims[map.rank - 1];
  }
};

inline unsigned char global_pattern(uint32_t k, uint32_t seed) { return (k * 2654435761u + seed) >> 13 & 255; }

inline void encode_or_die(CUtensorMap* map, const MapArgs& a, size_t index) {
  const CUresult result = encode(map, a);
  if (result != CUDA_SUCCESS) fatal("copy %zu: the driver refused its tensor map with error %d", index, result);
}

inline void write_record(File& out, const CopyCase& c, int done, const std::vector<unsigned char>& after) {
  int32_t h[40] = {};
  const int32_t head[10] = {c.kind, c.red, c.map.dtype, static_cast<int32_t>(c.map.rank), 0, c.map.swizzle, c.map.nan_fill,
                            static_cast<int32_t>(c.offset), done, static_cast<int32_t>(c.box_bytes())};
  for (int i = 0; i < 10; i++) h[i] = head[i];
  for (int d = 0; d < 5; d++) {
    h[10 + d] = static_cast<int32_t>(c.map.box[d]);
    h[15 + d] = static_cast<int32_t>(c.map.estride[d]);
    h[20 + d] = c.at.c[d];
  }
  h[25] = (c.map.im2col ? 1 : 0) + (c.at.im2col != c.map.im2col ? 2 : 0);
  for (int d = 0; d < 3; d++) {
    h[26 + d] = c.map.lower[d];
    h[29 + d] = c.map.upper[d];
    h[32 + d] = c.at.offset[d];
  }
  h[35] = c.multicast;
  out.bytes(h, sizeof h);
  out.bytes(c.map.dims, 5 * sizeof(uint64_t));
  out.bytes(c.map.strides, 4 * sizeof(uint64_t));
  out.value(c.seed);
  out.value(static_cast<uint32_t>(after.size()));
  out.values(after);
}

// perform does a copy and returns the memory that it writes. What stopped it is in done, if anything did.
inline std::vector<unsigned char> perform(CopyCase c, int* done) {
  Buffer<unsigned char> global(kGlobalBytes), shared(kSharedBytes);
  Buffer<int> signals(1);
  c.map.address = reinterpret_cast<uint64_t>(global.get());
  alignas(64) CUtensorMap map;
  if (encode(&map, c.map) != CUDA_SUCCESS) {
    *done = 0;
    return {};
  }
  std::vector<unsigned char> memory(c.global_bytes(), 0xCC);
  if (c.kind == 0 || c.red != 0) {
    for (size_t k = 0; k < memory.size(); k++) memory[k] = global_pattern(static_cast<uint32_t>(k), c.seed);
  }
  global.put(memory);
  const int bytes = static_cast<int>(c.box_bytes());
  if (c.multicast) {
    multicast_kernel<<<2, 128, kSharedBytes + 1024>>>(map, c.map.rank, c.at, c.offset, bytes, shared.get(), signals.get());
  } else if (c.kind == 0) {
    load_kernel<<<1, 128, kSharedBytes + 1024>>>(map, c.map.rank, c.at, c.offset, bytes, shared.get(), signals.get());
  } else {
    store_kernel<<<1, 128, kSharedBytes + 1024>>>(map, c.map.rank, static_cast<uint32_t>(c.red), c.at, c.offset, c.seed);
  }
  const cudaError_t launched = cudaGetLastError(), err = launched != cudaSuccess ? launched : cudaDeviceSynchronize();
  if (err != cudaSuccess) {
    *done = -static_cast<int>(err);
    return {};
  }
  *done = 1;
  if (c.kind == 1) return global.take(memory.size());
  *done = signals.take()[0];
  std::vector<unsigned char> after = shared.take();
  while (!after.empty() && after.back() == 0xEE) after.pop_back();
  return after;
}

// record performs a copy that is to succeed, and writes it down.
inline void record(File& out, const CopyCase& c, size_t index) {
  int done = 0;
  const std::vector<unsigned char> after = perform(c, &done);
  if (done == 0) fatal("copy %zu: the driver refused its tensor map", index);
  if (done < 0) fatal("copy %zu: error %d", index, -done);
  write_record(out, c, done, after);
}
