// RUN: %limit steep-opt %s --split-input-file --block-form-kernels --verify-each | FileCheck %s

// A row update is one kernel: every matrix is read once, and what is written
// replaces what was read. The increment gets an argument of its own.

// CHECK-LABEL: func.func @rownorm_k0(
// CHECK-SAME:    %[[G:.*]]: memref<64x40xf32>, %[[CLIP:.*]]: f32, %[[B:.*]]: memref<64x40xf32>, %[[T:.*]]: i64,
// CHECK-SAME:    %[[LR:.*]]: f32, %[[W:.*]]: memref<64x40xf32>, %[[WD:.*]]: f32, %[[S:.*]]: memref<64x40xf32>)
// CHECK-SAME:    attributes {block.kernel}
// CHECK:         %[[GT:.*]] = bufferization.to_tensor %[[G]] restrict :
// CHECK:         %[[BT:.*]] = bufferization.to_tensor %[[B]] restrict writable :
// CHECK:         %[[WT:.*]] = bufferization.to_tensor %[[W]] restrict writable :
// CHECK:         %[[GC:.*]] = geo.scale %[[GT]], %[[CLIP]]
// CHECK:         %[[B1:.*]] = geo.ema %[[BT]], %[[GC]]
// CHECK:         %[[C:.*]] = geo.correct_bias %[[B1]], %[[T]]
// CHECK:         %[[INCREMENT:.*]] = geo.max_row %[[C]] radius(%[[LR]])
// CHECK:         %[[W1:.*]] = geo.apply %[[WT]], %[[INCREMENT]] decay(%[[LR]], %[[WD]])
// CHECK-DAG:     materialize_in_destination %[[B1]] in restrict writable %[[B]]
// CHECK-DAG:     materialize_in_destination %[[W1]] in restrict writable %[[W]]
// CHECK-DAG:     materialize_in_destination %[[INCREMENT]] in restrict writable %[[S]]
// CHECK:         return

// CHECK-LABEL: func.func @rownorm(
// CHECK-SAME:    %[[W:.*]]: memref<64x40xf32> {optim.role = "weight"}, %[[G:.*]]: memref<64x40xf32> {optim.role = "gradient"},
// CHECK-SAME:    %[[B:.*]]: memref<64x40xf32> {optim.role = "state", optim.state = "momentum_buffer"},
// CHECK-SAME:    %[[LR:.*]]: f32 {optim.role = "lr"}, %[[WD:.*]]: f32 {optim.role = "wd"}, %[[CLIP:.*]]: f32 {optim.role = "clip"},
// CHECK-SAME:    %[[T:.*]]: i64 {optim.role = "step"}, %[[S:.*]]: memref<64x40xf32> {optim.role = "update"},
// CHECK-SAME:    memref<0xi8> {optim.role = "workspace"}) attributes {block.step, optim.count = 1 : i64, optim.rule = "rownorm"}
// CHECK-NEXT:    call @rownorm_k0(%[[G]], %[[CLIP]], %[[B]], %[[T]], %[[LR]], %[[W]], %[[WD]], %[[S]])
// CHECK-NEXT:    return
func.func @rownorm(%w: tensor<64x40xf32> {optim.role = "weight"}, %g: tensor<64x40xf32> {optim.role = "gradient"},
    %b: tensor<64x40xf32> {optim.role = "state", optim.state = "momentum_buffer"},
    %lr: f32 {optim.role = "lr"}, %wd: f32 {optim.role = "wd"}, %clip: f32 {optim.role = "clip"}, %t: i64 {optim.role = "step"})
    -> (tensor<64x40xf32> {optim.role = "weight"}, tensor<64x40xf32> {optim.role = "state"}, tensor<64x40xf32> {optim.role = "update"})
    attributes {optim.rule = "rownorm", optim.count = 1 : i64} {
  %gc = geo.scale %g, %clip : tensor<64x40xf32>
  %b1 = geo.ema %b, %gc {beta = 0.95} : tensor<64x40xf32>
  %c  = geo.correct_bias %b1, %t {beta = 0.95} : tensor<64x40xf32>
  %s  = geo.max_row %c radius(%lr) {eps = 1.0e-8} : tensor<64x40xf32>
  %w1 = geo.apply %w, %s decay(%lr, %wd) : tensor<64x40xf32>
  return %w1, %b1, %s : tensor<64x40xf32>, tensor<64x40xf32>, tensor<64x40xf32>
}

// -----

// Momentum, look-ahead and the sums of squares of its rows are one pass; the
// norm needs all rows and runs as one block; the scaled matrix, padded by zeros,
// follows. The zeros are written by a kernel of their own, since the reused
// workspace holds anything.

// CHECK-LABEL: func.func @start_k0(
// CHECK:         %[[B1:.*]], %[[N:.*]] = geo.momentum
// CHECK:         %[[SQ:.*]] = geo.row_squares %[[N]]
// CHECK-COUNT-3: materialize_in_destination
// CHECK-NOT:     materialize_in_destination

// CHECK-LABEL: func.func @start_k1(
// CHECK-SAME:    %{{.*}}: memref<33xf64>, %[[INV:.*]]: memref<f32>)
// CHECK:         linalg.reduce
// CHECK:         linalg.generic {{.*}} iterator_types = []
// CHECK:         materialize_in_destination {{.*}} %[[INV]]

// CHECK-LABEL: func.func @start_k2(
// CHECK-SAME:    %[[X:.*]]: memref<64x32xf32>)
// CHECK:         %[[Z:.*]] = linalg.fill
// CHECK:         materialize_in_destination %[[Z]] in restrict writable %[[X]]

// CHECK-LABEL: func.func @start_k3(
// CHECK:         %[[PART:.*]] = memref.subview %{{.*}}[0, 0] [33, 17] [1, 1] : memref<64x32xf32> to memref<33x17xf32, strided<[32, 1]>>
// CHECK:         %[[X0:.*]] = linalg.generic
// CHECK:         materialize_in_destination %[[X0]] in restrict writable %[[PART]]

// One product a kernel: the Gram matrix.
// CHECK-LABEL: func.func @start_k4(
// CHECK:         linalg.fill
// CHECK:         linalg.matmul
// CHECK-NOT:     linalg.generic

// The polynomial is the epilogue of the next product, which is still known to be
// symmetric.
// CHECK-LABEL: func.func @start_k5(
// CHECK:         %[[P:.*]] = linalg.matmul {geo.symmetric}
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %[[P]]

// What is left of the padding is read through a view, and applied.
// CHECK-LABEL: func.func @start_k6(
// CHECK:         memref.subview {{.*}} : memref<32x32xf32> to memref<17x17xf32, strided<[32, 1]>>
// CHECK:         geo.apply

// Values that cross kernels live in the workspace, 64-byte aligned; what is dead
// gives its place to what comes: the padded matrix lies where the row sums were,
// the polynomial where the look-ahead and the norm were.
// CHECK-LABEL: func.func @start(
// CHECK-SAME:    %[[WS:[a-z0-9]*]]: memref<12288xi8> {optim.role = "workspace"}
// CHECK-DAG:     %[[N:.*]] = memref.view %[[WS]][%c8192][] : memref<12288xi8> to memref<33x17xf32>
// CHECK-DAG:     %[[SQ:.*]] = memref.view %[[WS]][%c0][] : memref<12288xi8> to memref<33xf64>
// CHECK:         call @start_k0(%{{.*}}, %[[N]], %[[SQ]])
// CHECK:         %[[INV:.*]] = memref.view %[[WS]][%{{.*}}][] : memref<12288xi8> to memref<f32>
// CHECK:         call @start_k1(%[[SQ]], %[[INV]])
// CHECK:         %[[X:.*]] = memref.view %[[WS]][%{{.*}}][] : memref<12288xi8> to memref<64x32xf32>
// CHECK:         call @start_k2(%[[X]])
// CHECK:         call @start_k3(%[[N]], %[[INV]], %[[X]])
// CHECK:         call @start_k4(%[[X]], %[[A:[a-z0-9_]+]])
// CHECK:         call @start_k5(%[[A]], %[[Z:[a-z0-9_]+]])
// CHECK:         call @start_k6(%{{.*}}, %[[Z]])
#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
#scalar = affine_map<() -> ()>
func.func @start(%w: tensor<17x17xf32> {optim.role = "weight"}, %g: tensor<33x17xf32> {optim.role = "gradient"},
    %b: tensor<33x17xf32> {optim.role = "state", optim.state = "momentum_buffer"}, %lr: f32 {optim.role = "lr"})
    -> (tensor<17x17xf32> {optim.role = "weight"}, tensor<33x17xf32> {optim.role = "state"}) {
  %zero = arith.constant 0.0 : f32
  %zero64 = arith.constant 0.0 : f64
  %b1, %n = geo.momentum %b, %g {beta = 0.95, nesterov} : tensor<33x17xf32>
  %sq = geo.row_squares %n : tensor<33x17xf32>
  %e0 = tensor.empty() : tensor<f64>
  %f0 = linalg.fill ins(%zero64 : f64) outs(%e0 : tensor<f64>) -> tensor<f64>
  %sum = linalg.reduce ins(%sq : tensor<33xf64>) outs(%f0 : tensor<f64>) dimensions = [0] (%x: f64, %y: f64) {
    %r = arith.addf %x, %y : f64
    linalg.yield %r : f64
  }
  %e1 = tensor.empty() : tensor<f32>
  %inv = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%sum : tensor<f64>) outs(%e1 : tensor<f32>) {
  ^bb0(%x: f64, %y: f32):
    %q = math.sqrt %x : f64
    %r = arith.truncf %q : f64 to f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %e = tensor.empty() : tensor<33x17xf32>
  %x = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%n, %inv : tensor<33x17xf32>, tensor<f32>) outs(%e : tensor<33x17xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %r = arith.divf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<33x17xf32>
  %ep = tensor.empty() : tensor<64x32xf32>
  %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<64x32xf32>) -> tensor<64x32xf32>
  %x0 = tensor.insert_slice %x into %zp[0, 0] [33, 17] [1, 1] : tensor<33x17xf32> into tensor<64x32xf32>
  %ea = tensor.empty() : tensor<32x32xf32>
  %za = linalg.fill ins(%zero : f32) outs(%ea : tensor<32x32xf32>) -> tensor<32x32xf32>
  %A = linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      {geo.symmetric} ins(%x0, %x0 : tensor<64x32xf32>, tensor<64x32xf32>) outs(%za : tensor<32x32xf32>) -> tensor<32x32xf32>
  %P = linalg.matmul {geo.symmetric} ins(%A, %A : tensor<32x32xf32>, tensor<32x32xf32>) outs(%za : tensor<32x32xf32>) -> tensor<32x32xf32>
  %Z = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%A, %P : tensor<32x32xf32>, tensor<32x32xf32>) outs(%ea : tensor<32x32xf32>) {
  ^bb0(%x2: f32, %y: f32, %z: f32):
    %r = arith.addf %x2, %y : f32
    linalg.yield %r : f32
  } -> tensor<32x32xf32>
  %s = tensor.extract_slice %Z[0, 0] [17, 17] [1, 1] : tensor<32x32xf32> to tensor<17x17xf32>
  %w1 = geo.apply %w, %s : tensor<17x17xf32>
  return %w1, %b1 : tensor<17x17xf32>, tensor<33x17xf32>
}

// -----

// Equal kernels are formed once, within an update and across them.

// CHECK-LABEL: func.func @twice_k0(
// CHECK:         linalg.matmul
// CHECK-NOT:   func.func @twice_k1(
// CHECK-LABEL: func.func @twice(
// CHECK:         call @twice_k0(
// CHECK:         call @twice_k0(
// CHECK-LABEL: func.func @again(
// CHECK:         call @twice_k0(
func.func @twice(%w: tensor<32x32xf32> {optim.role = "weight"}, %g: tensor<32x32xf32> {optim.role = "gradient"})
    -> (tensor<32x32xf32> {optim.role = "weight"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %0 = linalg.matmul ins(%g, %g : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = linalg.matmul ins(%0, %0 : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %1 : tensor<32x32xf32>
}
func.func @again(%w: tensor<32x32xf32> {optim.role = "weight"}, %g: tensor<32x32xf32> {optim.role = "gradient"})
    -> (tensor<32x32xf32> {optim.role = "weight"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %0 = linalg.matmul ins(%g, %g : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %0 : tensor<32x32xf32>
}

// -----

// A product may not overwrite its operand: the weight comes home at the end.

// CHECK-LABEL: func.func @square_k0(
// CHECK:         %[[W:.*]] = bufferization.to_tensor %{{.*}} restrict :
// CHECK:         linalg.matmul ins(%[[W]], %[[W]]
// CHECK-LABEL: func.func @square_k1(
// CHECK:         linalg.copy
// CHECK-LABEL: func.func @square(
// CHECK-SAME:    %[[W:[a-z0-9]*]]: memref<32x32xf32> {optim.role = "weight"}
// CHECK:         %[[WS:.*]] = memref.view
// CHECK:         call @square_k0(%[[W]], %[[WS]])
// CHECK:         call @square_k1(%[[WS]], %[[W]])
func.func @square(%w: tensor<32x32xf32> {optim.role = "weight"}) -> (tensor<32x32xf32> {optim.role = "weight"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %0 = linalg.matmul ins(%w, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %0 : tensor<32x32xf32>
}

// -----

// A weight that a later kernel still reads is not overwritten before.

// CHECK-LABEL: func.func @late_k0(
// CHECK:         geo.apply
// CHECK-LABEL: func.func @late(
// CHECK-SAME:    %[[W:[a-z0-9]*]]: memref<32x32xf32> {optim.role = "weight"}, %[[G:[a-z0-9]*]]: memref<32x32xf32> {optim.role = "gradient"},
// CHECK-SAME:    %[[B:[a-z0-9]*]]: memref<32x32xf32> {optim.role = "state"}
// CHECK:         %[[W1:.*]] = memref.view
// CHECK:         call @late_k0(%[[W]], %[[G]], %[[W1]])
// CHECK:         call @late_k1(%[[W]], %[[B]])
// CHECK:         call @late_k2(%[[W1]], %[[W]])
func.func @late(%w: tensor<32x32xf32> {optim.role = "weight"}, %g: tensor<32x32xf32> {optim.role = "gradient"},
    %b: tensor<32x32xf32> {optim.role = "state"})
    -> (tensor<32x32xf32> {optim.role = "weight"}, tensor<32x32xf32> {optim.role = "state"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %w1 = geo.apply %w, %g : tensor<32x32xf32>
  %b1 = linalg.matmul ins(%w, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %w1, %b1 : tensor<32x32xf32>, tensor<32x32xf32>
}

// -----

// A state that two averages read, one of which replaces it: both are of one
// kernel, which reads a row before it writes it.

// CHECK-LABEL: func.func @lion(
// CHECK-SAME:    %[[W:[a-z0-9]*]]: memref<8x8xf32> {optim.role = "weight"}, %[[G:[a-z0-9]*]]: memref<8x8xf32> {optim.role = "gradient"},
// CHECK-SAME:    %[[M:[a-z0-9]*]]: memref<8x8xf32> {optim.role = "state"}
// CHECK-NOT:     memref.view
// CHECK:         call @lion_k0(%[[M]], %[[G]], %[[W]])
// CHECK-NEXT:    return
func.func @lion(%w: tensor<8x8xf32> {optim.role = "weight"}, %g: tensor<8x8xf32> {optim.role = "gradient"},
    %m: tensor<8x8xf32> {optim.role = "state"})
    -> (tensor<8x8xf32> {optim.role = "weight"}, tensor<8x8xf32> {optim.role = "state"}) {
  %c = geo.ema %m, %g {beta = 0.9} : tensor<8x8xf32>
  %m1 = geo.ema %m, %g {beta = 0.99} : tensor<8x8xf32>
  %w1 = geo.apply %w, %c : tensor<8x8xf32>
  return %w1, %m1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// States that change places go through the workspace.

// CHECK-LABEL: func.func @swap(
// CHECK-SAME:    %[[A:[a-z0-9]*]]: memref<8x8xf32> {optim.role = "state"}, %[[B:[a-z0-9]*]]: memref<8x8xf32> {optim.role = "state"}
// CHECK:         %[[T:.*]] = memref.view
// CHECK-NEXT:    call @swap_k0(%[[B]], %[[T]])
// CHECK-NEXT:    call @swap_k0(%[[A]], %[[B]])
// CHECK-NEXT:    call @swap_k0(%[[T]], %[[A]])
func.func @swap(%a: tensor<8x8xf32> {optim.role = "state"}, %b: tensor<8x8xf32> {optim.role = "state"})
    -> (tensor<8x8xf32> {optim.role = "state"}, tensor<8x8xf32> {optim.role = "state"}) {
  return %b, %a : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Two results without a common reader share the pass over what both read.

// CHECK-LABEL: func.func @siblings_k0(
// CHECK:         geo.scale
// CHECK:         geo.row_squares
// CHECK-COUNT-2: materialize_in_destination
// CHECK-LABEL: func.func @siblings(
// CHECK-COUNT-1: call
// CHECK-NOT:     call
func.func @siblings(%g: tensor<8x4xf32> {optim.role = "gradient"}, %s: tensor<8x4xf32> {optim.role = "state"}, %c: f32)
    -> (tensor<8x4xf32> {optim.role = "state"}, tensor<8xf64> {optim.role = "squares"}) {
  %0 = geo.scale %g, %c : tensor<8x4xf32>
  %1 = geo.row_squares %g : tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8xf64>
}

// -----

// A function that is no update stays.

// CHECK-LABEL: func.func @other(%{{.*}}: tensor<8x4xf32>) -> tensor<8x4xf32>
func.func @other(%g: tensor<8x4xf32>) -> tensor<8x4xf32> {
  return %g : tensor<8x4xf32>
}
