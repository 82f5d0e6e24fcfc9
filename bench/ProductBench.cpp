//===- ProductBench.cpp - compiled products against libraries -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of matrices, compiled as an optimizer's are, beside OpenBLAS (opened
// when the program runs, if it is there), oneDNN and two loops of
// multiply-adds: one stays in registers, the other finds its operands in the
// first-level cache, which is the most that a product can have. A symmetric
// product alternates with the full one of its shape too. One thread; the
// contenders alternate, medians are compared, and every result is checked
// against OpenBLAS. Products whose names begin with bf16 round their operands,
// for oneDNN as well, but not for OpenBLAS. All matrices lie in huge pages
// where the system grants them, as the runtime's do, those that oneDNN has
// arranged too.
//
// What libraries may use is theirs to be told: OPENBLAS_CORETYPE,
// ONEDNN_MAX_CPU_ISA; with --target they are limited alike by themselves.
//
//===----------------------------------------------------------------------===//
#include "bench/Arguments.h"
#include "bench/Clock.h"
#include "bench/Libraries.h"
#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Core/Memory.h"

#include <algorithm>
#include <cmath>
#include <cpuid.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <immintrin.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int64_t SLOT_A = -1, SLOT_B = -2, SLOT_C = -3;

struct Kernel {
  void (*run)(void **slots, int64_t begin, int64_t end);
  int64_t grid;
  std::vector<int64_t> slots;
};

/// One product, m x k by k x n, and what the compiler made of it.
struct Product {
  const char *name, *target;
  int64_t m, n, k;
  bool left, right; // which operand is transposed
  bool symmetric, bf16;
  int64_t workspace;
  std::vector<Kernel> kernels; // packing, then the product
};

std::vector<Product> &products() {
  static std::vector<Product> list;
  return list;
}

bool addProduct(const Product &product) {
  products().push_back(product);
  return true;
}

} // namespace

#include "products.inc"

namespace {

using steep::bench::Sgemm;

struct Options {
  int64_t rounds = 11;
  std::string only, target, clock = "elapsed", json;
};

using Memory = std::unique_ptr<float, decltype(&std::free)>;

/// As an optimizer's memory, large enough for huge pages.
Memory allocate(int64_t floats) {
  constexpr size_t least = size_t(4) << 20;
  size_t bytes = std::max(size_t(floats) * sizeof(float) + 4096, least);
  return {static_cast<float *>(steep::allocateAligned(bytes)), &std::free};
}

bool ofProcessors = false; // --clock cpu

double now() { return steep::bench::now(ofProcessors); }

//===----------------------------------------------------------------------===//
// The roof
//===----------------------------------------------------------------------===//

/// Floating-point operations a second of `REGISTERS` independent chains of
/// multiply-adds on registers alone.
#define PEAK(NAME, TARGET, VECTOR, LANES, REGISTERS, STEP)                     \
  __attribute__((target(TARGET))) double NAME() {                              \
    constexpr int64_t count = 12000000 / (REGISTERS * 2);                      \
    VECTOR sums[REGISTERS], factor = VECTOR{} + 0.999f, term = VECTOR{} + 1;   \
    for (VECTOR & sum : sums)                                                  \
      sum = factor;                                                            \
    const double begin = now();                                                \
    for (int64_t i = 0; i < count; ++i) {                                      \
      _Pragma("GCC unroll 32") for (VECTOR & sum : sums) sum = STEP;           \
    }                                                                          \
    const double seconds = now() - begin;                                      \
    for (const VECTOR &sum : sums)                                             \
      asm volatile("" : : "v"(sum));                                           \
    return count * double(REGISTERS) * LANES * 2 / seconds;                    \
  }

PEAK(peak16, "avx512f", __m512, 16, 24, _mm512_fmadd_ps(sum, factor, term))
PEAK(peak8, "avx2,fma", __m256, 8, 12, _mm256_fmadd_ps(sum, factor, term))
PEAK(peak4, "sse2", __m128, 4, 12, _mm_add_ps(_mm_mul_ps(sum, factor), term))
#undef PEAK

/// The same of a loop whose operands lie in the first-level cache, as a part of
/// a product would have them at best: `ROWS` by three vectors of sums.
#define CACHED(NAME, TARGET, VECTOR, LANES, ROWS, STEP)                        \
  __attribute__((target(TARGET))) double NAME() {                              \
    constexpr int64_t depth = 128, count = 48000000 / (depth * ROWS * LANES);  \
    alignas(64) static float left[depth * ROWS], right[depth * 3 * LANES];     \
    VECTOR sums[ROWS][3] = {};                                                 \
    const double begin = now();                                                \
    for (int64_t i = 0; i < count; ++i) {                                      \
      asm volatile("" : : "r"(left), "r"(right) : "memory");                   \
      for (int64_t k = 0; k < depth; ++k) {                                    \
        const VECTOR *terms = reinterpret_cast<const VECTOR *>(right) + k * 3; \
        _Pragma("GCC unroll 8") for (int row = 0; row < ROWS; ++row) {         \
          const VECTOR factor = left[k * ROWS + row] - VECTOR{};               \
          _Pragma("GCC unroll 3") for (int j = 0; j < 3; ++j) {                \
            VECTOR &sum = sums[row][j];                                        \
            const VECTOR term = terms[j];                                      \
            sum = STEP;                                                        \
          }                                                                    \
        }                                                                      \
      }                                                                        \
    }                                                                          \
    const double seconds = now() - begin;                                      \
    for (const auto &row : sums)                                               \
      for (const VECTOR &sum : row)                                            \
        asm volatile("" : : "v"(sum));                                         \
    return count * double(depth * ROWS * 3) * LANES * 2 / seconds;             \
  }

CACHED(cached16, "avx512f", __m512, 16, 8, _mm512_fmadd_ps(factor, term, sum))
CACHED(cached8, "avx2,fma", __m256, 8, 4, _mm256_fmadd_ps(factor, term, sum))
CACHED(cached4, "sse2", __m128, 4, 4, _mm_add_ps(_mm_mul_ps(factor, term), sum))
#undef CACHED

/// The same with pairs of BF16, which count as two multiply-adds.
__attribute__((target("avx512f,avx512bf16"))) double peakPairs() {
  constexpr int64_t count = 12000000 / (24 * 2);
  __m512 sums[24] = {};
  for (__m512 &sum : sums)
    asm volatile("" : "+v"(sum)); // not all the same
  const __m512bh factor =
      _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.999f), _mm512_set1_ps(0.999f));
  const double begin = now();
  for (int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 32
    for (__m512 &sum : sums)
      sum = _mm512_dpbf16_ps(sum, factor, factor);
  }
  const double seconds = now() - begin;
  for (const __m512 &sum : sums)
    asm volatile("" : : "v"(sum));
  return count * 24.0 * 32 * 2 / seconds;
}

/// Processes ask for the registers of AMX: Linux' arch_prctl with
/// ARCH_REQ_XCOMP_PERM and XFEATURE_XTILEDATA. Whether there are any.
bool askForAMX() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && edx >> 22 & 1 &&
         syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}

/// The same with tiles of AMX, four sums and two parts of each operand.
__attribute__((target("amx-tile,amx-bf16"))) double peakTiles() {
  constexpr int64_t count = 200000;
  alignas(64) uint8_t config[64] = {1};
  for (int i = 0; i < 8; ++i)
    config[16 + 2 * i] = 64, config[48 + i] = 16;
  _tile_loadconfig(config);
  const double begin = now();
  for (int64_t i = 0; i < count; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  const double seconds = now() - begin;
  _tile_release();
  return count * 4.0 * 16 * 16 * 32 * 2 / seconds;
}

/// On registers alone, and with operands in the first-level cache; the latter
/// not for BF16.
struct Roof {
  double registers, cached = 0;
};

Roof measureRoof(const Product &product) {
  static const bool hasAMX = askForAMX();
  const std::string target = product.target;
  if (product.bf16)
    return {hasAMX ? peakTiles() : peakPairs()};
  if (target == "x86-64" || target == "x86-64-v2")
    return {peak4(), cached4()};
  if (target != "x86-64-v3" && __builtin_cpu_supports("avx512f"))
    return {peak16(), cached16()};
  return {peak8(), cached8()};
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// oneDNN's product, its operands arranged as it likes best.
class OneDNN {
public:
  OneDNN(const Product &p, const float *a, const float *b)
      : engine(dnnl::engine::kind::cpu, 0), stream(engine) {
    using dnnl::memory;
    using Tag = memory::format_tag;
    using Type = memory::data_type;
    auto describe = [](int64_t rows, int64_t columns, Tag tag,
                       Type type = Type::f32) {
      return memory::desc({rows, columns}, type, tag);
    };
    const Type operand = p.bf16 ? Type::bf16 : Type::f32;
    dnnl::matmul::desc desc(describe(p.m, p.k, Tag::any, operand),
                            describe(p.k, p.n, Tag::any, operand),
                            describe(p.m, p.n, Tag::ab));
    dnnl::matmul::primitive_desc primitive(desc, engine);
    name = primitive.impl_info_str();
    auto make = [&](memory::desc to) {
      buffers.push_back(allocate(int64_t(to.get_size() / sizeof(float)) + 1));
      return memory(to, engine, buffers.back().get());
    };
    auto arrange = [&](memory::desc from, const float *data, memory::desc to) {
      memory source(from, engine, const_cast<float *>(data));
      memory dest = make(to);
      dnnl::reorder(source, dest).execute(stream, source, dest);
      stream.wait();
      return dest;
    };
    left = arrange(describe(p.m, p.k, p.left ? Tag::ba : Tag::ab), a,
                   primitive.src_desc());
    right = arrange(describe(p.k, p.n, p.right ? Tag::ba : Tag::ab), b,
                    primitive.weights_desc());
    result = make(primitive.dst_desc());
    product = dnnl::matmul(primitive);
  }

  void run() {
    product.execute(stream, {{DNNL_ARG_SRC, left},
                             {DNNL_ARG_WEIGHTS, right},
                             {DNNL_ARG_DST, result}});
    stream.wait();
  }

  std::string name;

private:
  dnnl::engine engine;
  dnnl::stream stream;
  std::vector<Memory> buffers;
  dnnl::memory left, right, result;
  dnnl::matmul product;
};

//===----------------------------------------------------------------------===//
// Contest
//===----------------------------------------------------------------------===//

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Contest {
public:
  explicit Contest(const Product &p)
      : p(p), a(allocate(p.m * p.k)), b(allocate(p.k * p.n)),
        c(allocate(p.m * p.n)), expected(allocate(p.m * p.n)),
        workspace(allocate(p.workspace / 4 + 1)) {
    // Small whole numbers: every order of every sum gives the same bits.
    for (int64_t i = 0; i < p.m * p.k; ++i)
      a.get()[i] = float(std::rand() % 7 - 3);
    for (int64_t i = 0; i < p.k * p.n; ++i)
      b.get()[i] = float(std::rand() % 5 - 2);
  }

  nlohmann::json run(const Options &options, Sgemm sgemm);
  void pack() {
    for (size_t i = 0; i + 1 < p.kernels.size(); ++i)
      call(p.kernels[i]);
  }
  void multiply() { call(p.kernels.back()); }

private:
  void call(const Kernel &kernel);
  void callBLAS(Sgemm sgemm);

  const Product &p;
  Memory a, b, c, expected, workspace;
};

void Contest::call(const Kernel &kernel) {
  void *slots[8];
  for (size_t i = 0; i < kernel.slots.size(); ++i) {
    int64_t slot = kernel.slots[i];
    slots[i] = slot == SLOT_A   ? a.get()
               : slot == SLOT_B ? b.get()
               : slot == SLOT_C ? c.get()
                                : workspace.get() + slot / 4;
  }
  kernel.run(slots, 0, kernel.grid);
}

void Contest::callBLAS(Sgemm sgemm) {
  const float *right = p.symmetric ? a.get() : b.get();
  sgemm(101, p.left ? 112 : 111, p.right ? 112 : 111, int(p.m), int(p.n),
        int(p.k), 1, a.get(), int(p.left ? p.m : p.k), right,
        int(p.right ? p.k : p.n), 0, expected.get(), int(p.n));
}

/// For a symmetric product, the full one of its shape: "tn" where it says "sy".
const Product *findFull(const Product &p) {
  if (!p.symmetric)
    return nullptr;
  std::string full = p.name;
  full.replace(full.find("sy_"), 2, "tn");
  for (const Product &other : products())
    if (full == other.name && std::string(p.target) == other.target)
      return &other;
  return nullptr;
}

nlohmann::json Contest::run(const Options &options, Sgemm sgemm) {
  OneDNN library(p, a.get(), p.symmetric ? a.get() : b.get());
  std::vector<double> prepacked, packing, dnnl, blas, peak, cached, full;
  std::unique_ptr<Contest> other;
  if (const Product *product = findFull(p)) {
    other = std::make_unique<Contest>(*product);
    other->pack();
  }
  auto time = [](std::vector<double> &list, const std::function<void()> &body) {
    double begin = now();
    body();
    list.push_back(now() - begin);
  };
  pack();
  for (int round = -1; round < options.rounds; ++round) {
    if (round == 0)
      for (auto *list :
           {&prepacked, &packing, &dnnl, &blas, &peak, &cached, &full})
        list->clear();
    time(prepacked, [&] { multiply(); });
    if (other)
      time(full, [&] { other->multiply(); });
    time(dnnl, [&] { library.run(); });
    time(packing, [&] { pack(), multiply(); });
    if (sgemm)
      time(blas, [&] { callBLAS(sgemm); });
    const Roof roof = measureRoof(p);
    peak.push_back(roof.registers);
    cached.push_back(roof.cached);
  }
  double wrong = 0;
  if (sgemm)
    for (int64_t i = 0; i < p.m * p.n; ++i)
      wrong =
          std::max<double>(wrong, std::fabs(c.get()[i] - expected.get()[i]));
  const double flops = 2.0 * double(p.m) * double(p.n) * double(p.k);
  const double ours = median(prepacked), whole = median(packing);
  nlohmann::json row = {{"product", p.name},
                        {"target", p.target},
                        {"gflops", flops / ours / 1e9},
                        {"gflops_packing", flops / whole / 1e9},
                        {"peak_gflops", median(peak) / 1e9},
                        {"cached_gflops", median(cached) / 1e9},
                        {"onednn", library.name},
                        {"onednn_gflops", flops / median(dnnl) / 1e9},
                        {"of_peak", flops / ours / median(peak)},
                        {"of_onednn", median(dnnl) / ours},
                        {"error", wrong}};
  if (sgemm) {
    row["openblas_gflops"] = flops / median(blas) / 1e9;
    if (!p.bf16) // OpenBLAS' are of FP32
      row["packing_of_openblas"] = median(blas) / whole;
  }
  if (other)
    row["time_of_full"] = ours / median(full);
  return row;
}

/// What products are compiled for.
std::vector<std::string> targets() {
  std::vector<std::string> list;
  for (const Product &product : products())
    if (std::find(list.begin(), list.end(), product.target) == list.end())
      list.push_back(product.target);
  return list;
}

bool isWanted(const Product &product, const Options &options) {
  return std::string(product.name).find(options.only) != std::string::npos &&
         (options.target.empty() || options.target == product.target);
}

void run(const Options &options) {
  std::vector<const Product *> wanted;
  for (const Product &product : products())
    if (isWanted(product, options))
      wanted.push_back(&product);
  if (wanted.empty())
    steep::fail("--only is '{}', but no product has that in its name",
                options.only);
  ofProcessors = options.clock == "cpu";
  const std::string limit = steep::bench::limitLibraries(options.target);
  steep::bench::useOneThread();
  askForAMX();
  const steep::bench::OpenBLAS blas = steep::bench::openOpenBLAS();
  std::printf("OpenBLAS core: %s\n", blas.describe().c_str());
  std::printf("Target: %s, %s; %s time\n",
              options.target.empty() ? "each" : options.target.c_str(),
              limit.c_str(), ofProcessors ? "processor" : "elapsed");
  std::printf("%-10s %-22s %7s %7s %7s %7s %7s %7s | %7s "
              "%7s %7s %7s\n",
              "target", "product", "GF/s", "+pack", "peak", "L1", "oneDNN",
              "BLAS", "of peak", "of DNN", "of BLAS", "of full");
  nlohmann::json rows = nlohmann::json::array();
  for (const Product *each : wanted) {
    const Product &product = *each;
    nlohmann::json row = Contest(product).run(options, blas.sgemm);
    auto number = [&](const char *key) { return row.value(key, 0.0); };
    std::printf("%-10s %-22s %7.1f %7.1f %7.1f %7.1f %7.1f %7.1f | %7.3f "
                "%7.3f %7.3f %7.3f  %s%s\n",
                product.target, product.name, number("gflops"),
                number("gflops_packing"), number("peak_gflops"),
                number("cached_gflops"), number("onednn_gflops"),
                number("openblas_gflops"), number("of_peak"),
                number("of_onednn"), number("packing_of_openblas"),
                number("time_of_full"),
                row["onednn"].get<std::string>().c_str(),
                number("error") == 0 ? "" : "  WRONG");
    std::fflush(stdout);
    rows.push_back(std::move(row));
  }
  if (!options.json.empty())
    steep::writeFile(options.json, nlohmann::json{{"openblas", blas.describe()},
                                                  {"libraries", limit},
                                                  {"clock", options.clock},
                                                  {"rows", rows}}
                                           .dump(1) +
                                       "\n");
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  steep::bench::Arguments arguments(
      "ProductBench", "Compiled products of matrices beside oneDNN's and "
                      "OpenBLAS's, on one thread, in GFLOP/s.");
  arguments.number("--rounds", options.rounds, 1, "calls of each contender");
  arguments.text("--only", options.only, "products with this in their names");
  arguments.choice(
      "--target", options.target, targets(),
      "products compiled for this, libraries limited to the same "
      "instructions; default: each of them, libraries not limited");
  arguments.choice("--clock", options.clock, {"elapsed", "cpu"},
                   "cpu: what the thread worked, where others use the machine");
  arguments.text("--json", options.json, "file for the figures");
  return arguments.run(argc, argv, [&] {
    run(options);
    return 0;
  });
}
