// Two blocks of a cluster write into each other's shared memory.
//
// Build: nvcc -gencode=arch=compute_90a,code=sm_90a -std=c++17 -O2 dsmem.cu -o dsmem
#include <cooperative_groups.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

constexpr int kBlocks = 4, kThreads = 32;

__global__ void __cluster_dims__(2) exchange(int* out, unsigned* ranks) {
  __shared__ int x[kThreads];
  const int t = threadIdx.x;
  cg::cluster_group cluster = cg::this_cluster();

  x[t] = 1;
  cluster.sync();

  int* remote = cluster.map_shared_rank(x, cluster.block_rank() ^ 1);
  remote[kThreads - 1 - t] = 1000 * blockIdx.x + t + 2;
  if (t == 0) ranks[blockIdx.x] = cluster.query_shared_rank(remote);

  cluster.sync();  // the writes have landed, and nobody leaves while its memory is written
  out[blockIdx.x * kThreads + t] = x[t];
}

static void check(cudaError_t e) {
  if (e == cudaSuccess) return;
  fprintf(stderr, "%s\n", cudaGetErrorString(e));
  exit(1);
}

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
  int* out = upload(std::vector<int>(kBlocks * kThreads));
  unsigned* ranks = upload(std::vector<unsigned>(kBlocks));
  exchange<<<kBlocks, kThreads>>>(out, ranks);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  print("dsmem.out", out, kBlocks * kThreads * sizeof(int));
  print("dsmem.ranks", ranks, kBlocks * sizeof(unsigned));
}
