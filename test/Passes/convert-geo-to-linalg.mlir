// RUN: %limit steep-opt %s --convert-geo-to-linalg --split-input-file | FileCheck %s
// RUN: %limit steep-opt %s --convert-geo-to-linalg --split-input-file | FileCheck %s --check-prefix=NONE

// Nothing of geo is left, and nothing may be rewritten on the way down.
// NONE-NOT: = geo.
// NONE-NOT: fastmath

// CHECK-LABEL: func.func @scale
// CHECK-SAME: (%[[G:.*]]: tensor<8x4xf32>, %[[C:.*]]: f32)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[G]] : tensor<8x4xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[X]], %[[C]] : f32
// CHECK-NEXT: linalg.yield %[[Y]] : f32
func.func @scale(%g: tensor<8x4xf32>, %c: f32) -> tensor<8x4xf32> {
  %0 = geo.scale %g, %c : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// 1 - 0.95 is 0.05 in f64, and its rounding is not 1 - f32(0.95).
// CHECK-LABEL: func.func @ema
// CHECK-SAME: (%[[B:.*]]: tensor<8x4xf32>, %[[G:.*]]: tensor<8x4xf32>)
// CHECK-DAG: %[[KEEP:.*]] = arith.constant 0.949999988 : f32
// CHECK-DAG: %[[TAKE:.*]] = arith.constant 5.000000e-02 : f32
// CHECK: linalg.generic {{.*}} ins(%[[G]] : tensor<8x4xf32>) outs(%[[B]] : tensor<8x4xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[OLD:.*]]: f32):
// CHECK-NEXT: %[[TAKEN:.*]] = arith.mulf %[[TAKE]], %[[X]] : f32
// CHECK-NEXT: %[[NEW:.*]] = math.fma %[[KEEP]], %[[OLD]], %[[TAKEN]] : f32
// CHECK-NEXT: linalg.yield %[[NEW]] : f32
func.func @ema(%b: tensor<8x4xf32>, %g: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = geo.ema %b, %g {beta = 0.95} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @momentum
// CHECK-SAME: (%[[B:.*]]: tensor<8x4xf32>, %[[G:.*]]: tensor<8x4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[G]] : tensor<8x4xf32>) outs(%[[B]] : tensor<8x4xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[OLD:.*]]: f32):
// CHECK-NEXT: %[[NEW:.*]] = math.fma %{{.*}}, %[[OLD]], %[[X]] : f32
// CHECK-NEXT: linalg.yield %[[NEW]] : f32
func.func @momentum(%b: tensor<8x4xf32>, %g: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = geo.momentum %b, %g {beta = 0.95} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @nesterov
// CHECK-SAME: (%[[B:.*]]: tensor<8x4xf32>, %[[G:.*]]: tensor<8x4xf32>)
// CHECK: %[[BETA:.*]] = arith.constant 0.949999988 : f32
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<8x4xf32>
// CHECK: linalg.generic {{.*}} ins(%[[G]] : tensor<8x4xf32>) outs(%[[B]], %[[EMPTY]] : tensor<8x4xf32>, tensor<8x4xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[OLD:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[NEW:.*]] = math.fma %[[BETA]], %[[OLD]], %[[X]] : f32
// CHECK-NEXT: %[[AHEAD:.*]] = math.fma %[[BETA]], %[[NEW]], %[[X]] : f32
// CHECK-NEXT: linalg.yield %[[NEW]], %[[AHEAD]] : f32, f32
func.func @nesterov(%b: tensor<8x4xf32>, %g: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0:2 = geo.momentum %b, %g {beta = 0.95, nesterov} : tensor<8x4xf32>
  return %0#0, %0#1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @correct_bias
// CHECK-SAME: (%[[B:.*]]: tensor<8x4xf32>, %[[T:.*]]: i64)
// CHECK: %[[STEP:.*]] = arith.sitofp %[[T]] : i64 to f64
// CHECK: %[[BETA:.*]] = arith.constant 0.94999999999999996 : f64
// CHECK: %[[POWER:.*]] = math.powf %[[BETA]], %[[STEP]] : f64
// CHECK: %[[CORRECTION:.*]] = arith.subf %{{.*}}, %[[POWER]] : f64
// CHECK: %[[EXACT:.*]] = arith.divf %{{.*}}, %[[CORRECTION]] : f64
// CHECK: %[[FACTOR:.*]] = arith.truncf %[[EXACT]] : f64 to f32
// CHECK: linalg.generic
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: arith.mulf %[[X]], %[[FACTOR]] : f32
func.func @correct_bias(%b: tensor<8x4xf32>, %t: i64) -> tensor<8x4xf32> {
  %0 = geo.correct_bias %b, %t {beta = 0.95} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @correct_bias_ahead
// CHECK-SAME: (%{{.*}}: tensor<8x4xf32>, %[[T:.*]]: i64)
// CHECK: %[[NEXT:.*]] = arith.addi %[[T]], %{{.*}} : i64
// CHECK: arith.sitofp %[[NEXT]] : i64 to f64
func.func @correct_bias_ahead(%b: tensor<8x4xf32>, %t: i64) -> tensor<8x4xf32> {
  %0 = geo.correct_bias %b, %t {beta = 0.95, ahead = 1} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @row_squares
// CHECK-SAME: (%[[G:.*]]: tensor<8x4xf32>)
// CHECK: %[[ZEROS:.*]] = linalg.fill ins(%{{.*}} : f64) outs(%{{.*}} : tensor<8xf64>)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[G]] : tensor<8x4xf32>) outs(%[[ZEROS]] : tensor<8xf64>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[SUM:.*]]: f64):
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[X]] : f32 to f64
// CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[WIDE]], %[[WIDE]] : f64
// CHECK-NEXT: arith.addf %[[SUM]], %[[SQUARE]] : f64
func.func @row_squares(%g: tensor<8x4xf32>) -> tensor<8xf64> {
  %0 = geo.row_squares %g : tensor<8x4xf32>
  return %0 : tensor<8xf64>
}

// With eps = 0 the divisor of a zero row is 1.
// CHECK-LABEL: func.func @normalize_rows
// CHECK-SAME: (%[[G:.*]]: tensor<8x4xf32>)
// CHECK: %[[SQ:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
// CHECK: %[[D:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%[[SQ]] : tensor<8xf64>) outs(%{{.*}} : tensor<8xf32>)
// CHECK: %[[ROOT:.*]] = math.sqrt %{{.*}} : f64
// CHECK-NEXT: %[[NORM:.*]] = arith.truncf %[[ROOT]] : f64 to f32
// CHECK-NEXT: %[[IS:.*]] = arith.cmpf oeq, %[[NORM]], %{{.*}} : f32
// CHECK-NEXT: arith.select %[[IS]], %{{.*}}, %[[NORM]] : f32
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[G]], %[[D]] : tensor<8x4xf32>, tensor<8xf32>)
// CHECK: arith.divf
func.func @normalize_rows(%g: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = geo.normalize_rows %g : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// An eps whose inverse FP32 cannot hold saves no division.
// CHECK-LABEL: func.func @tiny_eps
// CHECK: arith.addf
// CHECK-NEXT: linalg.yield
// CHECK: arith.divf
// CHECK-NEXT: arith.mulf
func.func @tiny_eps(%g: tensor<8x4xf32>, %r: f32) -> tensor<8x4xf32> {
  %0 = geo.max_row %g radius(%r) {eps = 1.0e-39} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// With eps a row costs one division.
// CHECK-LABEL: func.func @max_row
// CHECK-SAME: (%[[G:.*]]: tensor<8x4xf32>, %[[R:.*]]: f32)
// CHECK: %[[EPS:.*]] = arith.constant 9.99999993E-9 : f32
// CHECK: %[[NORM:.*]] = arith.truncf
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[NORM]], %[[EPS]] : f32
// CHECK-NEXT: arith.divf %{{.*}}, %[[SUM]] : f32
// CHECK: %[[FACTOR:.*]] = arith.negf %[[R]] : f32
// CHECK: linalg.generic
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[D:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[Q:.*]] = arith.mulf %[[X]], %[[D]] : f32
// CHECK-NEXT: arith.mulf %[[FACTOR]], %[[Q]] : f32
func.func @max_row(%g: tensor<8x4xf32>, %r: f32) -> tensor<8x4xf32> {
  %0 = geo.max_row %g radius(%r) {eps = 1.0e-8} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// Both projections, where geo-infer-centering did not run.
// CHECK-LABEL: func.func @common_ball
// CHECK: iterator_types = ["reduction", "parallel"]}
// CHECK: arith.subf
// CHECK: iterator_types = ["parallel", "reduction"]}
// CHECK: iterator_types = ["reduction", "parallel"]}
// CHECK: arith.subf
func.func @common_ball(%g: tensor<8x4xf32>, %r: f32) -> tensor<8x4xf32> {
  %0 = geo.common_ball %g radius(%r) : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @adamw
// CHECK-SAME: (%[[M:[^:]*]]: tensor<8x4xf32>, %[[V:[^:]*]]: tensor<8x4xf32>, %[[G:[^:]*]]: tensor<8x4xf32>, %[[LR:[^:]*]]: f32, %[[T:[^:]*]]: i64)
// CHECK: %[[WIDE:.*]] = arith.extf %[[LR]] : f32 to f64
// CHECK-COUNT-2: math.powf
// CHECK: %[[NEG:.*]] = arith.negf %[[WIDE]] : f64
// CHECK: %[[RATE:.*]] = arith.divf %[[NEG]], %{{.*}} : f64
// CHECK: %[[SIZE:.*]] = arith.truncf %[[RATE]] : f64 to f32
// CHECK: math.sqrt %{{.*}} : f64
// CHECK: %[[INVERSE:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK: linalg.generic {{.*}} ins(%[[G]] : tensor<8x4xf32>) outs(%{{.*}}, %[[M]], %[[V]] : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32, %[[OLDM:.*]]: f32, %[[OLDV:.*]]: f32):
// CHECK-NEXT: %[[TM:.*]] = arith.mulf %{{.*}}, %[[X]] : f32
// CHECK-NEXT: %[[NM:.*]] = math.fma %{{.*}}, %[[OLDM]], %[[TM]] : f32
// CHECK-NEXT: %[[TG:.*]] = arith.mulf %{{.*}}, %[[X]] : f32
// CHECK-NEXT: %[[TV:.*]] = arith.mulf %[[TG]], %[[X]] : f32
// CHECK-NEXT: %[[NV:.*]] = math.fma %{{.*}}, %[[OLDV]], %[[TV]] : f32
// CHECK-NEXT: %[[ROOT:.*]] = math.sqrt %[[NV]] : f32
// CHECK-NEXT: %[[D:.*]] = math.fma %[[ROOT]], %[[INVERSE]], %{{.*}} : f32
// CHECK-NEXT: %[[Q:.*]] = arith.divf %[[NM]], %[[D]] : f32
// CHECK-NEXT: %[[S:.*]] = arith.mulf %[[SIZE]], %[[Q]] : f32
// CHECK-NEXT: linalg.yield %[[S]], %[[NM]], %[[NV]] : f32, f32, f32
func.func @adamw(%m: tensor<8x4xf32>, %v: tensor<8x4xf32>, %g: tensor<8x4xf32>, %lr: f32, %t: i64)
    -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %0:3 = geo.adamw %m, %v, %g lr(%lr) step(%t) {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-10} : tensor<8x4xf32>
  return %0#0, %0#1, %0#2 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @apply
// CHECK-SAME: (%[[U:[^:]*]]: tensor<8x4xf32>, %[[S:[^:]*]]: tensor<8x4xf32>, %[[LR:[^:]*]]: f32, %[[WD:[^:]*]]: f32)
// CHECK: %[[NEG:.*]] = arith.negf %[[LR]] : f32
// CHECK: %[[KEEP:.*]] = math.fma %[[NEG]], %[[WD]], %{{.*}} : f32
// CHECK: linalg.generic {{.*}} ins(%[[S]] : tensor<8x4xf32>) outs(%[[U]] : tensor<8x4xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[OLD:.*]]: f32):
// CHECK-NEXT: math.fma %[[OLD]], %[[KEEP]], %[[X]] : f32
func.func @apply(%u: tensor<8x4xf32>, %s: tensor<8x4xf32>, %lr: f32, %wd: f32) -> tensor<8x4xf32> {
  %0 = geo.apply %u, %s decay(%lr, %wd) : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @apply_without_decay
// CHECK: linalg.generic
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[OLD:.*]]: f32):
// CHECK-NEXT: arith.addf %[[OLD]], %[[X]] : f32
func.func @apply_without_decay(%u: tensor<8x4xf32>, %s: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = geo.apply %u, %s : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// Dynamic shapes go the same way.
// CHECK-LABEL: func.func @dynamic
// CHECK: tensor.dim
// CHECK: arith.maximumf
// CHECK: linalg.generic
func.func @dynamic(%u: tensor<?x?xf32>, %r: f32) -> tensor<?x?xf32> {
  %0 = geo.shape_scale %r, %u
  %1 = geo.shape_scale %0, %u {kind = "match_rms_adamw"}
  %2 = geo.max_row %u radius(%1)
  %3 = geo.center %2
  return %3 : tensor<?x?xf32>
}

// -----

// An aggregated op of another dialect stays as it is.
// CHECK-LABEL: func.func @foreign
// CHECK: linalg.softmax
func.func @foreign(%x: tensor<8x4xf32>, %o: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = linalg.softmax dimension(1) ins(%x : tensor<8x4xf32>) outs(%o : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
