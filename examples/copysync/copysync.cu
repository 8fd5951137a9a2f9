// Copy a batch to shared memory, then compute from it, in three ways: copy through registers and sync;
// cooperative_groups::memcpy_async and wait; cuda::memcpy_async and a barrier.
//
// Build: nvcc -gencode=arch=compute_90a,code=sm_90a -std=c++17 -O2 copysync.cu -o copysync
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

constexpr int kBlocks = 4, kThreads = 64, kBatches = 5;

// What a thread makes of a batch: from its own element and from the one at the other end.
__device__ void compute(int* out, const int* batch) {
  const unsigned t = threadIdx.x, n = blockDim.x;
  out[t] = int(3u * unsigned(batch[t]) + unsigned(batch[n - 1 - t]));
}

__device__ size_t batchStart(size_t batch) {
  return cg::this_thread_block().group_index().x * kThreads + cg::this_grid().size() * batch;
}

__global__ void withoutMemcpyAsync(int* out, const int* in) {
  extern __shared__ int shared[];
  auto block = cg::this_thread_block();
  for (size_t batch = 0; batch < kBatches; ++batch) {
    const size_t start = batchStart(batch);
    shared[block.thread_rank()] = in[start + block.thread_rank()];
    block.sync();  // the copies are done
    compute(out + start, shared);
    block.sync();  // shared may be overwritten
  }
}

__global__ void withMemcpyAsync(int* out, const int* in) {
  extern __shared__ int shared[];
  auto block = cg::this_thread_block();
  for (size_t batch = 0; batch < kBatches; ++batch) {
    const size_t start = batchStart(batch);
    cg::memcpy_async(block, shared, in + start, sizeof(int) * block.size());
    cg::wait(block);
    compute(out + start, shared);
    block.sync();
  }
}

__global__ void withBarrier(int* out, const int* in) {
  extern __shared__ int shared[];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  for (size_t batch = 0; batch < kBatches; ++batch) {
    const size_t start = batchStart(batch);
    cuda::memcpy_async(block, shared, in + start, sizeof(int) * block.size(), bar);
    bar.arrive_and_wait();
    compute(out + start, shared);
    block.sync();
  }
}

static void check(cudaError_t e) {
  if (e == cudaSuccess) return;
  fprintf(stderr, "%s\n", cudaGetErrorString(e));
  exit(1);
}

// The inputs of every example: element i of the array with this seed.
static uint32_t element(uint32_t i, uint32_t seed) { return i * 2654435761u + seed * 40503u; }

// Copies n bytes from the device and prints their IEEE CRC-32.
static void print(const char* name, const void* device, size_t n) {
  std::vector<uint8_t> host(n);
  check(cudaMemcpy(host.data(), device, n, cudaMemcpyDeviceToHost));
  uint32_t crc = ~0u;
  for (uint8_t b : host) {
    crc ^= b;
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  printf("%s bytes=%zu crc32=%08x\n", name, n, ~crc);
}

template <typename T>
static T* upload(const std::vector<T>& host) {
  T* device;
  check(cudaMalloc(&device, host.size() * sizeof(T)));
  check(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

int main() {
  const size_t size = kBatches * kBlocks * kThreads;
  std::vector<int> in(size);
  for (size_t i = 0; i < size; ++i) in[i] = int(element(i, 1));
  int* device = upload(in);
  const struct {
    const char* name;
    void (*kernel)(int*, const int*);
  } kernels[] = {{"copysync.without_memcpy_async", withoutMemcpyAsync},
                 {"copysync.with_memcpy_async", withMemcpyAsync},
                 {"copysync.with_barrier", withBarrier}};
  for (auto& k : kernels) {
    int* out = upload(std::vector<int>(size));
    k.kernel<<<kBlocks, kThreads, kThreads * sizeof(int)>>>(out, device);
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
    print(k.name, out, size * sizeof(int));
  }
}
