// Two bulk copies of different types on one barrier: every thread arrives, and the one that issued the
// copies brings the number of bytes of both.
//
// Build: nvcc -gencode=arch=compute_90a,code=sm_90a -std=c++17 -O2 memcpyasynctx.cu -o memcpyasynctx
#include <cuda/barrier>
#include <cuda/ptx>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace ptx = cuda::ptx;

constexpr int kTile = 1024;

// One thread of warp 0, the same one whenever it is asked.
__device__ bool leader() {
  const unsigned warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  if (warp != 0) return false;
  int elected;  // cuda::ptx::elect_sync, which CUDA 13.0 does not have
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xFFFFFFFF; selp.b32 %0, 1, 0, p; }" : "=r"(elected));
  return elected;
}

__global__ void twoCopies(const int* ints, const double* doubles, int* outInts, double* outDoubles) {
  __shared__ alignas(16) int tileInts[kTile];
  __shared__ alignas(16) double tileDoubles[kTile];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier bar;
  const int t = threadIdx.x;

  if (t == 0) {
    init(&bar, blockDim.x);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();

  const bool elected = leader();
  if (elected) {
    cuda::device::memcpy_async_tx(tileInts, ints, cuda::aligned_size_t<16>(sizeof(tileInts)), bar);
    cuda::device::memcpy_async_tx(tileDoubles, doubles, cuda::aligned_size_t<16>(sizeof(tileDoubles)), bar);
  }
  auto token = cuda::device::barrier_arrive_tx(bar, 1, elected ? sizeof(tileInts) + sizeof(tileDoubles) : 0);
  bar.wait(cuda::std::move(token));

  outInts[t] = int(unsigned(tileInts[t]) + 1);
  outDoubles[t] = 2 * tileDoubles[kTile - 1 - t] + t;
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
  std::vector<int> ints(kTile);
  std::vector<double> doubles(kTile);
  for (int i = 0; i < kTile; ++i) {
    ints[i] = int(element(i, 1));
    doubles[i] = int(element(i, 2)) * 0.5;
  }
  int* outInts = upload(std::vector<int>(kTile));
  double* outDoubles = upload(std::vector<double>(kTile));
  twoCopies<<<1, kTile>>>(upload(ints), upload(doubles), outInts, outDoubles);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  print("memcpyasynctx.ints", outInts, kTile * sizeof(int));
  print("memcpyasynctx.doubles", outDoubles, kTile * sizeof(double));
}
