// RUN: %limit steep-opt %s --block-form-kernels --verify-each | FileCheck %s
// RUN: %limit not steep-opt %s '--block-form-kernels=host-kernels=false target=sm_80' 2>&1 | FileCheck %s --check-prefix=GPU

// The solver is a kernel of its own between what feeds it and what follows: a
// declaration with operands, results, work space and constants.

// CHECK:       func.func private @exact_k1(memref<40x8xf32>, f32, memref<40x8xf32>, memref<f64>, memref<f64>, memref<[[BYTES:[0-9]+]]xi8>, i64, i64, i64, f64, i64)
// CHECK-SAME:    attributes {block.grid = 1 : i64, block.host = "steep_kernel_row_diameter", block.op = "geo.row_diameter"}
// CHECK-LABEL: func.func @exact(
// CHECK-SAME:    %[[W:.*]]: memref<40x8xf32> {optim.role = "weight"}, %[[G:.*]]: memref<40x8xf32> {optim.role = "gradient"},
// CHECK-SAME:    %[[B:.*]]: memref<40x8xf32> {optim.role = "state"{{.*}}}, %[[LR:.*]]: f32 {optim.role = "lr"}
// CHECK:         call @exact_k0(
// CHECK:         %[[S:.*]] = memref.view %{{.*}} to memref<40x8xf32>
// CHECK:         %[[WS:.*]] = memref.view %{{.*}} to memref<[[BYTES]]xi8>
// CHECK:         %[[ROWS:.*]] = arith.constant 40 : i64
// CHECK:         %[[COLUMNS:.*]] = arith.constant 8 : i64
// CHECK:         %[[FORM:.*]] = arith.constant 0 : i64
// CHECK:         %[[TOLERANCE:.*]] = arith.constant 9.9999999999999995E-7 : f64
// CHECK:         %[[STEPS:.*]] = arith.constant 200 : i64
// CHECK:         call @exact_k1(%[[B]], %[[LR]], %[[S]], %{{.*}}, %{{.*}}, %[[WS]], %[[ROWS]], %[[COLUMNS]], %[[FORM]], %[[TOLERANCE]], %[[STEPS]])
// CHECK:         call @exact_k2(

// GPU: error: 'geo.row_diameter' op is computed by a function of the host, which target sm_80 does not have; form = "relax" runs everywhere

func.func @exact(%w: tensor<40x8xf32> {optim.role = "weight"}, %g: tensor<40x8xf32> {optim.role = "gradient"},
    %b: tensor<40x8xf32> {optim.role = "state", optim.state = "momentum_buffer"},
    %lr: f32 {optim.role = "lr"}, %wd: f32 {optim.role = "wd"}, %clip: f32 {optim.role = "clip"}, %t: i64 {optim.role = "step"})
    -> (tensor<40x8xf32> {optim.role = "weight"}, tensor<40x8xf32> {optim.role = "state"})
    attributes {optim.rule = "exact", optim.count = 1 : i64} {
  %gc = geo.scale %g, %clip : tensor<40x8xf32>
  %b1 = geo.ema %b, %gc {beta = 0.95} : tensor<40x8xf32>
  %s, %lower, %upper = geo.row_diameter %b1 radius(%lr) {form = "exact"} : tensor<40x8xf32>
  %w1 = geo.apply %w, %s decay(%lr, %wd) : tensor<40x8xf32>
  return %w1, %b1 : tensor<40x8xf32>, tensor<40x8xf32>
}

// A radius that the rule computes is stored by a kernel, and read from there.
// CHECK:       func.func @computed_k0(%{{.*}}: f32, %{{.*}}: memref<f32>)
// CHECK:         arith.mulf
// CHECK:       func.func private @computed_k1(memref<40x8xf32>, memref<f32>, memref<40x8xf32>,
// CHECK-LABEL: func.func @computed(
// CHECK:         %[[R:.*]] = memref.view %{{.*}} to memref<f32>
// CHECK:         call @computed_k0(%{{.*}}, %[[R]])
// CHECK:         call @computed_k1(%{{.*}}, %[[R]],
func.func @computed(%w: tensor<40x8xf32> {optim.role = "weight"}, %g: tensor<40x8xf32> {optim.role = "gradient"},
    %lr: f32 {optim.role = "lr"}, %wd: f32 {optim.role = "wd"}, %clip: f32 {optim.role = "clip"}, %t: i64 {optim.role = "step"})
    -> (tensor<40x8xf32> {optim.role = "weight"}) attributes {optim.rule = "computed", optim.count = 1 : i64} {
  %rho = arith.constant 3.0 : f32
  %r = arith.mulf %lr, %rho : f32
  %s:3 = geo.row_diameter %g radius(%r) {form = "repair"} : tensor<40x8xf32>
  %w1 = geo.apply %w, %s#0 : tensor<40x8xf32>
  return %w1 : tensor<40x8xf32>
}
