// banks is what Nsight Compute counts wavefronts of, for banks_ncu.txt: a kernel of one warp for each pattern, one
// instruction 64 times. It writes the patterns, one a line, with 0 wavefronts.
//
//	nvcc -std=c++17 -O2 -gencode=arch=compute_90a,code=sm_90a -o banks banks.cu
//	ncu --metrics … ./banks OUTDIR [SEED]
#include "banks.cuh"

template <int op>
__global__ void bank_once(BankPattern p, uint32_t step, uint32_t* sink) {
  extern __shared__ unsigned char raw[];
  const uint32_t at = shared_address(align1024(raw)) + p.at[threadIdx.x];
  constexpr bool all = kBankOps[op].matrix;
  uint32_t sum = 0;
  if (all || (p.mask >> threadIdx.x & 1) != 0) sum = bank_run<op>(at, step, 64 / kBankUnroll);
  if (sum == step + 90) *sink = sum;
}

template <int op = 0>
void bank_kernels(File& out, Rng& rng, uint32_t* sink) {
  if constexpr (op < kBankIds) {
    for (const BankPattern& p : bank_patterns(rng, op, 1, 9)) {
      bank_once<op><<<1, kBankLanes, kBankBytes + 1024>>>(p, 0, sink);
      finish(kBankOps[op].name, 0);
      print_bank(out, op, p, 0);
    }
    bank_kernels<op + 1>(out, rng, sink);
  }
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) fatal("usage: banks OUTDIR [SEED]");
  File out(argv[1], "banks_ncu.txt");
  Rng rng(argc == 3 ? strtoull(argv[2], nullptr, 10) : 1, 21);
  Buffer<uint32_t> sink(1);
  bank_kernels(out, rng, sink.get());
}
