//===- MemoryTest.cpp - a step on memory of all kinds ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls the C ABI on mapped pages: gradients that cannot be written, and
// tensors that end past 2^31 elements, of which only the pages that a block
// touches ever exist.
//
//===----------------------------------------------------------------------===//
#include "runtime/Core/Artefact.h"
#include "steep/steep.h"
#include "test/Unit/Core/TestSupport.h"

#include <dlfcn.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <vector>

using namespace steep;
using Shape = std::vector<int64_t>;

namespace {

/// Zero pages, mapped when they are touched.
class Pages {
public:
  explicit Pages(std::size_t bytes) : bytes(bytes) {
    begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED)
      fail("cannot map {} bytes", bytes);
  }
  Pages(const Pages &) = delete;
  ~Pages() { munmap(begin, bytes); }
  float *f32() const { return static_cast<float *>(begin); }
  void protect() const { mprotect(begin, bytes, PROT_READ); }

private:
  std::size_t bytes;
  void *begin;
};

/// One parameter, one state of its shape, and the artefact's entries.
class RawStep {
public:
  RawStep(const std::string &name, Shape shapeOfIt)
      : shape(std::move(shapeOfIt)), count(*elementCount(shape)),
        weight(bytes()), gradient(bytes()), state(bytes()) {
    static test::TemporaryFolder cache;
    CompileRequest request;
    request.spec = STEEP_TEST_DATA "/memory.mlir";
    nlohmann::json tensor = {
        {"name", name}, {"shape", shape}, {"dtype", "F32"}};
    request.parameters = nlohmann::json{{"tensors", {tensor}}}.dump();
    request.cache = cache.folder().string();
    request.compiler = STEEP_TEST_COMPILER;
    request.options = {"--only-rule=" + name};
    library = dlopen((compileArtefact(request) + "/libmemory.so").c_str(),
                     RTLD_NOW | RTLD_LOCAL);
    if (!library)
      fail("{}", dlerror());
  }
  ~RawStep() { dlclose(library); }
  RawStep(const RawStep &) = delete;

  std::size_t bytes() const {
    return static_cast<std::size_t>(count) * sizeof(float);
  }
  int32_t step(const steep_pool *pool);

  Shape shape;
  int64_t count;
  Pages weight, gradient, state;
  std::string message;
  double gradNorm = 0;

private:
  template <typename Function> Function get(const char *name) {
    return reinterpret_cast<Function>(dlsym(library, name));
  }
  void *library;
};

} // namespace

int32_t RawStep::step(const steep_pool *pool) {
  steep_plan plan = {};
  plan.struct_size = sizeof plan;
  get<int32_t (*)(steep_plan *)>("steep_memory_plan")(&plan);
  Pages workspace(plan.workspace_bytes);
  DLTensor w = {};
  w.device.device_type = kDLCPU;
  w.ndim = static_cast<int32_t>(shape.size());
  w.dtype = {kDLFloat, 32, 1};
  w.shape = shape.data();
  DLTensor g = w, b = w;
  w.data = weight.f32();
  g.data = gradient.f32();
  b.data = state.f32();
  DLTensor *weights[] = {&w}, *gradients[] = {&g}, *states[] = {&b};
  steep_scalar lr = {}, wd = {};
  lr.value = 0.5;
  char text[256] = "";
  steep_step_args args = {};
  args.struct_size = sizeof args;
  args.parameter_count = args.state_count = args.group_count = 1;
  args.parameters = weights;
  args.gradients = gradients;
  args.states = states;
  args.lr = &lr;
  args.wd = &wd;
  args.grad_scale.value = 1;
  args.step = 1;
  args.workspace = workspace.f32();
  args.workspace_bytes = plan.workspace_bytes;
  args.pool = pool;
  args.message = text;
  args.message_bytes = sizeof text;
  int32_t code =
      get<int32_t (*)(steep_step_args *)>("steep_memory_step")(&args);
  message = text;
  gradNorm = args.grad_norm;
  return code;
}

/// Runs the last item of everything, as if others had done the rest.
static void runLast(void *, int64_t count,
                    void (*task)(void *, int64_t, int64_t), void *data) {
  task(data, count - 1, count);
}

/// Three steps would be minutes and 30 GB; the last block is where offsets are
/// largest.
static void expectLastElement(RawStep &raw) {
  steep_pool pool = {sizeof pool, 1, nullptr, runLast};
  int64_t last = raw.count - 1;
  ASSERT_GT(last, int64_t(1) << 31);
  raw.weight.f32()[last] = 1;
  raw.gradient.f32()[last] = 4;
  ASSERT_EQ(raw.step(&pool), STEEP_OK) << raw.message;
  EXPECT_EQ(raw.gradNorm, 4);
  EXPECT_EQ(raw.weight.f32()[last], 0.5f);
  EXPECT_EQ(raw.state.f32()[last], 2.0f);
  // What 32 bits would have hit.
  EXPECT_EQ(raw.weight.f32()[last & 0x7fffffff], 0.0f);
}

TEST(Memory, OffsetsInAMatrixAreOf64Bits) {
  RawStep raw("rows", {1100000, 2048});
  expectLastElement(raw);
}

TEST(Memory, OffsetsOfAMatrixInItsParameterAreOf64Bits) {
  RawStep raw("stacked", {320, 2560, 3072});
  expectLastElement(raw);
}

TEST(Memory, GradientsAreOnlyRead) {
  for (const char *rule : {"rows", "spectral"}) {
    RawStep raw(rule, {40, 24});
    for (int64_t i = 0; i < raw.count; ++i)
      raw.gradient.f32()[i] = static_cast<float>(i % 7) - 3;
    raw.gradient.protect();
    ASSERT_EQ(raw.step(nullptr), STEEP_OK) << raw.message;
    EXPECT_NE(raw.weight.f32()[0], 0.0f);
  }
}
