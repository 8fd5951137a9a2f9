// A piece of an array is loaded by a bulk copy, incremented in shared memory, and stored by a bulk copy.
//
// Build: nvcc -gencode=arch=compute_90a,code=sm_90a -std=c++17 -O2 addone.cu -o addone
#include <cuda/barrier>
#include <cuda/ptx>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace ptx = cuda::ptx;

constexpr int kPiece = 1024;

__global__ void addOne(int* data, size_t offset) {
  __shared__ alignas(16) int piece[kPiece];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier bar;

  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();

  if (threadIdx.x == 0) {  // the copy and its expect_tx; it arrives for nobody
    cuda::memcpy_async(piece, data + offset, cuda::aligned_size_t<16>(sizeof(piece)), bar);
  }
  bar.wait(bar.arrive());

  for (int i = threadIdx.x; i < kPiece; i += blockDim.x) piece[i] = int(unsigned(piece[i]) + 1);

  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, data + offset, piece, sizeof(piece));
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
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
  std::vector<int> host(4 * kPiece);
  for (size_t i = 0; i < host.size(); ++i) host[i] = int(element(i, 1));
  int* data = upload(host);
  addOne<<<1, 128>>>(data, kPiece);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  print("addone.data", data, host.size() * sizeof(int));
}
