// Copies through tensor maps: the kernels that perform one, and how it is recorded.
#pragma once

#include <algorithm>

#include "mbarrier.cuh"
#include "tensor.cuh"
#include "tensormap.cuh"

constexpr uint32_t kSharedBytes = 32 << 10;
constexpr size_t kGlobalBytes = 1 << 20;

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

// load_box is a CTA that loads a box and writes down its shared memory, and the bytes that were signalled.
__device__ inline void load_box(const CUtensorMap* map, uint32_t rank, const Coord& at, uint32_t offset, int bytes,
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
    tma_load(rank, shared_address(memory) + offset, map, at, bar);
    *done = signalled(bar, bytes);
  }
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < kSharedBytes; k += blockDim.x) out[k] = memory[k];
}

__global__ void load_kernel(const __grid_constant__ CUtensorMap map, uint32_t rank, Coord at, uint32_t offset, int bytes,
                            unsigned char* out, int* done) {
  load_box(&map, rank, at, offset, bytes, out, done);
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

// store_box is a CTA that stores or combines a box of a pattern.
__device__ inline void store_box(const CUtensorMap* map, uint32_t rank, uint32_t red, const Coord& at, uint32_t offset,
                                 uint32_t seed) {
  extern __shared__ unsigned char raw[];
  unsigned char* memory = align1024(raw);
  for (uint32_t k = threadIdx.x; k < kSharedBytes; k += blockDim.x) memory[k] = (k * 2246822519u + seed) >> 11 & 255;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint32_t src = shared_address(memory) + offset;
    if (at.im2col) {
      im2col_store(rank, red, map, at, src);
    } else if (red != 0) {
      tma_reduce(red, map, at, src);
    } else {
      tma_store(rank, map, at, src);
    }
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  __syncthreads();
}

__global__ void store_kernel(const __grid_constant__ CUtensorMap map, uint32_t rank, uint32_t red, Coord at, uint32_t offset,
                             uint32_t seed) {
  store_box(&map, rank, red, at, offset, seed);
}

__global__ void prefetch_kernel(const __grid_constant__ CUtensorMap map, uint32_t rank, Coord at) {
  tma_prefetch(rank, &map, at);
}

// CopyCase is one copy.
struct CopyCase {
  int kind = 0;  // 0 load, 1 store or reduction, 2 prefetch
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
    uint64_t n = (map.dims[0] * element() + 15) / 16 * 16;
    for (uint32_t d = 1; d < map.rank; d++) n = std::max(n, map.strides[d - 1] * map.dims[d]);
    return n;
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

// fill puts into global memory what is there before a copy.
inline void fill(const CopyCase& c, unsigned char* global, size_t bytes) {
  std::vector<unsigned char> memory(bytes, 0xCC);
  if (c.kind == 0 || c.red != 0) {
    for (size_t k = 0; k < bytes; k++) memory[k] = global_pattern(static_cast<uint32_t>(k), c.seed);
  }
  CHECK(cudaMemcpy(global, memory.data(), bytes, cudaMemcpyHostToDevice));
}

// outcome waits for a copy and returns the memory that it has written. What stopped it is in done, if anything did.
inline std::vector<unsigned char> outcome(const CopyCase& c, const unsigned char* global, const Buffer<unsigned char>& shared,
                                          const Buffer<int>& signals, int* done) {
  const cudaError_t launched = cudaGetLastError(), err = launched != cudaSuccess ? launched : cudaDeviceSynchronize();
  if (err != cudaSuccess) {
    *done = -static_cast<int>(err);
    return {};
  }
  *done = 1;
  std::vector<unsigned char> after(c.kind == 1 ? c.global_bytes() : 0);
  if (c.kind == 1) CHECK(cudaMemcpy(after.data(), global, after.size(), cudaMemcpyDeviceToHost));
  if (c.kind != 0) return after;
  *done = signals.take()[0];
  after = shared.take();
  while (!after.empty() && after.back() == 0xEE) after.pop_back();
  return after;
}

// perform does a copy and returns the memory that it writes.
inline std::vector<unsigned char> perform(CopyCase c, int* done) {
  Buffer<unsigned char> global(kGlobalBytes), shared(kSharedBytes);
  Buffer<int> signals(1);
  c.map.address = reinterpret_cast<uint64_t>(global.get());
  alignas(64) CUtensorMap map;
  if (encode(&map, c.map) != CUDA_SUCCESS) {
    *done = 0;
    return {};
  }
  fill(c, global.get(), c.global_bytes());
  const int bytes = static_cast<int>(c.box_bytes());
  if (c.multicast) {
    multicast_kernel<<<2, 128, kSharedBytes + 1024>>>(map, c.map.rank, c.at, c.offset, bytes, shared.get(), signals.get());
  } else if (c.kind == 0) {
    load_kernel<<<1, 128, kSharedBytes + 1024>>>(map, c.map.rank, c.at, c.offset, bytes, shared.get(), signals.get());
  } else if (c.kind == 1) {
    store_kernel<<<1, 128, kSharedBytes + 1024>>>(map, c.map.rank, static_cast<uint32_t>(c.red), c.at, c.offset, c.seed);
  } else {
    prefetch_kernel<<<1, 1>>>(map, c.map.rank, c.at);
  }
  return outcome(c, global.get(), shared, signals, done);
}

// record performs a copy that is to succeed, and writes it down.
inline void record(File& out, const CopyCase& c, size_t index) {
  int done = 0;
  const std::vector<unsigned char> after = perform(c, &done);
  if (done == 0) fatal("copy %zu: the driver refused its tensor map", index);
  if (done < 0) fatal("copy %zu: error %d", index, -done);
  write_record(out, c, done, after);
}
