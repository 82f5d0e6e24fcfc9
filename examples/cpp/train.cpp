// train.cpp - a trainer in C++ whose optimizer is a compiled spec.
//
//   train FILE [UPDATES]
//
// The model of ../c, with weights and gradients in BF16: the optimizer updates
// FP32 masters, and rounds them to the weights. It runs on the program's own
// threads.
#include "llm.h"
#include "model.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using bf16 = uint16_t;

float widen(bf16 half) {
  uint32_t bits = uint32_t(half) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// To nearest, ties to even.
bf16 narrow(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bf16((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// The program's threads, as the artefact wants them: run() has to cover
/// 0 .. count - 1 once, in any pieces, and to return when all is done.
class Threads {
public:
  explicit Threads(int count) {
    pool.struct_size = sizeof pool;
    pool.threads = count;
    pool.context = this;
    pool.run = [](void *context, int64_t count,
                  void (*task)(void *, int64_t, int64_t), void *data) {
      auto *self = static_cast<Threads *>(context);
      std::atomic<int64_t> next{0};
      auto work = [&] {
        for (int64_t i; (i = next++) < count;)
          task(data, i, i + 1);
      };
      std::vector<std::thread> others;
      for (int i = 1; i < self->pool.threads; ++i)
        others.emplace_back(work);
      work();
      for (std::thread &thread : others)
        thread.join();
    };
  }
  const steep_pool *get() const { return &pool; }

private:
  steep_pool pool = {};
};

/// Throws what the artefact said.
void check(int32_t code) {
  if (code < 0)
    throw std::runtime_error(steep_llm_last_error());
}

/// Memory as a tensor of the model; nothing is copied.
DLTensor view(void *data, bool isBF16, int32_t ndim, const int64_t *shape) {
  DLTensor tensor = {};
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = ndim;
  tensor.dtype = {uint8_t(isBF16 ? kDLBfloat : kDLFloat),
                  uint8_t(isBF16 ? 16 : 32), 1};
  tensor.shape = const_cast<int64_t *>(shape);
  return tensor;
}

/// The compiled optimizer, bound to BF16 weights and gradients.
class Optimizer {
public:
  Optimizer(std::vector<bf16> &weights, std::vector<bf16> &gradients,
            const steep_pool *pool)
      : masters(weights.size()) {
    std::transform(weights.begin(), weights.end(), masters.begin(), widen);
    for (int i = 0; i < TENSORS; ++i) {
      auto make = [&](auto &buffer, bool isBF16) {
        return view(buffer.data() + tensor_offset(i), isBF16, tensors[i].ndim,
                    tensors[i].shape);
      };
      weightViews[i] = make(weights, true);
      gradientViews[i] = make(gradients, true);
      masterViews[i] = make(masters, false);
    }
    bind();
    makeStates();
    for (int64_t i = 0; i < STEEP_llm_group_count; ++i) {
      steep_group group = {};
      group.struct_size = sizeof group;
      check(steep_llm_group(i, &group));
      rates[i] = group.lr;
      wd[i].value = group.wd;
    }
    args.struct_size = sizeof args;
    args.parameter_count = TENSORS;
    args.state_count = STEEP_llm_state_count;
    args.group_count = STEEP_llm_group_count;
    args.parameters = parameterPointers;
    args.gradients = gradientPointers;
    args.masters = masterPointers;
    args.states = statePointers;
    args.lr = lr;
    args.wd = wd;
    args.grad_scale.value = 1;
    args.step = 1;
    args.pool = pool;
  }
  Optimizer(const Optimizer &) = delete;

  /// False where a gradient was not finite: then nothing has changed.
  bool step(double factor) {
    for (int64_t i = 0; i < STEEP_llm_group_count; ++i)
      lr[i].value = factor * rates[i];
    int32_t code = steep_llm_step(&args);
    check(code);
    args.step += code == STEEP_OK;
    return code == STEEP_OK;
  }
  double gradientNorm() const { return args.grad_norm; }

private:
  /// Compares the model with what was compiled, and learns its order and how
  /// much memory steps on BF16 tensors want.
  void bind() {
    steep_binding bindings[TENSORS] = {};
    for (int i = 0; i < TENSORS; ++i) {
      bindings[i].struct_size = sizeof bindings[i];
      bindings[i].name = tensors[i].name;
      bindings[i].parameter = &weightViews[i];
      bindings[i].gradient = &gradientViews[i];
      bindings[i].master = &masterViews[i];
    }
    std::string table(4096, ' ');
    steep_plan plan = {};
    plan.struct_size = sizeof plan;
    plan.bindings = bindings;
    plan.binding_count = TENSORS;
    plan.table = &table[0];
    plan.table_bytes = table.size();
    check(steep_llm_plan(&plan));
    std::fputs(table.c_str(), stdout);
    for (int i = 0; i < TENSORS; ++i) {
      parameterPointers[bindings[i].index] = &weightViews[i];
      gradientPointers[bindings[i].index] = &gradientViews[i];
      masterPointers[bindings[i].index] = &masterViews[i];
    }
    uint64_t bytes = (plan.workspace_bytes + 63) / 64 * 64;
    workspace.reset(std::aligned_alloc(plan.workspace_alignment, bytes));
    args.workspace = workspace.get();
    args.workspace_bytes = plan.workspace_bytes;
  }

  void makeStates() {
    for (int64_t i = 0; i < STEEP_llm_state_count; ++i) {
      steep_state state = {};
      state.struct_size = sizeof state;
      check(steep_llm_state(i, &state));
      size_t size = 1;
      for (int32_t dim = 0; dim < state.ndim; ++dim)
        size *= size_t(state.shape[dim]);
      states[i].assign(size, 0);
      stateViews[i] = view(states[i].data(), false, state.ndim, state.shape);
      statePointers[i] = &stateViews[i];
    }
  }

  std::vector<float> masters, states[STEEP_llm_state_count];
  DLTensor weightViews[TENSORS], gradientViews[TENSORS], masterViews[TENSORS];
  DLTensor stateViews[STEEP_llm_state_count];
  DLTensor *parameterPointers[TENSORS], *gradientPointers[TENSORS];
  DLTensor *masterPointers[TENSORS], *statePointers[STEEP_llm_state_count];
  steep_scalar lr[STEEP_llm_group_count] = {}, wd[STEEP_llm_group_count] = {};
  double rates[STEEP_llm_group_count];
  std::unique_ptr<void, decltype(&std::free)> workspace{nullptr, std::free};
  steep_step_args args = {};
};

std::vector<unsigned char> readFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<unsigned char> text(std::istreambuf_iterator<char>(file), {});
  for (unsigned char &byte : text)
    byte %= BYTES;
  if (text.size() <= BATCH + 1)
    throw std::runtime_error(std::string(path) + ": expected more text");
  return text;
}

double train(const std::vector<unsigned char> &text, int updates) {
  std::vector<float> wide(model_size()), gradients(model_size());
  std::vector<bf16> weights(model_size()), halves(model_size());
  model_init(wide.data(), 7);
  std::transform(wide.begin(), wide.end(), weights.begin(), narrow);
  Threads threads(2);
  Optimizer optimizer(weights, halves, threads.get());
  double average = 0;
  uint32_t seed = 1;
  for (int step = 1; step <= updates; ++step) {
    seed = seed * 1664525u + 1013904223u;
    const unsigned char *input =
        text.data() + (seed >> 8) % (text.size() - BATCH - 1);
    // A trainer with BF16 kernels would have no need of the wide copies.
    std::transform(weights.begin(), weights.end(), wide.begin(), widen);
    std::fill(gradients.begin(), gradients.end(), 0.0f);
    float loss =
        model_backward(wide.data(), gradients.data(), input, input + 1);
    std::transform(gradients.begin(), gradients.end(), halves.begin(), narrow);
    double factor = std::min(1.0, 10.0 * step / updates) *
                    (step > updates / 2 ? 2.0 - 2.0 * step / updates + 0.1 : 1);
    if (!optimizer.step(factor))
      std::printf("step %d: %s\n", step, steep_llm_last_error());
    average = step == 1 ? loss : 0.95 * average + 0.05 * loss;
    if (step % 50 == 0 || step == 1)
      std::printf("step %d: loss %.3f, gradient norm %.3f\n", step, average,
                  optimizer.gradientNorm());
  }
  return average;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: train FILE [UPDATES]\n");
    return 2;
  }
  try {
    double loss = train(readFile(argv[1]), argc > 2 ? std::atoi(argv[2]) : 200);
    return loss < 3.3 ? 0 : 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "train: %s\n", error.what());
    return 1;
  }
}
