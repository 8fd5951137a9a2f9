// Four blocks of 32 threads load, update and store a quarter of a matrix each. A second kernel asks a barrier
// for both parities before, while and after a tile lands, twice.
//
// Build: nvcc -gencode=arch=compute_90a,code=sm_90a -std=c++17 -O2 quarters.cu -o quarters
#include <cuda.h>
#include <cuda/ptx>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ptx = cuda::ptx;

constexpr int kBlocks = 4, kThreads = 32;
constexpr int kRows = 64, kColumns = 32, kTileRows = kRows / kBlocks;
constexpr int kTileBytes = kTileRows * kColumns * sizeof(int);

__device__ uint32_t address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

__device__ void initOne(uint64_t* bar) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(bar)) : "memory");
  ptx::fence_proxy_async(ptx::space_shared);
}

__device__ void arriveExpectTx(uint64_t* bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(bar)), "r"(bytes) : "memory");
}

__device__ bool testParity(uint64_t* bar, int parity) {
  int done;
  asm volatile(
      "{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
      : "=r"(done)
      : "r"(address(bar)), "r"(parity)
      : "memory");
  return done;
}

__global__ void quarter(const __grid_constant__ CUtensorMap map) {
  __shared__ alignas(128) int tile[kTileRows][kColumns];
  __shared__ uint64_t bar;
  const int t = threadIdx.x;
  const int at[] = {0, int(blockIdx.x) * kTileRows};

  if (t == 0) {
    initOne(&bar);
    arriveExpectTx(&bar, kTileBytes);
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, at, &bar);
  }
  __syncthreads();
  while (!testParity(&bar, 0)) {
  }

  for (int row = 0; row < kTileRows; ++row) {
    tile[row][t] = int(2u * unsigned(tile[row][t]) + 1000 * blockIdx.x + row);
  }

  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (t == 0) {
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, at, tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

// One thread; answers[2 * i + p] is what a wait for parity p said at moment i.
__global__ void parities(const __grid_constant__ CUtensorMap map, int* answers) {
  __shared__ alignas(128) int tile[kTileRows][kColumns];
  __shared__ uint64_t bar;
  const int at[] = {0, 0};
  auto ask = [&] {
    *answers++ = testParity(&bar, 0);
    *answers++ = testParity(&bar, 1);
  };
  initOne(&bar);
  ask();
  for (int use = 0; use < 2; ++use) {
    arriveExpectTx(&bar, kTileBytes);
    ask();
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, at, &bar);
    while (!testParity(&bar, use)) {
    }
    ask();
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

int main() {
  std::vector<int> host(kRows * kColumns);
  for (size_t i = 0; i < host.size(); ++i) host[i] = int(element(i, 1));
  int* matrix = upload(host);
  int* answers = upload(std::vector<int>(10));
  const CUtensorMap map = tensorMap(matrix, kColumns, kRows, kColumns, kTileRows);
  quarter<<<kBlocks, kThreads>>>(map);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  print("quarters.matrix", matrix, host.size() * sizeof(int));
  parities<<<1, 1>>>(map, answers);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  print("quarters.parities", answers, 10 * sizeof(int));

  int a[10];
  check(cudaMemcpy(a, answers, sizeof(a), cudaMemcpyDeviceToHost));
  const char* moments[] = {"init 1", "arrive.expect_tx", "bytes landed", "arrive.expect_tx", "bytes landed"};
  for (int i = 0; i < 5; ++i) printf("# after %-16s parity 0: %d  parity 1: %d\n", moments[i], a[2 * i], a[2 * i + 1]);
}
