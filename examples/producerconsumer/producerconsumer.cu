// One warp fills two buffers in turn, the other warps empty them: two barriers a buffer, ready and filled,
// and on each all threads of the block arrive.
//
// Build: nvcc -gencode=arch=compute_90a,code=sm_90a -std=c++17 -O2 producerconsumer.cu -o producerconsumer
#include <cooperative_groups.h>
#include <cuda/barrier>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kThreads = 128, kWarp = 32;

__device__ void produce(Barrier ready[], Barrier filled[], float* buffers, const float* in, int n, int length) {
  for (int i = 0; i < n / length; ++i) {
    ready[i % 2].arrive_and_wait();
    float* buffer = buffers + (i % 2) * length;
    for (int j = threadIdx.x; j < length; j += kWarp) buffer[j] = in[i * length + j];
    (void)filled[i % 2].arrive();
  }
}

__device__ void consume(Barrier ready[], Barrier filled[], const float* buffers, float* out, int n, int length) {
  (void)ready[0].arrive();
  (void)ready[1].arrive();
  for (int i = 0; i < n / length; ++i) {
    filled[i % 2].arrive_and_wait();
    const float* buffer = buffers + (i % 2) * length;
    for (int j = threadIdx.x - kWarp; j < length; j += kThreads - kWarp) {
      out[i * length + j] = 2 * buffer[length - 1 - j] + i;
    }
    (void)ready[i % 2].arrive();
  }
}

__global__ void producerConsumer(int n, int length, const float* in, float* out) {
  extern __shared__ float buffers[];  // 2 * length
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier bars[4];  // ready 0, ready 1, filled 0, filled 1
  auto block = cooperative_groups::this_thread_block();

  if (block.thread_rank() < 4) init(bars + block.thread_rank(), block.size());
  block.sync();

  if (block.thread_rank() < kWarp) {
    produce(bars, bars + 2, buffers, in, n, length);
  } else {
    consume(bars, bars + 2, buffers, out, n, length);
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
  const int n = 1024, length = 64;
  std::vector<float> in(n);
  for (int i = 0; i < n; ++i) in[i] = float(element(i, 1) >> 16);
  float* out = upload(std::vector<float>(n));
  producerConsumer<<<1, kThreads, 2 * length * sizeof(float)>>>(n, length, upload(in), out);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  print("producerconsumer.out", out, n * sizeof(float));
}
