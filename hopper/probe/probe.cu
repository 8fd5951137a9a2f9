// probe records what a Hopper GPU does, in the files that hoppercheck replays.
//
//	nvcc -std=c++17 -O2 -gencode=arch=compute_90a,code=sm_90a -o probe probe.cu
//	./probe OUTDIR [SEED]
//
// The instructions are raw PTX; the seed decides all inputs. See README.md.
#include "banks.cuh"
#include "cluster.cuh"
#include "common.cuh"
#include "descriptor.cuh"
#include "im2col.cuh"
#include "mbarrier.cuh"
#include "mma.cuh"
#include "mma_b1.cuh"
#include "mma_sparse.cuh"
#include "reduce.cuh"
#include "replace.cuh"
#include "scale.cuh"
#include "sparse.cuh"
#include "tensormap.cuh"
#include "tma.cuh"
#include "warp.cuh"
#include "wgmma.cuh"

static void write_machine(const std::string& dir, uint64_t seed) {
  int device = 0, driver = 0, runtime = 0;
  cudaDeviceProp prop;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaGetDeviceProperties(&prop, device));
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  if (prop.major != 9) fatal("%s has compute capability %d.%d; the probe needs 9.0", prop.name, prop.major, prop.minor);
  File out(dir, "machine.txt");
  out.print("device %s\ncompute capability %d.%d\nCUDA driver API %d.%d\nCUDA runtime %d.%d\nseed %llu\n", prop.name, prop.major,
            prop.minor, driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, static_cast<unsigned long long>(seed));
}

static void report(const char* files, size_t records) {
  printf("%-24s %6zu records\n", files, records);
  fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: probe OUTDIR [SEED]\n");
    return 2;
  }
  const std::string dir = argv[1];
  uint64_t seed = 1;
  if (argc == 3) {
    char* end = nullptr;
    seed = strtoull(argv[2], &end, 10);
    if (end == argv[2] || *end != 0) fatal("seed %s is not a number", argv[2]);
  }
  report("tma_illegal.txt", probe_illegal(dir, seed));  // first: these fork
  report("tma_im2col_edge.bin", probe_im2col_edge(dir, seed));
  report("tma_prefetch.bin", probe_prefetch(dir, seed));
  report("tma_wide.bin", probe_wide(dir, seed));
  report("tensormap_replace_edge.bin", probe_replace_edge(dir, seed));
  write_machine(dir, seed);
  report("mbarrier.txt", probe_mbarrier(dir, seed));
  report("tensormap.txt", probe_tensormap(dir, seed));
  report("tensormap_im2col.txt", probe_im2col_maps(dir, seed));
  report("tensormap_replace.bin", probe_replace(dir, seed));
  report("tma.bin", probe_tma(dir, seed));
  report("tma_im2col.bin", probe_im2col(dir, seed));
  report("tma_tf32.txt", probe_tf32(dir, seed));
  report("reduce.txt", probe_reductions(dir, seed));
  report("warp.txt", probe_warp(dir, seed));
  report("atomic.txt", probe_atomics(dir, seed));
  report("banks.txt", probe_banks(dir, seed));
  report("cluster.jsonl", probe_clusters(dir, seed));
  report("wgmma_<kind>.bin", probe_wgmma(dir, seed));
  report("wgmma_scale.bin", probe_scale(dir, seed));
  report("mma.txt", probe_mma(dir, seed));
  report("mma_b1.txt", probe_mma_b1(dir, seed));
  report("mma_sp.txt", probe_mma_sparse(dir, seed));
  report("wgmma_desc.bin", probe_descriptors(dir, seed, "wgmma_desc.bin", false));
  report("wgmma_sp.bin", probe_sparse(dir, seed));
  report("wgmma_sp_desc.bin", probe_descriptors(dir, seed, "wgmma_sp_desc.bin", true));
  return 0;
}
