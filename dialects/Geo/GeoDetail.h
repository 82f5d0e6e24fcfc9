//===- GeoDetail.h - what the ops of the dialect share ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiling of ops whose matrices have their tiled dimensions in common (an op is
// tiled by slicing every matrix alike), and short forms to build linalg.
// Included by the files of this folder only.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_GEODETAIL_H
#define STEEP_DIALECTS_GEO_GEODETAIL_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/TilingInterface.h"

namespace mlir::geo::detail {

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

/// `{name, name = value} : type` of the op of that name, for ops
/// whose syntax is written by hand.
ParseResult parseSettings(OpAsmParser &parser, NamedAttrList &settings,
                          Type &type, StringRef op);
void printSettings(OpAsmPrinter &printer, Operation *op, Type type);

/// `%r`, an f32, or `%r : tensor<f32>`.
ParseResult parseRadius(OpAsmParser &parser,
                        OpAsmParser::UnresolvedOperand &radius, Type &type);
void printRadius(OpAsmPrinter &printer, Operation *, Value radius, Type type);

/// A number as messages show it.
std::string str(double value);

/// A finite f64 in the shortest form that the parser reads, an i64 without its
/// type, and lists of such; other attributes as MLIR prints them.
void printNumbers(raw_ostream &stream, Attribute value);
std::string strNumbers(Attribute value);

/// Fails unless the rate of an average is in [0, 1).
LogicalResult verifyBeta(Operation *op, StringRef name, APFloat beta);

/// Fails unless eps is 0 or a small number of f32. eps is used in f32: one that
/// vanishes there is not what was asked for, and one that is no small number
/// makes the step vanish.
LogicalResult verifyEps(Operation *op, APFloat eps);

/// Fails where the radius is a constant that is not finite: no step is that
/// long. A negative one is the ball turned round, -1 gives the normalised
/// matrix itself.
LogicalResult verifyRadius(Operation *op, Value radius);

/// The same, and eps: for an oracle that divides by a norm plus eps.
template <typename Op> LogicalResult verifyBall(Op op) {
  return failure(failed(verifyRadius(op, op.getRadius())) ||
                 failed(verifyEps(op, op.getEps())));
}

/// Every eps is below: with a larger one the step would vanish.
constexpr double epsBound = 1;

//===----------------------------------------------------------------------===//
// Tiling
//===----------------------------------------------------------------------===//

/// The first `loops` dimensions of the op's matrices.
SmallVector<Range> getIterationDomain(OpBuilder &b, Operation *op,
                                      unsigned loops);

/// Clones `op` on the slices of its matrices at `offsets`; a dimension without
/// offset is taken whole.
FailureOr<TilingResult> tile(OpBuilder &b, Operation *op,
                             ArrayRef<OpFoldResult> offsets,
                             ArrayRef<OpFoldResult> sizes);

LogicalResult getResultTilePosition(OpBuilder &b, Operation *op,
                                    unsigned resultNumber,
                                    ArrayRef<OpFoldResult> offsets,
                                    ArrayRef<OpFoldResult> sizes,
                                    SmallVector<OpFoldResult> &resultOffsets,
                                    SmallVector<OpFoldResult> &resultSizes);

/// Fails where the tile of the result cuts through a dimension that the op
/// needs whole.
LogicalResult
getDomainTileFromResultTile(Operation *op, ArrayRef<OpFoldResult> offsets,
                            ArrayRef<OpFoldResult> sizes,
                            SmallVectorImpl<OpFoldResult> &domainOffsets,
                            SmallVectorImpl<OpFoldResult> &domainSizes);

FailureOr<TilingResult> generateResultTileValue(OpBuilder &b, Operation *op,
                                                unsigned resultNumber,
                                                ArrayRef<OpFoldResult> offsets,
                                                ArrayRef<OpFoldResult> sizes);

//===----------------------------------------------------------------------===//
// Building linalg
//===----------------------------------------------------------------------===//

/// The loops that index an operand's dimensions.
using Axes = SmallVector<unsigned, 2>;

/// Stands for a loop where only the first element of a dimension is read.
constexpr unsigned firstOnly = ~0u;

struct Operand {
  Value value;
  Axes axes;
};

/// Gives the values to yield for the block arguments `v`: inputs, then outputs.
using Body =
    function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)>;

/// A linalg.generic with one loop a letter of `loops`: 'p' is parallel, 'r' a
/// reduction.
SmallVector<Value> createGeneric(OpBuilder &b, Location loc,
                                 ArrayRef<Operand> inputs,
                                 ArrayRef<Operand> outputs, StringRef loops,
                                 Body body);

/// An elementwise map of matrices of one shape; axes are those of `outputs`.
SmallVector<Value> createElementwise(OpBuilder &b, Location loc,
                                     ArrayRef<Value> inputs,
                                     ArrayRef<Value> outputs, Body body);

/// The sum so far and one term more: of an element x in f64 and, where there is
/// one, of the value u of its row.
using ColumnTerm =
    function_ref<Value(OpBuilder &, Location, Value x, Value u, Value sum)>;

/// The sum so far and one term more, of elements of all inputs of a sum.
using RowTerm =
    function_ref<Value(OpBuilder &, Location, ValueRange elements, Value sum)>;

/// As below, with terms made of a matrix, which comes first, and of vectors
/// along its rows or columns: axes {0, 1}, {0}, {1}, and {} for a number.
Value createColumnSums(OpBuilder &b, Location loc, ArrayRef<Operand> inputs,
                       RowTerm add);

/// Sums of columns over the number of rows (f64), rounded once.
Value createMeanRow(OpBuilder &b, Location loc, Value sums, Value rows);

/// Sums over the rows of a matrix, a value a column, in f64; `vector` has a
/// value a row, or is null. Of a matrix with many rows, groups of rows are
/// summed by themselves, so that blocks can share them, and then added in their
/// order; the rows that make no whole group come last. The order depends on the
/// shape alone.
Value createColumnSums(OpBuilder &b, Location loc, Value matrix, Value vector,
                       ColumnTerm add);

/// Constants; `value` is rounded here and nowhere else.
Value createF32(OpBuilder &b, Location loc, double value);
Value createF64(OpBuilder &b, Location loc, double value);

/// A tensor.empty of the type and sizes of `like`.
Value createEmpty(OpBuilder &b, Location loc, Value like);

/// A tensor of zeros.
Value createZeros(OpBuilder &b, Location loc, ArrayRef<OpFoldResult> sizes,
                  Type element);

/// A size of a matrix, in f64.
Value createSize(OpBuilder &b, Location loc, Value matrix, int64_t dim);

/// The sums of all columns, or of their squares, in f64.
Value createColumnSums(OpBuilder &b, Location loc, Value matrix,
                       bool ofSquares);

/// The sums of the squares of every row, in f64, as linalg.
Value createRowSquares(OpBuilder &b, Location loc, Value matrix);

/// Whether 1 / (norm + eps) is finite in f32 for every norm.
bool hasInverse(const APFloat &eps);

/// What divides rows or columns by their norms, from the sums of their squares:
/// a number each in f32, which createQuotient() takes. It is 1 / (norm + eps),
/// so that an element costs a multiplication; where eps does not keep that from
/// overflowing, norm + eps, and 1 where that is zero, so that zero stays zero.
Value createDivisors(OpBuilder &b, Location loc, Value squares, APFloat eps);
/// An element of such a row or column, divided.
Value createQuotient(OpBuilder &b, Location loc, Value element, Value divisor,
                     APFloat eps);

/// What a matrix is divided by: `factor ||G||_F + eps`, or with a relative eps
/// `factor ||G||_F (1 + eps)`.
struct Divisor {
  double factor;
  APFloat eps;
  bool isRelative;
};

/// One over the divisor as a tensor without dimensions of type `element`,
/// formed in f64; 0 where the divisor is zero.
Value createInverseNorm(OpBuilder &b, Location loc, Value matrix,
                        const Divisor &divisor, Type element);

//===----------------------------------------------------------------------===//
// Measurements by the host
//===----------------------------------------------------------------------===//

/// Fails where a matrix is larger than the host's functions serve, or a second
/// one is not as wide as the first.
LogicalResult verifyMeasure(Operation *op);
/// Says that the host computes `op`.
FailureOr<SmallVector<Value>> refuseDecomposition(Operation *op);
/// Bytes of work space.
int64_t getMeasureBytes(Operation *op);
/// Those bytes, the matrix's rows and columns, the rows of a second one.
SmallVector<TypedAttr> getMeasureConstants(Operation *op);

} // namespace mlir::geo::detail

#endif // STEEP_DIALECTS_GEO_GEODETAIL_H
