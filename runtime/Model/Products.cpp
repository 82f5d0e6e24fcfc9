//===- Products.cpp - matrix products in oneDNN ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/Products.h"

#include "runtime/Core/Error.h"

#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>

using namespace steep;

namespace {

enum class Form { NN, NT, TN };
using Key = std::tuple<Form, bool, int64_t, int64_t, int64_t>;

struct Entry {
  dnnl::matmul primitive;
  dnnl::memory a, b, c;
};

} // namespace

struct Products::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<Key, Entry> entries;

  Entry make(const Key &key) const;
  void run(const Key &key, const float *a, const float *b, float *c);
};

/// A row-major matrix, or the transpose of one that is columns x rows.
static dnnl::memory::desc matrix(int64_t rows, int64_t columns,
                                 bool transposed = false) {
  using dnnl::memory;
  return memory::desc({rows, columns}, memory::data_type::f32,
                      transposed ? memory::dims{1, rows}
                                 : memory::dims{columns, 1});
}

Entry Products::State::make(const Key &key) const {
  const auto [form, add, m, n, k] = key;
  dnnl::primitive_attr attributes;
  if (add) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  const auto aLayout = matrix(m, k, form == Form::TN);
  const auto bLayout = matrix(k, n, form == Form::NT);
  const auto cLayout = matrix(m, n);
  const dnnl::matmul::primitive_desc description(
      dnnl::matmul::desc(aLayout, bLayout, cLayout), attributes, engine);
  Entry entry;
  entry.primitive = dnnl::matmul(description);
  entry.a = dnnl::memory(aLayout, engine, DNNL_MEMORY_NONE);
  entry.b = dnnl::memory(bLayout, engine, DNNL_MEMORY_NONE);
  entry.c = dnnl::memory(cLayout, engine, DNNL_MEMORY_NONE);
  return entry;
}

void Products::State::run(const Key &key, const float *a, const float *b,
                          float *c) {
  try {
    auto found = entries.find(key);
    if (found == entries.end())
      found = entries.emplace(key, make(key)).first;
    Entry &entry = found->second;
    // oneDNN takes no pointer to const, but writes only the destination.
    entry.a.set_data_handle(const_cast<float *>(a));
    entry.b.set_data_handle(const_cast<float *>(b));
    entry.c.set_data_handle(c);
    entry.primitive.execute(stream, {{DNNL_ARG_SRC, entry.a},
                                     {DNNL_ARG_WEIGHTS, entry.b},
                                     {DNNL_ARG_DST, entry.c}});
    stream.wait();
  } catch (const dnnl::error &error) {
    fail("model: oneDNN failed on a {} x {} x {} product: {}", std::get<2>(key),
         std::get<3>(key), std::get<4>(key), error.what());
  }
}

Products::Products() {
  try {
    state = std::make_unique<State>();
  } catch (const dnnl::error &error) {
    fail("model: oneDNN has no CPU engine: {}", error.what());
  }
}
Products::~Products() = default;

void Products::nn(Result result, int64_t m, int64_t n, int64_t k,
                  const float *a, const float *b, float *c) {
  state->run({Form::NN, result == Result::Add, m, n, k}, a, b, c);
}

void Products::nt(Result result, int64_t m, int64_t n, int64_t k,
                  const float *a, const float *b, float *c) {
  state->run({Form::NT, result == Result::Add, m, n, k}, a, b, c);
}

void Products::tn(Result result, int64_t m, int64_t n, int64_t k,
                  const float *a, const float *b, float *c) {
  state->run({Form::TN, result == Result::Add, m, n, k}, a, b, c);
}
