// A tile of a matrix is loaded through a tensor map, its first row changed, and stored through the same map:
// once inside the matrix, and once over its right and lower edge, where the load fills with zeros and the store is cut.
//
// Build: nvcc -gencode=arch=compute_90a,code=sm_90a -std=c++17 -O2 tile2d.cu -o tile2d
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace ptx = cuda::ptx;

constexpr int kWidth = 128, kHeight = 96;         // the matrix
constexpr int kTileWidth = 64, kTileHeight = 16;  // the box

__global__ void modifyTile(const __grid_constant__ CUtensorMap map, int x, int y, int* columnSums) {
  __shared__ alignas(128) int tile[kTileHeight][kTileWidth];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier bar;
  const int t = threadIdx.x;
  const int at[] = {x, y};

  if (t == 0) {
    init(&bar, blockDim.x);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();

  Barrier::arrival_token token;
  if (t == 0) {
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, at,
                              cuda::device::barrier_native_handle(bar));
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile));
  } else {
    token = bar.arrive();
  }
  bar.wait(std::move(token));

  unsigned sum = 0;
  for (int row = 0; row < kTileHeight; ++row) sum += tile[row][t];
  columnSums[t] = int(sum);
  tile[0][t] = int(unsigned(tile[0][t]) + t);

  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (t == 0) {
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, at, tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    (&bar)->~Barrier();
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

// A rank-2 map of a dense int32 matrix, without swizzle.
static CUtensorMap tensorMap(int* address, uint64_t width, uint64_t height, uint32_t boxWidth, uint32_t boxHeight) {
  void* symbol;
  cudaDriverEntryPointQueryResult found;
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &symbol, 12000, cudaEnableDefault, &found));
  auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(symbol);
  const uint64_t dims[] = {width, height}, strides[] = {width * sizeof(int)};
  const uint32_t box[] = {boxWidth, boxHeight}, steps[] = {1, 1};
  CUtensorMap map;
  CUresult r = encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, address, dims, strides, box, steps,
                      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (r != CUDA_SUCCESS) {
    fprintf(stderr, "cuTensorMapEncodeTiled: %d\n", int(r));
    exit(1);
  }
  return map;
}

static void run(const char* matrixName, const char* sumsName, int x, int y) {
  std::vector<int> host(kWidth * kHeight);
  for (size_t i = 0; i < host.size(); ++i) host[i] = int(element(i, 1));
  int* matrix = upload(host);
  int* sums = upload(std::vector<int>(kTileWidth));
  modifyTile<<<1, kTileWidth>>>(tensorMap(matrix, kWidth, kHeight, kTileWidth, kTileHeight), x, y, sums);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  print(matrixName, matrix, host.size() * sizeof(int));
  print(sumsName, sums, kTileWidth * sizeof(int));
}

int main() {
  run("tile2d.inside", "tile2d.inside_sums", 36, 21);
  run("tile2d.edge", "tile2d.edge_sums", 100, 88);
}
