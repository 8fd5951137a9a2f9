// cluster.jsonl: what the CTAs of a cluster do to each other's shared memory and
// barriers. A model of the barriers' counts keeps the scenarios within what PTX
// defines; it decides no result.
#pragma once

#include "tma.cuh"

constexpr int kMaxCTAs = 8, kClusterBarriers = 4;
constexpr uint32_t kClusterShared = 4096, kClusterGlobal = 16384;  // bytes; global memory is a tensor of 64 x 64 int32

// The operations, numbered as in the file.
enum ClusterCode : int32_t {
  kRemoteArrive, kRemoteArriveTx, kRemoteExpectTx, kRemoteCompleteTx, kRemoteCopy, kMulticast, kMulticastTensor,
  kStoreAsync, kAddAsync, kRemoteStore, kRemoteLoad, kTestParity, kRemoteAdd, kMulticastSwizzled, kClusterCodes,
};

struct ClusterOp {
  int32_t rank, code, arg[5];
};

struct ClusterCounts {
  int32_t n[kClusterBarriers];
};

// remote returns the address in the CTA of a rank of what is at p in this one.
__device__ inline uint32_t remote(uint32_t p, int rank) {
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(p), "r"(rank));
  return address;
}

__device__ inline void multicast_tensor(uint32_t dst, const CUtensorMap* map, int x, int y, uint32_t bar, uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(dst), "l"(map), "r"(bar), "r"(x), "r"(y), "h"(mask) : "memory");
}

// cluster_op is one operation by this thread. It returns the result of those that have one.
__device__ inline uint32_t cluster_op(const ClusterOp& op, const CUtensorMap* plain, const CUtensorMap* swizzled,
                                      const unsigned char* global, uint32_t memory, uint32_t bars) {
  const int32_t* a = op.arg;
  const auto bar = [&](int i) { return bars + 8 * static_cast<uint32_t>(a[i]); };
  const auto there = [&](uint32_t p) { return remote(p, a[0]); };
  const auto at = [&](int i) { return memory + static_cast<uint32_t>(a[i]); };
  const uint16_t mask = static_cast<uint16_t>(a[0]);
  uint32_t result = 0;
  switch (op.code) {
    case kRemoteArrive:
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(there(bar(1))), "r"(a[2]) : "memory");
      break;
    case kRemoteArriveTx:
      asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(there(bar(1))), "r"(a[2])
                   : "memory");
      break;
    case kRemoteExpectTx:
      asm volatile("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(there(bar(1))), "r"(a[2]) : "memory");
      break;
    case kRemoteCompleteTx:
      asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(there(bar(1))), "r"(a[2]) : "memory");
      break;
    case kRemoteCopy:
      asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(there(at(1))),
                   "r"(at(2)), "r"(a[3]), "r"(there(bar(4))) : "memory");
      break;
    case kRemoteAdd:
      asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%0], [%1], %2, [%3];" ::"r"(
                       there(at(1))), "r"(at(2)), "r"(a[3]), "r"(there(bar(4))) : "memory");
      break;
    case kMulticast:
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
                       at(1)), "l"(global + a[2]), "r"(a[3]), "r"(bar(4)), "h"(mask) : "memory");
      break;
    case kMulticastTensor:
      multicast_tensor(at(1), plain, a[2], a[3], bar(4), mask);
      break;
    case kMulticastSwizzled:
      multicast_tensor(at(1), swizzled, a[2], a[3], bar(4), mask);
      break;
    case kStoreAsync:
      asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(there(at(1))), "r"(a[2]),
                   "r"(there(bar(3))) : "memory");
      break;
    case kAddAsync:
      asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(there(at(1))),
                   "r"(a[2]), "r"(there(bar(3))) : "memory");
      break;
    case kRemoteStore:
      asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there(at(1))), "r"(a[2]) : "memory");
      break;
    case kRemoteLoad:
      asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(result) : "r"(there(at(1))) : "memory");
      break;
    case kTestParity:
      result = mbarrier_test_wait_parity(bars + 8 * static_cast<uint32_t>(a[0]), static_cast<uint32_t>(a[1]));
      break;
  }
  return result;
}

// cluster_kernel is one scenario, by a warp of each CTA. An operation is given time to
// end before the next begins, because not every scenario has somebody who waits for it.
__global__ void cluster_kernel(const __grid_constant__ CUtensorMap plain, const __grid_constant__ CUtensorMap swizzled,
                               const ClusterOp* ops, int count, ClusterCounts counts, const unsigned char* global, uint32_t* values,
                               unsigned char* out) {
  extern __shared__ unsigned char raw[];
  __shared__ uint64_t objects[kClusterBarriers];
  unsigned char* memory = align1024(raw);
  const int rank = static_cast<int>(blockIdx.x);
  const uint32_t bars = shared_address(objects);
  for (uint32_t i = threadIdx.x; i < kClusterShared; i += blockDim.x) memory[i] = 7 * i + 31 * rank;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kClusterBarriers; i++) mbarrier_init(bars + 8 * i, static_cast<uint32_t>(counts.n[i]));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  for (int i = 0; i < count; i++) {
    const ClusterOp op = ops[i];
    if (op.rank == rank && threadIdx.x == 0) {
      const uint32_t v = cluster_op(op, &plain, &swizzled, global, shared_address(memory), bars);
      if (op.code == kRemoteLoad || op.code == kTestParity) values[i] = v;
      const long long start = clock64();
      while (clock64() - start < 20000) {
      }
    }
    cluster_sync();
  }
  for (uint32_t i = threadIdx.x; i < kClusterShared; i += blockDim.x) out[rank * kClusterShared + i] = memory[i];
  cluster_sync();
}

// Scenario makes one sequence of operations.
class Scenario {
 public:
  explicit Scenario(Rng& rng) : rng_(rng) {
    static const int sizes[] = {1, 2, 2, 3, 4, 4, 5, 8};
    n = sizes[rng_.below(8)];
    for (int b = 0; b < kClusterBarriers; b++) {
      counts.n[b] = rng_.range(1, 4);
      for (int r = 0; r < n; r++) pending_[r][b] = counts.n[b];
    }
    for (const size_t most = static_cast<size_t>(rng_.range(3, 16)); ops.size() < most;) step();
  }

  int n;
  ClusterCounts counts;
  std::vector<ClusterOp> ops;

 private:
  // book adds bytes to what a barrier expects, and ends its phase if nothing is missing.
  void book(int rank, int bar, int bytes) {
    tx_[rank][bar] += bytes;
    if (pending_[rank][bar] == 0 && tx_[rank][bar] == 0) pending_[rank][bar] = counts.n[bar];
  }

  void step() {
    ClusterOp op = {rng_.range(0, n - 1), static_cast<int32_t>(rng_.below(kClusterCodes)), {}};
    const int target = rng_.range(0, n - 1), bar = rng_.range(0, kClusterBarriers - 1), bytes = 16 * rng_.range(1, 32);
    const int word = 4 * rng_.range(0, kClusterShared / 4 - 1), mask = rng_.range(1, (1 << n) - 1);
    const int value = static_cast<int>(rng_.next() >> 1);
    const auto place = [&](int unit, uint32_t size, uint32_t all) { return unit * rng_.range(0, static_cast<int>((all - size) / unit)); };
    const auto args = [&](int a, int b, int c, int d, int e) {
      const int32_t all[5] = {a, b, c, d, e};
      for (int i = 0; i < 5; i++) op.arg[i] = all[i];
    };
    const auto each = [&](int amount) {
      for (int r = 0; r < n; r++) {
        if (mask >> r & 1) book(r, bar, -amount);
      }
    };
    switch (op.code) {
      case kRemoteArrive:
      case kRemoteArriveTx:
        if (pending_[target][bar] == 0) return;  // the phase waits for bytes alone
        args(target, bar, op.code == kRemoteArrive ? 1 : bytes, 0, 0);
        pending_[target][bar]--;
        book(target, bar, op.code == kRemoteArrive ? 0 : bytes);
        break;
      case kRemoteExpectTx:
        args(target, bar, bytes, 0, 0);
        book(target, bar, bytes);
        break;
      case kRemoteCompleteTx:
        args(target, bar, bytes, 0, 0);
        book(target, bar, -bytes);
        break;
      case kRemoteCopy:
      case kRemoteAdd: {
        const int dst = place(16, bytes, kClusterShared), src = place(16, bytes, kClusterShared);
        if (target == op.rank && dst < src + bytes && src < dst + bytes) return;
        args(target, dst, src, bytes, bar);
        book(target, bar, -bytes);
        break;
      }
      case kMulticast:
        args(mask, place(16, bytes, kClusterShared), place(16, bytes, kClusterGlobal), bytes, bar);
        each(bytes);
        break;
      case kMulticastTensor:
        args(mask, place(128, 16 * 8 * 4, kClusterShared), 4 * rng_.range(-4, 17), rng_.range(-9, 71), bar);
        each(16 * 8 * 4);
        break;
      case kMulticastSwizzled:
        args(mask, place(128, 32 * 8 * 4, kClusterShared), 4 * rng_.range(-4, 17), rng_.range(-9, 71), bar);
        each(32 * 8 * 4);
        break;
      case kStoreAsync:
      case kAddAsync:
        args(target, word, value, bar, 0);
        book(target, bar, -4);
        break;
      case kRemoteStore:
        args(target, word, value, 0, 0);
        break;
      case kRemoteLoad:
        args(target, word, 0, 0, 0);
        break;
      default:
        args(bar, static_cast<int>(rng_.below(2)), 0, 0, 0);
    }
    ops.push_back(op);
  }

  Rng& rng_;
  int pending_[kMaxCTAs][kClusterBarriers], tx_[kMaxCTAs][kClusterBarriers] = {};
};

// crc32 is the checksum of IEEE 802.3.
inline uint32_t crc32(const unsigned char* p, size_t n) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < n; i++) {
    crc ^= p[i];
    for (int b = 0; b < 8; b++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

inline size_t probe_clusters(const std::string& dir, uint64_t seed) {
  constexpr size_t kScenarios = 1000;
  Rng rng(seed, 6);
  std::vector<unsigned char> memory(kClusterGlobal);
  for (size_t i = 0; i < memory.size(); i++) memory[i] = static_cast<unsigned char>((131 * i >> 3) ^ i);
  Buffer<unsigned char> global(memory), shared(kMaxCTAs * kClusterShared);
  Buffer<ClusterOp> device_ops(16);
  Buffer<uint32_t> device_values(16);
  MapArgs m;
  m.dtype = kS32;
  m.rank = 2;
  m.address = reinterpret_cast<uint64_t>(global.get());
  m.dims[0] = m.dims[1] = 64;
  m.strides[0] = 256;
  m.box[0] = 16;
  m.box[1] = 8;
  alignas(64) CUtensorMap plain, swizzled;
  encode_or_die(&plain, m, 0);
  m.box[0] = 32;
  m.swizzle = 3;
  encode_or_die(&swizzled, m, 1);

  File out(dir, "cluster.jsonl");
  for (size_t s = 0; s < kScenarios; s++) {
    const Scenario c(rng);
    device_ops.put(c.ops);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(c.n));
    config.blockDim = dim3(32);
    config.dynamicSmemBytes = kClusterShared + 1024;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = static_cast<unsigned>(c.n);
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, cluster_kernel, plain, swizzled, static_cast<const ClusterOp*>(device_ops.get()),
                             static_cast<int>(c.ops.size()), c.counts, static_cast<const unsigned char*>(global.get()),
                             device_values.get(), shared.get()));
    finish("cluster", s);
    const std::vector<unsigned char> after = shared.take();
    const std::vector<uint32_t> values = device_values.take();

    out.print("{\"n\":%d,\"init\":[%d,%d,%d,%d],\"ops\":[", c.n, c.counts.n[0], c.counts.n[1], c.counts.n[2], c.counts.n[3]);
    for (size_t i = 0; i < c.ops.size(); i++) {
      const ClusterOp& op = c.ops[i];
      out.print("%s[%d,%d,%d,%d,%d,%d,%d]", i == 0 ? "" : ",", op.rank, op.code, op.arg[0], op.arg[1], op.arg[2], op.arg[3], op.arg[4]);
    }
    out.print("],\"smem\":[");
    for (int r = 0; r < c.n; r++) out.print("%s\"%08x\"", r == 0 ? "" : ",", crc32(&after[r * kClusterShared], kClusterShared));
    out.print("],\"vals\":[");
    const char* comma = "";
    for (size_t i = 0; i < c.ops.size(); i++) {
      if (c.ops[i].code != kRemoteLoad && c.ops[i].code != kTestParity) continue;
      out.print("%s%u", comma, values[i]);
      comma = ",";
    }
    out.print("]}\n");
  }
  return kScenarios;
}
