// mbarrier.txt: scripts for one thread, every result recorded. A model of the
// counts keeps the scripts within what PTX defines; it decides no result.
#pragma once

#include "common.cuh"

// The mbarrier instructions, PTX ISA 9.7.13.15.

__device__ inline void mbarrier_init(uint32_t bar, uint32_t n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(n) : "memory");
}

__device__ inline void mbarrier_inval(uint32_t bar) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
}

__device__ inline uint64_t mbarrier_arrive(uint32_t bar) {
  uint64_t token;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(token) : "r"(bar) : "memory");
  return token;
}

__device__ inline uint64_t mbarrier_arrive_n(uint32_t bar, uint32_t n) {
  uint64_t token;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;" : "=l"(token) : "r"(bar), "r"(n) : "memory");
  return token;
}

__device__ inline uint64_t mbarrier_arrive_no_complete(uint32_t bar, uint32_t n) {
  uint64_t token;
  asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;" : "=l"(token) : "r"(bar), "r"(n) : "memory");
  return token;
}

__device__ inline uint64_t mbarrier_arrive_expect_tx(uint32_t bar, uint32_t bytes) {
  uint64_t token;
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;" : "=l"(token) : "r"(bar), "r"(bytes) : "memory");
  return token;
}

__device__ inline uint64_t mbarrier_arrive_drop(uint32_t bar, uint32_t n) {
  uint64_t token;
  asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], %2;" : "=l"(token) : "r"(bar), "r"(n) : "memory");
  return token;
}

__device__ inline uint64_t mbarrier_arrive_drop_expect_tx(uint32_t bar, uint32_t bytes) {
  uint64_t token;
  asm volatile("mbarrier.arrive_drop.expect_tx.shared::cta.b64 %0, [%1], %2;" : "=l"(token) : "r"(bar), "r"(bytes) : "memory");
  return token;
}

__device__ inline void mbarrier_expect_tx(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

__device__ inline void mbarrier_complete_tx(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

__device__ inline uint32_t mbarrier_test_wait(uint32_t bar, uint64_t token) {
  uint32_t done;
  asm volatile(
      "{\n .reg .pred p;\n"
      " mbarrier.test_wait.shared::cta.b64 p, [%1], %2;\n"
      " selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done) : "r"(bar), "l"(token) : "memory");
  return done;
}

__device__ inline uint32_t mbarrier_test_wait_parity(uint32_t bar, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n .reg .pred p;\n"
      " mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      " selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done) : "r"(bar), "r"(parity) : "memory");
  return done;
}

__device__ inline uint32_t mbarrier_try_wait_parity(uint32_t bar, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n .reg .pred p;\n"
      " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, 1000;\n"
      " selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done) : "r"(bar), "r"(parity) : "memory");
  return done;
}

__device__ inline uint32_t mbarrier_pending_count(uint64_t token) {
  uint32_t n;
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(n) : "l"(token));
  return n;
}

enum Op : uint32_t {
  kInit, kArrive, kArriveN, kArriveNoComplete, kArriveExpectTx, kArriveDrop, kArriveDropExpectTx,
  kExpectTx, kCompleteTx, kTestWait, kTestWaitParity, kTryWaitParity, kPendingCount, kOps,
};

constexpr const char* kOpNames[kOps] = {
    "init", "arrive", "arrive_n", "arrive_no_complete", "arrive_expect_tx", "arrive_drop", "arrive_drop_expect_tx",
    "expect_tx", "complete_tx", "test_wait", "test_wait_parity", "try_wait_parity", "pending_count",
};

struct Step {
  uint32_t op, arg;
};

// run_scripts runs all scripts one after another in one thread. result[i] is
// that of steps[i]; a step that names a token names it by its index in the
// script, and tokens are results.
__global__ void run_scripts(const Step* steps, const uint32_t* begin, int scripts, uint64_t* result) {
  __shared__ uint64_t object;
  const uint32_t bar = shared_address(&object);
  for (int s = 0; s < scripts; s++) {
    const uint32_t first = begin[s];
    for (uint32_t i = first; i < begin[s + 1]; i++) {
      const uint32_t arg = steps[i].arg;
      uint64_t r = 0;
      switch (steps[i].op) {
        case kInit: mbarrier_init(bar, arg); break;
        case kArrive: r = mbarrier_arrive(bar); break;
        case kArriveN: r = mbarrier_arrive_n(bar, arg); break;
        case kArriveNoComplete: r = mbarrier_arrive_no_complete(bar, arg); break;
        case kArriveExpectTx: r = mbarrier_arrive_expect_tx(bar, arg); break;
        case kArriveDrop: r = mbarrier_arrive_drop(bar, arg); break;
        case kArriveDropExpectTx: r = mbarrier_arrive_drop_expect_tx(bar, arg); break;
        case kExpectTx: mbarrier_expect_tx(bar, arg); break;
        case kCompleteTx: mbarrier_complete_tx(bar, arg); break;
        case kTestWait: r = mbarrier_test_wait(bar, result[first + arg]); break;
        case kTestWaitParity: r = mbarrier_test_wait_parity(bar, arg); break;
        case kTryWaitParity: r = mbarrier_try_wait_parity(bar, arg); break;
        case kPendingCount: r = mbarrier_pending_count(result[first + arg]); break;
      }
      result[i] = r;
    }
    mbarrier_inval(bar);
  }
}

// Script makes one legal sequence of operations.
class Script {
 public:
  Script(Rng& rng, std::vector<Step>& steps) : rng_(rng), steps_(steps), first_(steps.size()) {}

  void make() {
    static const uint32_t counts[] = {1, 1, 2, 2, 3, 4, 5, 7, 32, 128, 129, 257, 1000, kMax - 1, kMax};
    expected_ = pending_ = counts[rng_.below(sizeof counts / sizeof counts[0])];
    add(kInit, expected_);
    for (int n = rng_.range(4, 40); n > 0; n--) step();
  }

 private:
  static constexpr int kMax = (1 << 20) - 1;

  void add(Op op, uint32_t arg) { steps_.push_back({op, arg}); }

  // settle applies the rule that ends a phase.
  void settle() {
    if (pending_ == 0 && tx_ == 0) {
      phase_++;
      pending_ = expected_;
    }
  }

  void arrive(Op op, uint32_t arg, int n) {
    tokens_.push_back({static_cast<uint32_t>(steps_.size() - first_), phase_});
    add(op, arg);
    pending_ -= n;
    settle();
  }

  // count returns an operand of 1 to most, often all that is left.
  int count(int most) { return rng_.chance(3) ? most : rng_.range(1, most); }

  int bytes() {
    static const int sizes[] = {0, 1, 16, 16, 32, 64, 128, 4096, 16384, 65535};
    return sizes[rng_.below(sizeof sizes / sizeof sizes[0])];
  }

  void step() {
    const int b = bytes();
    const bool fits = tx_ + b <= kMax;
    switch (rng_.below(16)) {
      case 0: case 1:
        if (pending_ > 0) arrive(kArrive, 0, 1);
        return;
      case 2: case 3: {
        if (pending_ == 0) return;
        const int n = count(pending_);
        arrive(kArriveN, n, n);
        return;
      }
      case 4: {
        if (pending_ < 2) return;
        const int n = rng_.range(1, pending_ - 1);
        arrive(kArriveNoComplete, n, n);
        return;
      }
      case 5: case 6:
        if (pending_ == 0 || !fits) return;
        tx_ += b;
        arrive(kArriveExpectTx, b, 1);
        return;
      case 7: {
        // A barrier whose expected count is 0 can only be invalidated.
        const int most = pending_ < expected_ - 1 ? pending_ : expected_ - 1;
        if (most < 1) return;
        const int n = rng_.chance(2) ? 1 : rng_.range(1, most);
        expected_ -= n;
        arrive(kArriveDrop, n, n);
        return;
      }
      case 8:
        if (pending_ == 0 || expected_ < 2 || !fits) return;
        tx_ += b;
        expected_--;
        arrive(kArriveDropExpectTx, b, 1);
        return;
      case 9:
        // Half of the time just what bytes that came early wait for.
        if (tx_ < 0 && rng_.chance(2)) {
          add(kExpectTx, -tx_);
          tx_ = 0;
        } else {
          if (!fits) return;
          add(kExpectTx, b);
          tx_ += b;
        }
        settle();
        return;
      case 10: case 11:
        if (tx_ > 0 && !rng_.chance(3)) {
          const int n = count(tx_);
          add(kCompleteTx, n);
          tx_ -= n;
        } else {
          if (tx_ - b < -kMax) return;
          add(kCompleteTx, b);
          tx_ -= b;
        }
        settle();
        return;
      case 12: case 13:
        add(kTestWaitParity, rng_.chance(16) ? rng_.range(2, 7) : rng_.below(2));
        return;
      case 14:
        if (rng_.chance(4)) {
          add(kTryWaitParity, rng_.below(2));
        } else if (!tokens_.empty()) {
          const Token& t = tokens_[tokens_.size() - 1 - rng_.below(tokens_.size() < 4 ? tokens_.size() : 4)];
          if (phase_ - t.phase <= 1) add(kTestWait, t.index);
        }
        return;
      default:
        if (!tokens_.empty()) add(kPendingCount, tokens_[rng_.below(tokens_.size())].index);
        return;
    }
  }

  struct Token {
    uint32_t index, phase;
  };
  Rng& rng_;
  std::vector<Step>& steps_;
  size_t first_;
  std::vector<Token> tokens_;
  int expected_ = 0, pending_ = 0, tx_ = 0;
  uint32_t phase_ = 0;
};

inline size_t probe_mbarrier(const std::string& dir, uint64_t seed) {
  constexpr int kScripts = 600;
  Rng rng(seed, 1);
  std::vector<Step> steps;
  std::vector<uint32_t> begin;
  for (int s = 0; s < kScripts; s++) {
    begin.push_back(steps.size());
    Script(rng, steps).make();
  }
  begin.push_back(steps.size());

  Buffer<Step> device_steps(steps);
  Buffer<uint32_t> device_begin(begin);
  Buffer<uint64_t> device_result(steps.size());
  run_scripts<<<1, 1>>>(device_steps.get(), device_begin.get(), kScripts, device_result.get());
  finish("scripts", 0);
  const std::vector<uint64_t> result = device_result.take();

  File out(dir, "mbarrier.txt");
  for (int s = 0; s < kScripts; s++) {
    for (uint32_t i = begin[s]; i < begin[s + 1]; i++) {
      out.print("%s%s %u %llx", i == begin[s] ? "" : " ; ", kOpNames[steps[i].op], steps[i].arg,
                static_cast<unsigned long long>(result[i]));
    }
    out.print("\n");
  }
  return kScripts;
}
