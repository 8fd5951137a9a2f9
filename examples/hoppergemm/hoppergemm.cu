// A bf16 product with C column-major, D = A * B^T, A M x K and B N x K row-major: a warp-specialised kernel with a
// ring of stages between a producer and its consumers, and the steps from there to a fast one. All of them
// print the same checksum.
//
//   walkthrough   64 x 64 tiles, one consumer warpgroup, token barriers with 128 * consumers + 1 arrivals
//   tiles128      128 x 128 tiles, two consumer warpgroups
//   parity        one arrival for each role, waits by parity
//   persistent    fewer blocks than tiles
//   cluster       two blocks share B by multicast
//   tmastore      C leaves through shared memory and a tensor map
//
// Usage: hoppergemm [size ...], multiples of 256; without, 256 512 1024
//
// Build: nvcc -gencode=arch=compute_90a,code=sm_90a -std=c++17 -O2 hoppergemm.cu -o hoppergemm
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda/barrier>
#include <cuda/ptx>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

using Barrier = cuda::barrier<cuda::thread_scope_block>;
using bf16 = __nv_bfloat16;
namespace ptx = cuda::ptx;

constexpr int BK = 64, QSIZE = 5;

__device__ uint32_t address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

// A K-major operand in rows of 64 elements, loaded with the 128-byte swizzle: 8 rows are 1024 bytes.
__device__ uint64_t descriptor(const bf16* p) {
  return (address(p) & 0x3FFFF) >> 4 | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}

// D of 64 x 64 += A of 64 x 16 times B of 64 x 16, transposed.
__device__ void mma(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile(
      "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, accumulate, 1, 1, 0, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b));
}

// The same with 128 columns.
__device__ void mma(float (&d)[64], uint64_t a, uint64_t b) {
  asm volatile(
      "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, accumulate, 1, 1, 0, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(a), "l"(b));
}

__device__ void mmaFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ void mmaFinish() {
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// One stage: 64 of K, in four steps of 16.
template <int N>
__device__ void mmaStage(float (&d)[N / 2], const bf16* a, const bf16* b) {
  mmaFence();
  for (int k = 0; k < BK; k += 16) mma(d, descriptor(a + k), descriptor(b + k));
  mmaFinish();
}

// Calls f(row, column, value) for what thread t of a warpgroup holds of a 64 x N tile.
template <int Registers, typename F>
__device__ void eachElement(const float (&d)[Registers], int t, F f) {
  const int row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
#pragma unroll
  for (int i = 0; i < Registers; ++i) f(row + i / 2 % 2 * 8, column + i / 4 * 8 + i % 2, d[i]);
}

__device__ void load(bf16* dst, const CUtensorMap* map, int column, int row, uint64_t* bar) {
  const int at[] = {column, row};
  ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, dst, map, at, bar);
}

// walkthrough and tiles128: warpgroup 0 produces, every other one owns 64 rows of the tile.
template <int BM, int BN>
__global__ void __launch_bounds__(128 + 2 * BM)
    tokens(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB, bf16* c, int M, int K) {
  constexpr int kConsumers = BM / 64;
  extern __shared__ __align__(1024) bf16 ring[];
  bf16 *sA = ring, *sB = ring + QSIZE * BM * BK;
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier full[QSIZE], empty[QSIZE];
  const int m = blockIdx.x % (M / BM) * BM, n = blockIdx.x / (M / BM) * BN;
  const int group = threadIdx.x / 128, t = threadIdx.x % 128;

  if (threadIdx.x == 0) {
    for (int i = 0; i < QSIZE; ++i) {
      init(&full[i], kConsumers * 128 + 1);
      init(&empty[i], kConsumers * 128 + 1);
    }
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();

  if (group == 0) {
    if (t != 0) return;
    for (int k = 0, q = 0; k < K; k += BK, q = (q + 1) % QSIZE) {
      empty[q].wait(empty[q].arrive());
      load(sA + q * BM * BK, &mapA, k, m, cuda::device::barrier_native_handle(full[q]));
      load(sB + q * BN * BK, &mapB, k, n, cuda::device::barrier_native_handle(full[q]));
      (void)cuda::device::barrier_arrive_tx(full[q], 1, (BM + BN) * BK * sizeof(bf16));
    }
    return;
  }

  float d[BN / 2] = {};
  for (int i = 0; i < QSIZE; ++i) (void)empty[i].arrive();
  for (int k = 0, q = 0; k < K; k += BK, q = (q + 1) % QSIZE) {
    full[q].wait(full[q].arrive());
    mmaStage<BN>(d, sA + (q * BM + 64 * (group - 1)) * BK, sB + q * BN * BK);
    (void)empty[q].arrive();
  }
  bf16* tile = c + size_t(n) * M + m + 64 * (group - 1);
  eachElement(d, t, [&](int row, int column, float v) { tile[size_t(column) * M + row] = __float2bfloat16_rn(v); });
}

__device__ void initBarrier(uint64_t* bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(bar)), "r"(count) : "memory");
}

__device__ void waitParity(uint64_t* bar, int parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" ::"r"(address(bar)), "r"(parity) : "memory");
}

__device__ void arriveExpectTx(uint64_t* bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(bar)), "r"(bytes) : "memory");
}

// One arrival on this barrier of block rank of the cluster.
__device__ void arriveAt(uint64_t* bar, int rank) {
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}" ::"r"(address(bar)), "r"(rank) : "memory");
}

__device__ void loadMulticast(bf16* dst, const CUtensorMap* map, int column, int row, uint64_t* bar, uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(address(dst)), "l"(map), "r"(address(bar)), "r"(column), "r"(row),
      "h"(mask) : "memory");
}

__device__ void clusterSync() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The other steps. With a cluster, the blocks of even and odd rank have neighbouring tiles of M and the same of N:
// each loads its A and half of B, which goes to both. A stage is free when the consumers of both have left it.
template <int CLUSTER, bool TMASTORE>
__global__ void __cluster_dims__(CLUSTER) __launch_bounds__(384)
    parities(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
             const __grid_constant__ CUtensorMap mapC, bf16* c, int M, int N, int K) {
  constexpr int BM = 128, BN = 128, kConsumers = 2;
  extern __shared__ __align__(1024) bf16 ring[];
  bf16 *sA = ring, *sB = sA + QSIZE * BM * BK, *sC = sB + QSIZE * BN * BK;
  __shared__ uint64_t full[QSIZE], empty[QSIZE];
  const int tiles = M / BM * (N / BN), rank = blockIdx.x % CLUSTER;
  const int group = threadIdx.x / 128, t = threadIdx.x % 128;

  if (threadIdx.x == 0) {
    for (int i = 0; i < QSIZE; ++i) {
      initBarrier(&full[i], 1);
      initBarrier(&empty[i], kConsumers * CLUSTER);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  clusterSync();

  int q = 0, phase = 0;
  auto advance = [&] {
    if (++q == QSIZE) q = 0, phase ^= 1;
  };
  if (group == 0) {
    for (int tile = blockIdx.x; t == 0 && tile < tiles; tile += gridDim.x) {
      const int m = tile % (M / BM) * BM, n = tile / (M / BM) * BN;
      for (int k = 0; k < K; k += BK, advance()) {
        waitParity(&empty[q], phase ^ 1);  // passes at once in the first lap
        arriveExpectTx(&full[q], (BM + BN) * BK * sizeof(bf16));
        load(sA + q * BM * BK, &mapA, k, m, &full[q]);
        if (CLUSTER == 1) {
          load(sB + q * BN * BK, &mapB, k, n, &full[q]);
        } else {
          const int half = rank * (BN / CLUSTER);
          loadMulticast(sB + (q * BN + half) * BK, &mapB, k, n + half, &full[q], (1 << CLUSTER) - 1);
        }
      }
    }
  } else {
    sC += (group - 1) * 64 * BN;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const int m = tile % (M / BM) * BM + 64 * (group - 1), n = tile / (M / BM) * BN;
      float d[BN / 2] = {};
      for (int k = 0; k < K; k += BK, advance()) {
        waitParity(&full[q], phase);
        mmaStage<BN>(d, sA + (q * BM + 64 * (group - 1)) * BK, sB + q * BN * BK);
        if (t < CLUSTER) arriveAt(&empty[q], t);
      }
      if (!TMASTORE) {
        bf16* out = c + size_t(n) * M + m;
        eachElement(d, t, [&](int row, int col, float v) { out[size_t(col) * M + row] = __float2bfloat16_rn(v); });
        continue;
      }
      auto sync = [&] { asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory"); };
      if (t == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());  // the store of the tile before
      sync();
      eachElement(d, t, [&](int row, int column, float v) { sC[column * 64 + row] = __float2bfloat16_rn(v); });
      ptx::fence_proxy_async(ptx::space_shared);
      sync();
      if (t == 0) {
        const int at[] = {m, n};
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &mapC, at, sC);
        ptx::cp_async_bulk_commit_group();
      }
    }
    if (t == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
  clusterSync();  // nobody leaves while the other may still write or arrive here
}

static void check(cudaError_t e) {
  if (e == cudaSuccess) return;
  fprintf(stderr, "%s\n", cudaGetErrorString(e));
  exit(1);
}

// Element i of the operand with this seed, in [-1, 1): a multiple of 2^-15, rounded to bf16.
static bf16 element(uint32_t i, uint32_t seed) {
  uint32_t x = i * 2654435761u + seed * 40503u;
  x = (x >> 16 ^ x) * 0x45d9f3bu;
  x = (x >> 16 ^ x) * 0x45d9f3bu;
  x = x >> 16 ^ x;
  return __float2bfloat16_rn((int(x & 0xffff) - 32768) / 32768.0f);
}

static bf16* operand(size_t n, uint32_t seed) {
  std::vector<bf16> host(n);
  for (size_t i = 0; i < n; ++i) host[i] = element(uint32_t(i), seed);
  bf16* device;
  check(cudaMalloc(&device, n * sizeof(bf16)));
  check(cudaMemcpy(device, host.data(), n * sizeof(bf16), cudaMemcpyHostToDevice));
  return device;
}

static uint32_t crc32(const std::vector<bf16>& v) {
  static uint32_t table[256];
  for (uint32_t i = 0; i < 256; ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xEDB88320u : 0);
  }
  uint32_t crc = ~0u;
  auto bytes = reinterpret_cast<const uint8_t*>(v.data());
  for (size_t i = 0; i < v.size() * sizeof(bf16); ++i) crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 255];
  return ~crc;
}

// A map of a row-major matrix; the swizzle is for operands.
static CUtensorMap tensorMap(bf16* address, uint64_t columns, uint64_t rows, uint32_t boxRows, bool swizzle) {
  void* symbol;
  cudaDriverEntryPointQueryResult found;
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &symbol, 12000, cudaEnableDefault, &found));
  auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(symbol);
  const uint64_t dims[] = {columns, rows}, strides[] = {columns * sizeof(bf16)};
  const uint32_t box[] = {64, boxRows}, steps[] = {1, 1};
  CUtensorMap map;
  CUresult r = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, address, dims, strides, box, steps,
                      CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (r != CUDA_SUCCESS) {
    fprintf(stderr, "cuTensorMapEncodeTiled: %d\n", int(r));
    exit(1);
  }
  return map;
}

static void run(int size) {
  const size_t elements = size_t(size) * size;
  bf16 *a = operand(elements, 1), *b = operand(elements, 2), *c;
  check(cudaMalloc(&c, elements * sizeof(bf16)));
  const CUtensorMap a64 = tensorMap(a, size, size, 64, true), b64 = tensorMap(b, size, size, 64, true);
  const CUtensorMap a128 = tensorMap(a, size, size, 128, true), b128 = tensorMap(b, size, size, 128, true);
  const CUtensorMap cMap = tensorMap(c, size, size, 128, false);
  std::vector<bf16> host(elements);

  auto step = [&](const char* name, auto kernel, int blocks, int threads, int elementsShared, auto... arguments) {
    const int shared = elementsShared * sizeof(bf16);
    check(cudaMemset(c, 0xEE, elements * sizeof(bf16)));
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    kernel<<<blocks, threads, shared>>>(arguments...);
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(host.data(), c, elements * sizeof(bf16), cudaMemcpyDeviceToHost));
    printf("hoppergemm.%d.%s bytes=%zu crc32=%08x\n", size, name, elements * sizeof(bf16), crc32(host));
    fflush(stdout);
  };
  const int tiles = size / 128 * (size / 128), few = tiles <= 256 ? tiles / 2 : 128;
  const int ring64 = QSIZE * 128 * BK, ring128 = QSIZE * 256 * BK;
  step("walkthrough", tokens<64, 64>, tiles * 4, 256, ring64, a64, b64, c, size, size);
  step("tiles128", tokens<128, 128>, tiles, 384, ring128, a128, b128, c, size, size);
  step("parity", parities<1, false>, tiles, 384, ring128, a128, b128, cMap, c, size, size, size);
  step("persistent", parities<1, false>, few, 384, ring128, a128, b128, cMap, c, size, size, size);
  step("cluster", parities<2, false>, few, 384, ring128, a128, b64, cMap, c, size, size, size);
  step("tmastore", parities<2, true>, few, 384, ring128 + 128 * 128, a128, b64, cMap, c, size, size, size);

  std::vector<bf16> rows(elements);
  for (size_t i = 0; i < elements; ++i) rows[i] = host[i % size * size + i / size];
  printf("# %d: as a row-major C, crc32=%08x\n", size, crc32(rows));
  check(cudaFree(a));
  check(cudaFree(b));
  check(cudaFree(c));
}

int main(int argc, char** argv) {
  std::vector<int> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(atoi(argv[i]));
  if (sizes.empty()) sizes = {256, 512, 1024};
  for (int size : sizes) {
    if (size <= 0 || size % 256 != 0) {
      fprintf(stderr, "hoppergemm: size %d is not a multiple of 256\n", size);
      return 2;
    }
    run(size);
  }
}
