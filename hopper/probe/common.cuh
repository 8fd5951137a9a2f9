// What every part of the probe needs: checked calls, a seeded generator and
// output files that cannot fail silently.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

[[noreturn]] inline void fatal(const char* format, ...) {
  va_list args;
  va_start(args, format);
  fputs("probe: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  exit(1);
}

inline void check(cudaError_t err, const char* call, int line) {
  if (err != cudaSuccess) {
    fatal("line %d: %s: %s (%s)", line, call, cudaGetErrorName(err), cudaGetErrorString(err));
  }
}
#define CHECK(call) check((call), #call, __LINE__)

// finish waits for a kernel and reports what stopped it, if anything did.
inline void finish(const char* what, size_t index) {
  cudaError_t err = cudaGetLastError();
  if (err == cudaSuccess) err = cudaDeviceSynchronize();
  if (err != cudaSuccess) fatal("%s %zu: %s (%s)", what, index, cudaGetErrorName(err), cudaGetErrorString(err));
}

// Rng is xorshift64*. Every file gets its own, so that one file does not
// depend on how much randomness another took.
class Rng {
 public:
  Rng(uint64_t seed, uint64_t stream) : state_(0x9e3779b97f4a7c15ull * (2 * seed + 1) ^ 0xd1342543de82ef95ull * (stream + 1)) {
    if (state_ == 0) state_ = 1;
    for (int i = 0; i < 8; i++) next();
  }
  uint32_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<uint32_t>(state_ * 0x2545f4914f6cdd1dull >> 32);
  }
  // below returns 0 to n-1.
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(static_cast<uint64_t>(next()) * n >> 32); }
  // range returns lo to hi, both included.
  int range(int lo, int hi) { return lo + static_cast<int>(below(static_cast<uint32_t>(hi - lo + 1))); }
  // chance is true once in n.
  bool chance(uint32_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

// File is an output file of the probe.
class File {
 public:
  File(const std::string& dir, const char* name) : path_(dir + "/" + name), file_(fopen(path_.c_str(), "wb")) {
    if (file_ == nullptr) fatal("cannot create %s", path_.c_str());
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (ferror(file_) != 0 || fclose(file_) != 0) fatal("cannot write %s", path_.c_str());
  }
  void bytes(const void* p, size_t n) { fwrite(p, 1, n, file_); }
  template <typename T>
  void value(T v) {
    bytes(&v, sizeof v);
  }
  template <typename T>
  void values(const std::vector<T>& v) {
    bytes(v.data(), v.size() * sizeof(T));
  }
  void print(const char* format, ...) {
    va_list args;
    va_start(args, format);
    vfprintf(file_, format, args);
    va_end(args);
  }

 private:
  std::string path_;
  FILE* file_;
};

// Buffer is device memory.
template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t n) : n_(n) { CHECK(cudaMalloc(&p_, n * sizeof(T))); }
  explicit Buffer(const std::vector<T>& v) : Buffer(v.size()) { put(v); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { cudaFree(p_); }
  T* get() const { return p_; }
  void put(const std::vector<T>& v) { CHECK(cudaMemcpy(p_, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); }
  std::vector<T> take(size_t n) const {
    std::vector<T> v(n);
    CHECK(cudaMemcpy(v.data(), p_, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }
  std::vector<T> take() const { return take(n_); }

 private:
  T* p_ = nullptr;
  size_t n_;
};

__device__ inline uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// align1024 returns the first byte at or behind p on which every swizzle
// pattern begins.
__device__ inline unsigned char* align1024(unsigned char* p) {
  return p + ((1024 - (shared_address(p) & 1023)) & 1023);
}

// Generic writes to shared memory before an asynchronous read of it.
__device__ inline void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ inline void cluster_sync() {
  __syncwarp();
  asm volatile("fence.proxy.async;" ::: "memory");
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
}
