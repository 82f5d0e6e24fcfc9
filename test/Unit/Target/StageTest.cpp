//===- StageTest.cpp - tensors that kernels do not take as they are -------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step on BF16 tensors and on views with strides, against the same step on
// dense FP32 tensors of the same values.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Target/HostStep.h"

#include <cmath>
#include <cstring>

using namespace steep::test;

namespace {

constexpr int rows = 4, columns = 8;

uint16_t narrow(float value) {
  // To nearest by comparison of the two neighbours, ties to the even one.
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  auto widen = [](uint32_t half) {
    uint32_t whole = half << 16;
    float result;
    std::memcpy(&result, &whole, 4);
    return double(result);
  };
  uint32_t low = bits >> 16, high = low + 1;
  double below = std::abs(value - widen(low));
  double above = std::abs(widen(high) - value);
  return uint16_t(below < above || (below == above && low % 2 == 0) ? low
                                                                    : high);
}

float widen(uint16_t half) {
  uint32_t bits = uint32_t(half) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// How a matrix lies in memory: element (i, j) at i * row + j * column.
struct Layout {
  int64_t row, column;
};
constexpr Layout layouts[] = {
    {columns, 1}, {columns + 3, 1}, {1, rows}, {2, 2 * rows + 1}, {40, 3}};

/// A matrix of any layout and type in memory of its own; what lies between its
/// elements must stay.
class View {
public:
  View(DLTensor &tensor, Layout layout, bool bf16)
      : tensor(tensor), layout(layout), size(bf16 ? 2 : 4),
        memory(size_t(offset + (rows - 1) * layout.row +
                      (columns - 1) * layout.column + 1) *
                   size_t(size),
               '\x5a') {
    strides[0] = layout.row;
    strides[1] = layout.column;
    dense.resize(elements);
    std::memcpy(dense.data(), tensor.data, tensorBytes);
    tensor.data = memory.data();
    tensor.byte_offset = uint64_t(offset * size);
    tensor.strides = strides;
    tensor.dtype = {uint8_t(bf16 ? kDLBfloat : kDLFloat), uint8_t(8 * size), 1};
    fill();
  }
  View(const View &) = delete;

  bool isBF16() const { return size == 2; }
  /// Element i, as FP32.
  float get(int i) const {
    const char *from = at(i);
    if (!isBF16()) {
      float value;
      std::memcpy(&value, from, 4);
      return value;
    }
    uint16_t half;
    std::memcpy(&half, from, 2);
    return widen(half);
  }
  void set(int i, float value) {
    uint16_t half = narrow(value);
    std::memcpy(const_cast<char *>(at(i)),
                isBF16() ? static_cast<void *>(&half) : &value, size_t(size));
  }
  bool keepsWhatIsBetween() {
    for (int i = 0; i < elements; ++i)
      std::memset(const_cast<char *>(at(i)), 0x5a, size_t(size));
    for (char c : memory)
      if (c != '\x5a')
        return false;
    return true;
  }

private:
  const char *at(int i) const {
    int64_t element =
        offset + i / columns * layout.row + i % columns * layout.column;
    return memory.data() + element * size;
  }
  void fill() {
    for (int i = 0; i < elements; ++i)
      set(i, dense[size_t(i)]);
  }

  static constexpr int64_t offset = 2;
  DLTensor &tensor;
  Layout layout;
  int64_t size;
  std::vector<char> memory;
  std::vector<float> dense;
  int64_t strides[2];
};

/// A step whose tensors lie anyhow, beside one on dense FP32 tensors.
struct Pair {
  Pair(std::mt19937 &random, bool wantsUpdates, bool delta) {
    if (wantsUpdates || delta)
      odd.args.updates = odd.pointers + Step::Updates;
    if (wantsUpdates && !delta)
      plain.args.updates = plain.pointers + Step::Updates;
    odd.args.flags = delta ? STEEP_DELTA_ONLY : 0;
    for (int p = 0; p < count; ++p) {
      masterTensors[p] = odd.tensors[p];
      bool bf16 = random() % 2 == 0;
      if (bf16 && (!delta || random() % 2)) {
        masters[p] = &masterTensors[p];
        master[p] = make(masterTensors[p], random, false);
      }
      for (int role = 0; role < 4; ++role) {
        int i = role * count + p;
        bool half = role == 0   ? bf16
                    : role == 2 ? false // states are FP32
                                : random() % 2 == 0;
        views[i] = make(odd.tensors[i], random, half);
        for (int e = 0; e < elements; ++e) // what BF16 made of the values
          plain.values(i)[e] =
              role == 0 && masters[p] ? master[p]->get(e) : views[i]->get(e);
      }
    }
    odd.args.masters = masters;
    before = plain.data;
    setWorkspace();
  }

  static std::unique_ptr<View> make(DLTensor &tensor, std::mt19937 &random,
                                    bool bf16) {
    return std::make_unique<View>(tensor,
                                  layouts[random() % std::size(layouts)], bf16);
  }

  /// Exactly what plan asks for.
  void setWorkspace() {
    std::vector<steep_binding> bindings;
    static const char *const names[] = {"a", "line\n\"b\"", "c"};
    for (int p : {2, 0, 1})
      bindings.push_back({sizeof(steep_binding), 0, names[p],
                          odd.args.parameters[p], odd.args.gradients[p],
                          masters[p],
                          odd.args.updates ? odd.args.updates[p] : nullptr,
                          odd.args.states + p, -1});
    steep_plan plan = {};
    plan.struct_size = sizeof plan;
    plan.bindings = bindings.data();
    plan.binding_count = count;
    plan.step_flags = odd.args.flags;
    plan.message = odd.message;
    plan.message_bytes = sizeof odd.message;
    ASSERT_EQ(steep_host_export_plan(&plan), STEEP_OK) << odd.message;
    EXPECT_EQ(bindings[0].index, 2);
    EXPECT_EQ(bindings[2].index, 1);
    uint64_t bytes = (plan.workspace_bytes + 63) / 64 * 64;
    odd.workspace.reset(std::aligned_alloc(64, bytes));
    odd.args.workspace = odd.workspace.get();
    odd.args.workspace_bytes = plan.workspace_bytes;
  }

  Step odd, plain;
  DLTensor masterTensors[count];
  DLTensor *masters[count] = {};
  std::unique_ptr<View> master[count], views[Step::All];
  std::vector<float> before; ///< the dense values, before the step
};

/// All that a step left, against the dense one.
void compare(Pair &pair, bool delta) {
  for (int i = 0; i < Step::All; ++i) {
    bool isUpdate = i >= Step::Updates, isWeight = i < count;
    for (int e = 0; e < elements; ++e) {
      float old = pair.before[size_t(i * elements + e)];
      float wanted = pair.plain.values(i)[e];
      if (delta && isUpdate)
        wanted = pair.plain.values(i - Step::Updates)[e] -
                 pair.before[size_t((i - Step::Updates) * elements + e)];
      if (delta && isWeight)
        wanted = old;
      float got = pair.views[i]->get(e);
      if (isWeight && pair.master[i]) {
        ASSERT_EQ(pair.master[i]->get(e), wanted);
      }
      if (pair.views[i]->isBF16())
        wanted = widen(narrow(wanted));
      ASSERT_EQ(got, wanted) << "tensor " << i << " element " << e;
    }
    EXPECT_TRUE(pair.views[i]->keepsWhatIsBetween()) << "tensor " << i;
    if (isWeight && pair.master[i]) {
      EXPECT_TRUE(pair.master[i]->keepsWhatIsBetween());
    }
  }
}

} // namespace

TEST(Stage, AnyLayoutAndTypeGivesTheBitsOfDenseTensors) {
  std::mt19937 random(3);
  steep_pool *pool = steep_host_export_pool_create(3);
  for (int round = 0; round < 600; ++round) {
    bool delta = round % 3 == 0, updates = round % 2 == 0;
    Pair pair(random, updates, delta);
    pair.odd.args.step = pair.plain.args.step = round + 1;
    pair.odd.args.grad_scale.value = pair.plain.args.grad_scale.value = 0.5;
    pair.odd.args.pool = round % 4 ? pool : nullptr;
    ASSERT_EQ(steep_host_export_step(&pair.odd.args), STEEP_OK)
        << pair.odd.message;
    ASSERT_EQ(steep_host_export_step(&pair.plain.args), STEEP_OK);
    EXPECT_EQ(pair.odd.args.grad_norm, pair.plain.args.grad_norm);
    compare(pair, delta);
    if (HasFatalFailure() || HasNonfatalFailure())
      break;
  }
  steep_host_export_pool_destroy(pool);
}

TEST(Stage, AByteLessThanPlanSaysIsRefused) {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    Pair pair(random, true, false);
    pair.odd.args.workspace_bytes -= 1;
    EXPECT_EQ(steep_host_export_step(&pair.odd.args),
              STEEP_WORKSPACE_TOO_SMALL);
  }
}

TEST(Stage, DenseUpdatesOfADeltaNeedNoWorkspace) {
  Step step, plain;
  step.args.flags = STEEP_DELTA_ONLY;
  step.args.updates = step.pointers + Step::Updates;
  ASSERT_EQ(steep_host_export_step(&step.args), STEEP_OK) << step.message;
  ASSERT_EQ(steep_host_export_step(&plain.args), STEEP_OK);
  Step before;
  for (int i = 0; i < count * elements; ++i) {
    EXPECT_EQ(step.data[size_t(i)], before.data[size_t(i)]);
    EXPECT_EQ(step.values(Step::Updates)[i],
              plain.data[size_t(i)] - before.data[size_t(i)]);
  }
}

// A caller of 1.1 has no masters, and a plan without bindings.
TEST(Stage, EarlierStructuresGoOnAsBefore) {
  Step step, plain;
  step.args.struct_size = offsetof(steep_step_args, masters);
  std::memset(static_cast<void *>(&step.args.masters), 0xee,
              sizeof step.args - offsetof(steep_step_args, masters));
  ASSERT_EQ(steep_host_export_step(&step.args), STEEP_OK) << step.message;
  ASSERT_EQ(steep_host_export_step(&plain.args), STEEP_OK);
  EXPECT_EQ(step.data, plain.data);
  steep_plan plan;
  std::memset(static_cast<void *>(&plan), 0xee, sizeof plan);
  plan.struct_size = offsetof(steep_plan, bindings);
  ASSERT_EQ(steep_host_export_plan(&plan), STEEP_OK);
  EXPECT_EQ(plan.workspace_bytes, 512u);
  EXPECT_EQ(plan.table_needed, 0xeeeeeeeeeeeeeeee);
}

TEST(Stage, ANaNStaysOneAndIsFound) {
  Step step;
  View view(step.tensors[Step::Gradients + 1], layouts[1], true);
  std::vector<char> memory(1 << 12);
  step.workspace.reset(std::aligned_alloc(64, 1 << 12));
  step.args.workspace = step.workspace.get();
  step.args.workspace_bytes = 1 << 12;
  // 0x7f80 would be an infinity; the lowest bits of this NaN are lost.
  auto *bits = static_cast<char *>(step.tensors[Step::Gradients + 1].data) + 4;
  uint16_t nan = 0x7fc0;
  std::memcpy(bits, &nan, 2);
  EXPECT_EQ(steep_host_export_step(&step.args), STEEP_SKIPPED);
  EXPECT_EQ(step.args.nonfinite_parameter, 1);
}

// A gradient may repeat its elements, as expanded tensors do.
TEST(Stage, AGradientOfStrideZeroIsExpanded) {
  Step step, plain;
  int64_t strides[2] = {0, 0};
  float value = 0.25f;
  step.tensors[Step::Gradients].strides = strides;
  step.tensors[Step::Gradients].data = &value;
  std::fill_n(plain.values(Step::Gradients), elements, value);
  step.workspace.reset(std::aligned_alloc(64, 1 << 12));
  step.args.workspace = step.workspace.get();
  step.args.workspace_bytes = 1 << 12;
  ASSERT_EQ(steep_host_export_step(&step.args), STEEP_OK) << step.message;
  ASSERT_EQ(steep_host_export_step(&plain.args), STEEP_OK);
  for (int i = 0; i < elements; ++i)
    EXPECT_EQ(step.values(0)[i], plain.values(0)[i]);
}

// The columns of one buffer belong to several parameters.
TEST(Stage, ViewsThatInterleaveDoNotOverlap) {
  Step step, plain;
  std::vector<float> buffer(rows * 2 * columns);
  int64_t strides[2] = {2 * columns, 1};
  for (int p = 0; p < 2; ++p) {
    for (int i = 0; i < elements; ++i)
      buffer[size_t(i / columns * 2 * columns + p * columns + i % columns)] =
          step.values(p)[i];
    step.tensors[p].data = buffer.data() + p * columns;
    step.tensors[p].strides = strides;
  }
  step.workspace.reset(std::aligned_alloc(64, 1 << 12));
  step.args.workspace = step.workspace.get();
  step.args.workspace_bytes = 1 << 12;
  ASSERT_EQ(steep_host_export_step(&step.args), STEEP_OK) << step.message;
  ASSERT_EQ(steep_host_export_step(&plain.args), STEEP_OK);
  for (int p = 0; p < 2; ++p)
    for (int i = 0; i < elements; ++i)
      EXPECT_EQ(
          buffer[size_t(i / columns * 2 * columns + p * columns + i % columns)],
          plain.values(p)[i]);
  step.tensors[1].data = buffer.data() + columns - 1;
  EXPECT_EQ(steep_host_export_step(&step.args), STEEP_INVALID_ARGUMENT);
  EXPECT_STREQ(step.message,
               "parameter \"a\" and parameter \"line\\x0a\\x22b\\x22\" overlap "
               "in memory: expected tensors of their own");
}

namespace {
struct Refusal {
  const char *message;
  void (*change)(Step &step, int64_t *strides);
};
} // namespace

TEST(Stage, RefusesByName) {
  static DLTensor master;
  static DLTensor *masters[count];
  const Refusal refusals[] = {
      {"parameter \"a\": expected strides of at least 0, got -8 for dimension "
       "0",
       [](Step &step, int64_t *strides) {
         strides[0] = -8;
         step.tensors[0].strides = strides;
       }},
      {"parameter \"a\": expected strides that reach no element twice",
       [](Step &step, int64_t *strides) {
         strides[0] = 7;
         step.tensors[0].strides = strides;
       }},
      {"parameter \"a\": expected strides within an address space, got "
       "9223372036854775807 for dimension 0",
       [](Step &step, int64_t *strides) {
         strides[0] = INT64_MAX;
         step.tensors[0].strides = strides;
       }},
      {"parameter \"a\": expected an FP32 master of this BF16 weight, got NULL",
       [](Step &step, int64_t *) {
         step.tensors[0].dtype = {kDLBfloat, 16, 1};
       }},
      {"master of \"c\": expected NULL, since the weight is FP32 itself",
       [](Step &step, int64_t *) {
         master = step.tensors[2];
         masters[2] = &master;
         step.args.masters = masters;
       }},
      {"state momentum_buffer of \"c\": expected FP32 elements (DLPack type 2, "
       "32 bits, 1 lane), got type 4, 16 bits, 1 lanes",
       [](Step &step, int64_t *) {
         step.tensors[Step::States + 2].dtype = {kDLBfloat, 16, 1};
       }},
      {"gradient of \"c\": expected FP32 elements (DLPack type 2, 32 bits, 1 "
       "lane) or BF16 (type 4, 16 bits), got type 2, 16 bits, 1 lanes",
       [](Step &step, int64_t *) {
         step.tensors[Step::Gradients + 2].dtype = {kDLFloat, 16, 1};
       }},
      {"updates: expected an array, got NULL",
       [](Step &step, int64_t *) { step.args.flags = STEEP_DELTA_ONLY; }},
      {"update of \"c\": expected a tensor, got NULL",
       [](Step &step, int64_t *) {
         step.args.flags = STEEP_DELTA_ONLY;
         step.args.updates = step.pointers + Step::Updates;
         step.pointers[Step::Updates + 2] = nullptr;
       }},
      {"flags: expected 0 or STEEP_DELTA_ONLY, got 2",
       [](Step &step, int64_t *) { step.args.flags = 2; }},
      {"measure_count: expected 0, got 1", [](Step &step, int64_t *) {
         static double measure;
         step.args.measures = &measure;
         step.args.measure_count = 1;
       }}};
  for (const Refusal &refusal : refusals) {
    Step step;
    int64_t strides[2] = {columns, 1};
    masters[2] = nullptr;
    refusal.change(step, strides);
    std::vector<float> before = step.data;
    EXPECT_EQ(steep_host_export_step(&step.args), STEEP_INVALID_ARGUMENT)
        << refusal.message;
    EXPECT_STREQ(step.message, refusal.message);
    EXPECT_STREQ(steep_host_export_last_error(), refusal.message);
    EXPECT_EQ(step.data, before);
  }
}
