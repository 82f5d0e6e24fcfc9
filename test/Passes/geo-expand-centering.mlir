// RUN: %limit steep-opt %s --geo-expand-centering | FileCheck %s

// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[COL:.*]] = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func.func @center
// CHECK-SAME: (%[[G:.*]]: tensor<64x8xf32>)
// CHECK: %[[ZEROS:.*]] = linalg.fill ins(%{{.*}} : f64) outs(%{{.*}} : tensor<8xf64>)
// CHECK: %[[SUMS:.*]] = linalg.generic {indexing_maps = [#[[ALL]], #[[COL]]], iterator_types = ["reduction", "parallel"]} ins(%[[G]] : tensor<64x8xf32>) outs(%[[ZEROS]] : tensor<8xf64>)
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK: arith.addf %{{.*}} : f64
// CHECK: %[[ROWS:.*]] = arith.constant 6.400000e+01 : f64
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUMS]] : tensor<8xf64>) outs(%{{.*}} : tensor<8xf32>)
// CHECK: arith.divf %{{.*}}, %[[ROWS]] : f64
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: %[[C:.*]] = linalg.generic {indexing_maps = [#[[ALL]], #[[COL]], #[[ALL]]], iterator_types = ["parallel", "parallel"]} ins(%[[G]], %[[MEAN]] : tensor<64x8xf32>, tensor<8xf32>)
// CHECK: arith.subf
// CHECK: return %[[C]]
func.func @center(%g: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %0 = geo.center %g : tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}

// CHECK-LABEL: func.func @dynamic
// CHECK: %[[M:.*]] = tensor.dim %{{.*}}, %c0{{.*}} : tensor<?x?xf32>
// CHECK: arith.sitofp %{{.*}} : i64 to f64
// CHECK-NOT: geo.center
func.func @dynamic(%g: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = geo.center %g
  return %0 : tensor<?x?xf32>
}

// Other ops are none of this pass's business.
// CHECK-LABEL: func.func @others
// CHECK: geo.max_row
func.func @others(%g: tensor<64x8xf32>, %r: f32) -> tensor<64x8xf32> {
  %0 = geo.max_row %g radius(%r) : tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}

// Many rows: sums of groups of 512, which blocks can share; then those sums and
// the 3 rows that are left over, in their order.
// CHECK-LABEL: func.func @groups
// CHECK-SAME: (%[[G:.*]]: tensor<1539x128xf32>)
// CHECK: %[[WHOLE:.*]] = tensor.extract_slice %[[G]][0, 0] [1536, 128] [1, 1]
// CHECK: %[[GROUPS:.*]] = tensor.expand_shape %[[WHOLE]] {{\[\[}}0, 1], [2]] output_shape [3, 512, 128]
// CHECK: %[[PARTIAL:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[GROUPS]] {{.*}} outs(%{{.*}} : tensor<3x128xf64>)
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[PARTIAL]] : tensor<3x128xf64>) outs(%{{.*}} : tensor<128xf64>)
// CHECK: %[[REST:.*]] = tensor.extract_slice %[[G]][1536, 0] [3, 128] [1, 1]
// CHECK: %[[ALL:.*]] = linalg.generic {{.*}} ins(%[[REST]] : tensor<3x128xf32>) outs(%[[SUM]] : tensor<128xf64>)
// CHECK: arith.constant 1.539000e+03 : f64
// CHECK: linalg.generic {{.*}} ins(%[[ALL]] : tensor<128xf64>) outs(%{{.*}} : tensor<128xf32>)
func.func @groups(%g: tensor<1539x128xf32>) -> tensor<1539x128xf32> {
  %0 = geo.center %g : tensor<1539x128xf32>
  return %0 : tensor<1539x128xf32>
}

// Of very many rows, twice as many make a group.
// CHECK-LABEL: func.func @many
// CHECK: tensor.expand_shape %{{.*}} output_shape [16, 1024, 128]
func.func @many(%g: tensor<16384x128xf32>) -> tensor<16384x128xf32> {
  %0 = geo.center %g : tensor<16384x128xf32>
  return %0 : tensor<16384x128xf32>
}

// Whole groups leave nothing over; two of them are the least.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: tensor.extract_slice
// CHECK: tensor.expand_shape %{{.*}} output_shape [2, 64, 4096]
// CHECK-NOT: tensor.extract_slice
// CHECK: return
// CHECK-LABEL: func.func @few
// CHECK-NOT: tensor.expand_shape
// CHECK: return
func.func @whole(%g: tensor<128x4096xf32>) -> tensor<128x4096xf32> {
  %0 = geo.center %g : tensor<128x4096xf32>
  return %0 : tensor<128x4096xf32>
}
func.func @few(%g: tensor<127x4096xf32>) -> tensor<127x4096xf32> {
  %0 = geo.center %g : tensor<127x4096xf32>
  return %0 : tensor<127x4096xf32>
}

// An operand that is made row by row from one matrix in memory is made from it
// for the sums and for the difference, and not by itself.
// CHECK-LABEL: func.func @cone
// CHECK-SAME: (%[[B:.*]]: tensor<64x8xf32>, %[[T:.*]]: f32)
// A number that all elements are multiplied by is applied to the sums.
// CHECK: %[[SUMS:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[B]] : tensor<64x8xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.extf
// CHECK-NEXT: arith.addf
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUMS]] : tensor<8xf64>)
// CHECK: %[[WIDE:.*]] = arith.extf %[[T]] : f32 to f64
// CHECK: arith.mulf %{{.*}}, %[[WIDE]] : f64
// CHECK: %[[C:.*]] = linalg.generic {{.*}} ins(%[[B]], %[[MEAN]] : tensor<64x8xf32>, tensor<8xf32>)
// CHECK: arith.mulf %{{.*}}, %[[T]] : f32
// CHECK: arith.subf
// CHECK-NOT: linalg.generic
// CHECK: return %[[C]]
func.func @cone(%b: tensor<64x8xf32>, %t: f32) -> tensor<64x8xf32> {
  %0 = geo.scale %b, %t : tensor<64x8xf32>
  %1 = geo.center %0 : tensor<64x8xf32>
  return %1 : tensor<64x8xf32>
}

// Norms of rows stay vectors; the normalised rows are never a matrix. What is
// made from two matrices is one.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[G:.*]]: tensor<64x8xf32>, %[[R:.*]]: f32)
// CHECK: %[[SQUARES:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[G]] : tensor<64x8xf32>)
// CHECK: %[[NORMS:.*]] = linalg.generic {{.*}} ins(%[[SQUARES]] : tensor<64xf64>)
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[G]], %[[NORMS]] : tensor<64x8xf32>, tensor<64xf32>)
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[G]], %[[NORMS]], %{{.*}} : tensor<64x8xf32>, tensor<64xf32>, tensor<8xf32>)
// CHECK: return %[[S]]
func.func @rows(%g: tensor<64x8xf32>, %r: f32) -> tensor<64x8xf32> {
  %0 = geo.max_row %g radius(%r) : tensor<64x8xf32>
  %1 = geo.center %0 : tensor<64x8xf32>
  return %1 : tensor<64x8xf32>
}

// Rows less a known row, over their norms: the sums are of the very f32 numbers that the
// mean row is taken from. The difference may be all rounding errors, and its norm
// makes those large, so a sum of rows that leaves the difference to the end would be
// another row.
// CHECK-LABEL: func.func @less
// CHECK-SAME: (%[[G:.*]]: tensor<64x8xf32>, %[[M:.*]]: tensor<8xf32>, %[[R:.*]]: f32)
// CHECK: %[[NORMS:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<64xf32>)
// CHECK: %[[SUMS:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[G]], %[[M]], %[[NORMS]] : tensor<64x8xf32>, tensor<8xf32>, tensor<64xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32, %[[N:.*]]: f32, %[[SUM:.*]]: f64)
// CHECK-NEXT: %[[D:.*]] = arith.subf %[[X]], %[[Y]] : f32
// CHECK-NEXT: %[[S:.*]] = arith.mulf %[[D]], %[[N]] : f32
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f32 to f64
// CHECK-NEXT: arith.addf %[[SUM]], %[[WIDE]] : f64
// CHECK: linalg.generic {{.*}} ins(%[[SUMS]] : tensor<8xf64>) outs(%{{.*}} : tensor<8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[G]], %[[M]], %[[NORMS]], %{{.*}} : tensor<64x8xf32>, tensor<8xf32>, tensor<64xf32>, tensor<8xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.subf %{{.*}} : f32
// CHECK-NEXT: arith.mulf %{{.*}} : f32
// CHECK: return
func.func @less(%g: tensor<64x8xf32>, %m: tensor<8xf32>, %r: f32) -> tensor<64x8xf32> {
  %empty = tensor.empty() : tensor<64x8xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%g, %m : tensor<64x8xf32>, tensor<8xf32>) outs(%empty : tensor<64x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %d = arith.subf %x, %y : f32
    linalg.yield %d : f32
  } -> tensor<64x8xf32>
  %0 = geo.max_row %p radius(%r) {eps = 1.0e-8} : tensor<64x8xf32>
  %1 = geo.center %0 : tensor<64x8xf32>
  return %1 : tensor<64x8xf32>
}

// CHECK-LABEL: func.func @two
// CHECK: %[[N:.*]] = geo.ema
// CHECK: linalg.generic {{.*}} ins(%[[N]] : tensor<64x8xf32>)
func.func @two(%b: tensor<64x8xf32>, %g: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %0 = geo.ema %b, %g {beta = 0.9} : tensor<64x8xf32>
  %1 = geo.center %0 : tensor<64x8xf32>
  return %1 : tensor<64x8xf32>
}
