// A cuda::pipeline of one stage whose threads all produce and consume.
//
// Build: nvcc -gencode=arch=compute_90a,code=sm_90a -std=c++17 -O2 pipelinesingle.cu -o pipelinesingle
#include <cooperative_groups.h>
#include <cuda/pipeline>

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

__global__ void singleStage(int* out, const int* in) {
  extern __shared__ int shared[];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
  auto grid = cg::this_grid();
  auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);

  for (size_t batch = 0; batch < kBatches; ++batch) {
    const size_t start = block.group_index().x * block.size() + grid.size() * batch;
    pipeline.producer_acquire();
    cuda::memcpy_async(block, shared, in + start, sizeof(int) * block.size(), pipeline);
    pipeline.producer_commit();
    pipeline.consumer_wait();
    compute(out + start, shared);
    pipeline.consumer_release();
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
  int* out = upload(std::vector<int>(size));
  singleStage<<<kBlocks, kThreads, kThreads * sizeof(int)>>>(out, upload(in));
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  print("pipelinesingle.out", out, size * sizeof(int));
}
