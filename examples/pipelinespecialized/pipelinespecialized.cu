// A cuda::pipeline whose even threads produce and whose odd threads consume.
//
// Build: nvcc -gencode=arch=compute_90a,code=sm_90a -std=c++17 -O2 pipelinespecialized.cu -o pipelinespecialized
#include <cooperative_groups.h>
#include <cuda/pipeline>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

constexpr int kBlocks = 4, kThreads = 64, kBatches = 7;
constexpr int kElements = kThreads / 2;  // a block's part of a batch: one for each pair of threads

__device__ void compute(int* out, int value) { *out = int(3u * unsigned(value) + 1); }

template <int Stages>
__global__ void specialized(int* out, const int* in) {
  extern __shared__ int shared[];  // Stages * kElements
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, Stages> state;
  auto block = cg::this_thread_block();
  const auto role = block.thread_rank() % 2 == 0 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  const int pair = block.thread_rank() / 2;
  cuda::pipeline pipeline = cuda::make_pipeline(block, &state, role);

  auto global = [&](size_t batch) { return kBlocks * kElements * batch + kElements * blockIdx.x + pair; };
  auto slot = [&](size_t batch) { return shared + batch % Stages * kElements + pair; };

  for (size_t computed = 0, fetched = 0; computed < kBatches; ++computed) {
    for (; fetched < kBatches && fetched < computed + Stages; ++fetched) {
      if (role == cuda::pipeline_role::producer) {
        pipeline.producer_acquire();
        cuda::memcpy_async(slot(fetched), in + global(fetched), sizeof(int), pipeline);
        pipeline.producer_commit();
      }
    }
    if (role == cuda::pipeline_role::consumer) {
      pipeline.consumer_wait();
      compute(out + global(computed), *slot(computed));
      pipeline.consumer_release();
    }
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

template <int Stages>
static void run(const char* name) {
  const size_t size = kBatches * kBlocks * kElements;
  std::vector<int> in(size);
  for (size_t i = 0; i < size; ++i) in[i] = int(element(i, 1));
  int* out = upload(std::vector<int>(size));
  specialized<Stages><<<kBlocks, kThreads, Stages * kElements * sizeof(int)>>>(out, upload(in));
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  print(name, out, size * sizeof(int));
}

int main() {
  run<2>("pipelinespecialized.stages2");
  run<3>("pipelinespecialized.stages3");
}
