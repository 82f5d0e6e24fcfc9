//===- Panels.cpp - rows packed for inner products ------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Geometry/Panels.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/ThreadPool.h"

#include <atomic>
#include <cmath>
#include <limits>

using namespace steep;
using namespace steep::geometry;

template <typename T> static Tensor makeMemory(int64_t rows, int64_t columns) {
  const int64_t padded =
      (rows + panelRows<T> - 1) / panelRows<T> * panelRows<T>;
  return Tensor(sizeof(T) == 4 ? DType::F32 : DType::F64, {padded, columns});
}

template <typename T>
Panels<T>::Panels(int64_t rows, int64_t columns)
    : count(rows), width(columns), memory(makeMemory<T>(rows, columns)) {}

template class steep::geometry::Panels<float>;
template class steep::geometry::Panels<double>;

//===----------------------------------------------------------------------===//
// The tile of inner products. One body, compiled for three instruction sets;
// the vector type is wider than some of them, the compiler splits it.
//===----------------------------------------------------------------------===//

namespace {

template <typename T> struct VectorOf;
template <> struct VectorOf<float> {
  typedef float type __attribute__((vector_size(64)));
};
template <> struct VectorOf<double> {
  typedef double type __attribute__((vector_size(64)));
};

template <typename T, int Rows>
__attribute__((always_inline)) inline void tileBody(const T *a, const T *b,
                                                    int64_t columns, T *out) {
  using Vector = typename VectorOf<T>::type;
  constexpr int64_t width = panelRows<T>;
  constexpr int64_t half = width / 2;
  Vector low[Rows] = {}, high[Rows] = {};
  for (int64_t k = 0; k < columns; ++k) {
    const Vector b0 = *reinterpret_cast<const Vector *>(b + k * width);
    const Vector b1 = *reinterpret_cast<const Vector *>(b + k * width + half);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const T scalar = a[k * width + i];
      low[i] += scalar * b0;
      high[i] += scalar * b1;
    }
  }
  for (int i = 0; i < Rows; ++i) {
    *reinterpret_cast<Vector *>(out + i * width) = low[i];
    *reinterpret_cast<Vector *>(out + i * width + half) = high[i];
  }
}

#if defined(__x86_64__)
template <typename T>
__attribute__((target("avx512f,fma"))) void
tileAVX512(const T *a, const T *b, int64_t columns, T *out) {
  tileBody<T, 8>(a, b, columns, out);
}

template <typename T>
__attribute__((target("avx2,fma"))) void tileAVX2(const T *a, const T *b,
                                                  int64_t columns, T *out) {
  for (int64_t i = 0; i < tileRows; i += 2)
    tileBody<T, 2>(a + i, b, columns, out + i * panelRows<T>);
}
#endif

template <typename T>
void tileBaseline(const T *a, const T *b, int64_t columns, T *out) {
  for (int64_t i = 0; i < tileRows; ++i)
    tileBody<T, 1>(a + i, b, columns, out + i * panelRows<T>);
}

template <typename T>
using TileFunction = void (*)(const T *, const T *, int64_t, T *);

template <typename T> TileFunction<T> selectTile() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma"))
    return tileAVX512<T>;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return tileAVX2<T>;
#endif
  return tileBaseline<T>;
}

} // namespace

template <typename T>
void geometry::innerProducts(const T *a, int64_t first, const T *b,
                             int64_t columns, T *out) {
  static const TileFunction<T> tile = selectTile<T>();
  tile(a + first, b, columns, out);
}

template void geometry::innerProducts<float>(const float *, int64_t,
                                             const float *, int64_t, float *);
template void geometry::innerProducts<double>(const double *, int64_t,
                                              const double *, int64_t,
                                              double *);

//===----------------------------------------------------------------------===//
// MatrixView, forEach
//===----------------------------------------------------------------------===//

MatrixView::MatrixView(const Tensor &tensor, const char *what) {
  if (tensor.empty() || tensor.rank() != 2 || tensor.dim(0) < 1 ||
      tensor.dim(1) < 1)
    fail("{} must be a matrix with at least one row and one column, got shape "
         "{}",
         what, shapeString(tensor.shape()));
  rows = tensor.dim(0);
  columns = tensor.dim(1);
  if (tensor.dtype() == DType::F32)
    single = tensor.f32();
  else if (tensor.dtype() == DType::F64)
    wide = tensor.f64();
  else
    fail("{} must have elements of type F32 or F64, got {}", what,
         nameOf(tensor.dtype()));
}

std::vector<double> MatrixView::meanRow() const {
  std::vector<double> mean(columns, 0.0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      mean[j] += (*this)(i, j) / static_cast<double>(rows);
  return mean;
}

double MatrixView::largest(const std::vector<double> &shift) const {
  double largest = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const double size = std::fabs((*this)(i, j) - shift[j]);
      if (!std::isfinite(size))
        return std::numeric_limits<double>::quiet_NaN();
      largest = std::max(largest, size);
    }
  return largest;
}

void geometry::forEach(ThreadPool *pool, int64_t count,
                       const std::function<void(int64_t)> &task) {
  std::atomic<int64_t> next{0};
  auto work = [&](int64_t, int64_t) {
    for (int64_t i = next++; i < count; i = next++)
      task(i);
  };
  if (pool)
    pool->run(pool->threads(), work);
  else
    work(0, 1);
}
