//===- Attention.cpp - causal attention by tiles --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores are held transposed, keys x queries: the queries of a tile lie along
// the vectors, so that the softmax over keys needs no reduction within a
// vector, and only the query tile has to be transposed (once), never K or V.
// A tile of queries is always attentionTile wide; missing queries at the end
// are zeros and their results are not used.
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/Kernels/Isa.h"
#include "runtime/Model/Kernels/Simd.h"

namespace steep {
namespace STEEP_ISA {

static constexpr int64_t tile = attentionTile;
static const float hidden = -1e30f; ///< the score of a key after the query

/// Where the parts of the scratch memory begin; attentionScratch counts them.
struct Scratch {
  float *queries; ///< headDim x tile: Q^T / sqrt(headDim)
  float *dOut;    ///< headDim x tile: dO^T
  float *scores;  ///< tile keys x tile queries
  float *dScores; ///< the same
  float *out;     ///< tile x headDim: O before the division by the sum
  float *most, *sum, *delta, *inverse; ///< tile values each

  Scratch(float *memory, int64_t headDim) {
    queries = memory;
    dOut = queries + headDim * tile;
    out = dOut + headDim * tile;
    scores = out + headDim * tile;
    dScores = scores + tile * tile;
    most = dScores + tile * tile;
    sum = most + tile;
    delta = sum + tile;
    inverse = delta + tile;
  }
};

/// to (headDim x tile) = factor * from^T, zero where there are no rows.
static void transpose(const float *from, int64_t stride, int64_t rows,
                      int64_t headDim, float factor, float *to) {
  for (int64_t i = 0; i < headDim; ++i)
    for (int64_t row = 0; row < tile; ++row)
      to[i * tile + row] = row < rows ? factor * from[row * stride + i] : 0.0f;
}

/// Scores of keys keyBegin .. keyBegin + keys - 1 against the query tile.
static void scoreTile(const AttentionHead &head, const Scratch &s,
                      int64_t queryBegin, int64_t keyBegin, int64_t keys) {
  multiply({keys, tile, head.headDim, head.k + keyBegin * head.stride,
            head.stride, 1, s.queries, tile, s.scores, tile, false});
  if (keyBegin + keys <= queryBegin + 1)
    return;
  for (int64_t key = 0; key < keys; ++key)
    for (int64_t query = 0; query < tile; ++query)
      if (keyBegin + key > queryBegin + query)
        s.scores[key * tile + query] = hidden;
}

/// Takes the scores of a key tile into the running maximum, sum and output.
static void onlineSoftmax(const AttentionHead &head, const Scratch &s,
                          int64_t keys, int64_t queries) {
  float correction[tile];
  for (int64_t query = 0; query < tile; ++query)
    correction[query] = s.most[query];
  for (int64_t key = 0; key < keys; ++key) {
    const float *score = s.scores + key * tile;
#pragma omp simd
    for (int64_t query = 0; query < tile; ++query)
      s.most[query] =
          score[query] > s.most[query] ? score[query] : s.most[query];
  }
#pragma omp simd
  for (int64_t query = 0; query < tile; ++query) {
    correction[query] = exponential(correction[query] - s.most[query]);
    s.sum[query] *= correction[query];
  }
  for (int64_t key = 0; key < keys; ++key) {
    float *score = s.scores + key * tile;
#pragma omp simd
    for (int64_t query = 0; query < tile; ++query) {
      score[query] = exponential(score[query] - s.most[query]);
      s.sum[query] += score[query];
    }
  }
  for (int64_t query = 0; query < queries; ++query) {
    if (correction[query] == 1.0f)
      continue;
    float *out = s.out + query * head.headDim;
#pragma omp simd
    for (int64_t i = 0; i < head.headDim; ++i)
      out[i] *= correction[query];
  }
}

static void attendTile(const AttentionHead &head, const Scratch &s,
                       int64_t queryBegin, int64_t queries) {
  const int64_t d = head.headDim;
  const float scale = 1.0f / __builtin_sqrtf(float(d));
  transpose(head.q + queryBegin * head.stride, head.stride, queries, d, scale,
            s.queries);
  for (int64_t query = 0; query < tile; ++query) {
    s.most[query] = hidden;
    s.sum[query] = 0;
  }
  __builtin_memset(s.out, 0, sizeof(float) * tile * d);
  const int64_t last = queryBegin + queries; // keys from here on are hidden
  for (int64_t keyBegin = 0; keyBegin < last; keyBegin += tile) {
    const int64_t keys = last - keyBegin < tile ? last - keyBegin : tile;
    scoreTile(head, s, queryBegin, keyBegin, keys);
    onlineSoftmax(head, s, keys, queries);
    multiply({queries, d, keys, s.scores, 1, tile,
              head.v + keyBegin * head.stride, head.stride, s.out, d, true});
  }
  for (int64_t query = 0; query < queries; ++query) {
    const float inverse = 1.0f / s.sum[query];
    const int64_t row = queryBegin + query;
    head.rowMax[row] = s.most[query];
    head.rowInverse[row] = inverse;
    const float *from = s.out + query * d;
    float *to = head.out + row * head.stride;
#pragma omp simd
    for (int64_t i = 0; i < d; ++i)
      to[i] = from[i] * inverse;
  }
}

void attention(const AttentionHead &head, int64_t queryBegin, int64_t queryEnd,
               float *scratch) {
  const Scratch s(scratch, head.headDim);
  for (int64_t begin = queryBegin; begin < queryEnd; begin += tile)
    attendTile(head, s, begin,
               queryEnd - begin < tile ? queryEnd - begin : tile);
}

/// Turns scores and d(loss)/d(probabilities) into probabilities and
/// d(loss)/d(scores): dS = P (dP - delta), delta = sum over keys of P dP,
/// which equals the inner product of the rows of O and dO.
static void softmaxBackward(const Scratch &s, int64_t keys) {
  for (int64_t key = 0; key < keys; ++key) {
    float *score = s.scores + key * tile, *dScore = s.dScores + key * tile;
#pragma omp simd
    for (int64_t query = 0; query < tile; ++query) {
      const float p =
          exponential(score[query] - s.most[query]) * s.inverse[query];
      score[query] = p;
      dScore[query] = p * (dScore[query] - s.delta[query]);
    }
  }
}

static void backwardTile(const AttentionHead &head, const Scratch &s,
                         int64_t queryBegin, int64_t queries) {
  const int64_t d = head.headDim, stride = head.stride;
  const float scale = 1.0f / __builtin_sqrtf(float(d));
  const float *q = head.q + queryBegin * stride;
  const float *dOut = head.dOut + queryBegin * stride;
  const float *out = head.out + queryBegin * stride;
  transpose(q, stride, queries, d, scale, s.queries);
  transpose(dOut, stride, queries, d, 1.0f, s.dOut);
  transpose(out, stride, queries, d, 1.0f, s.out);
  for (int64_t query = 0; query < tile; ++query) {
    const bool real = query < queries;
    s.most[query] = real ? head.rowMax[queryBegin + query] : 0.0f;
    s.inverse[query] = real ? head.rowInverse[queryBegin + query] : 0.0f;
    s.delta[query] = 0;
  }
  // In the order in which the product below adds dP up: where one key has all
  // the probability, dP - delta is then exactly zero.
  for (int64_t i = 0; i < d; ++i)
#pragma omp simd
    for (int64_t query = 0; query < tile; ++query)
      s.delta[query] += s.out[i * tile + query] * s.dOut[i * tile + query];
  const int64_t last = queryBegin + queries;
  for (int64_t keyBegin = 0; keyBegin < last; keyBegin += tile) {
    const int64_t keys = last - keyBegin < tile ? last - keyBegin : tile;
    const int64_t at = keyBegin * stride;
    // A key tile is first touched by the query tile on its diagonal, and the
    // first key tile is where dq begins.
    const bool addKeys = keyBegin<queryBegin, addQueries = keyBegin> 0;
    scoreTile(head, s, queryBegin, keyBegin, keys);
    multiply({keys, tile, d, head.v + at, stride, 1, s.dOut, tile, s.dScores,
              tile, false});
    softmaxBackward(s, keys);
    multiply({keys, d, queries, s.scores, tile, 1, dOut, stride, head.dv + at,
              stride, addKeys});
    multiply({keys, d, queries, s.dScores, tile, 1, q, stride, head.dk + at,
              stride, addKeys});
    multiply({queries, d, keys, s.dScores, 1, tile, head.k + at, stride,
              head.dq + queryBegin * stride, stride, addQueries});
  }
}

/// rows (count of them, `stride` apart) *= factor.
static void scaleRows(float *rows, int64_t count, int64_t stride, int64_t width,
                      float factor) {
  for (int64_t row = 0; row < count; ++row)
#pragma omp simd
    for (int64_t i = 0; i < width; ++i)
      rows[row * stride + i] *= factor;
}

void attentionBackward(const AttentionHead &head, float *scratch) {
  const Scratch s(scratch, head.headDim);
  for (int64_t begin = 0; begin < head.length; begin += tile)
    backwardTile(head, s, begin,
                 head.length - begin < tile ? head.length - begin : tile);
  // dq and dk were made from unscaled k and q.
  const float scale = 1.0f / __builtin_sqrtf(float(head.headDim));
  scaleRows(head.dq, head.length, head.stride, head.headDim, scale);
  scaleRows(head.dk, head.length, head.stride, head.headDim, scale);
}

} // namespace STEEP_ISA
} // namespace steep
