// Arriving and waiting are two steps, and what does not need the others is computed between them.
//
// Build: nvcc -gencode=arch=compute_90a,code=sm_90a -std=c++17 -O2 splitarrivewait.cu -o splitarrivewait
#include <cooperative_groups.h>
#include <cuda/barrier>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kThreads = 128;

// What a thread does while the others still arrive: of its own value only.
__device__ uint32_t compute(uint32_t value, int iteration) { return value * 1664525u + 1013904223u + iteration; }

__global__ void splitArriveWait(int iterations, uint32_t* data) {
  __shared__ uint32_t published[2][kThreads];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier bar;
  auto block = cooperative_groups::this_thread_block();
  const unsigned t = block.thread_rank();

  if (t == 0) init(&bar, block.size());
  block.sync();

  uint32_t value = data[t];
  for (int i = 0; i < iterations; ++i) {
    published[i % 2][t] = value;                                  // before arrive
    Barrier::arrival_token token = bar.arrive();
    const uint32_t own = compute(value, i);                       // between
    bar.wait(std::move(token));
    value = own ^ published[i % 2][(t + 1) % kThreads];           // after wait
  }
  data[t] = value;
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
  std::vector<uint32_t> host(kThreads);
  for (int i = 0; i < kThreads; ++i) host[i] = element(i, 1);
  uint32_t* data = upload(host);
  splitArriveWait<<<1, kThreads>>>(16, data);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  print("splitarrivewait.data", data, kThreads * sizeof(uint32_t));
}
