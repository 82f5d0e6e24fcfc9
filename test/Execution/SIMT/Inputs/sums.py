"""Sums over columns, over everything, and transposes: `sums.py print` writes the
kernels as formed kernels, `sums.py run LIBRARY MODULE` runs them on the
emulated GPU and compares with plain loops in binary64."""

import math
import sys

import kernel_device as dev

KERNELS = """
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#j = affine_map<(i, j) -> (j)>
#i1 = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#scalar = affine_map<() -> ()>

// The mean row, by warps that share the rows; 70 columns are no whole block.
func.func @mean(%x: memref<53x70xf32>, %y: memref<70xf32>)
    attributes {block.kernel, block.config = #block.config<warps = 4>} {
  %xt = bufferization.to_tensor %x restrict : memref<53x70xf32> to tensor<53x70xf32>
  %zero = arith.constant 0.0 : f64
  %rows = arith.constant 53.0 : f64
  %e = tensor.empty() : tensor<70xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<70xf64>) -> tensor<70xf64>
  %s = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%xt : tensor<53x70xf32>) outs(%f : tensor<70xf64>) {
  ^bb0(%a: f32, %o: f64):
    %w = arith.extf %a : f32 to f64
    %t = arith.addf %o, %w : f64
    linalg.yield %t : f64
  } -> tensor<70xf64>
  %e1 = tensor.empty() : tensor<70xf32>
  %m = linalg.generic {indexing_maps = [#i1, #i1], iterator_types = ["parallel"]}
      ins(%s : tensor<70xf64>) outs(%e1 : tensor<70xf32>) {
  ^bb0(%a: f64, %o: f32):
    %q = arith.divf %a, %rows : f64
    %t = arith.truncf %q : f64 to f32
    linalg.yield %t : f32
  } -> tensor<70xf32>
  bufferization.materialize_in_destination %m in restrict writable %y : (tensor<70xf32>, memref<70xf32>) -> ()
  return
}

// Sums of groups of rows.
func.func @groups(%x: memref<48x40xf32>, %y: memref<6x40xf64>)
    attributes {block.kernel, block.config = #block.config<rows = 4, warps = 4>} {
  %xt = bufferization.to_tensor %x restrict : memref<48x40xf32> to tensor<48x40xf32>
  %g = tensor.expand_shape %xt [[0, 1], [2]] output_shape [6, 8, 40] : tensor<48x40xf32> into tensor<6x8x40xf32>
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<6x40xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<6x40xf64>) -> tensor<6x40xf64>
  %s = linalg.generic {indexing_maps = [affine_map<(g, i, j) -> (g, i, j)>, affine_map<(g, i, j) -> (g, j)>],
      iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%g : tensor<6x8x40xf32>) outs(%f : tensor<6x40xf64>) {
  ^bb0(%a: f32, %o: f64):
    %w = arith.extf %a : f32 to f64
    %t = arith.addf %o, %w : f64
    linalg.yield %t : f64
  } -> tensor<6x40xf64>
  bufferization.materialize_in_destination %s in restrict writable %y : (tensor<6x40xf64>, memref<6x40xf64>) -> ()
  return
}

// One number of all: the inverse of a Frobenius norm from sums of squares.
func.func @inverse(%x: memref<777xf64>, %y: memref<f32>)
    attributes {block.kernel, block.config = #block.config<warps = 4>} {
  %xt = bufferization.to_tensor %x restrict : memref<777xf64> to tensor<777xf64>
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %s = linalg.generic {indexing_maps = [#i1, #none], iterator_types = ["reduction"]}
      ins(%xt : tensor<777xf64>) outs(%f : tensor<f64>) {
  ^bb0(%a: f64, %o: f64):
    %t = arith.addf %o, %a : f64
    linalg.yield %t : f64
  } -> tensor<f64>
  %e1 = tensor.empty() : tensor<f32>
  %r = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []}
      ins(%s : tensor<f64>) outs(%e1 : tensor<f32>) {
  ^bb0(%a: f64, %o: f32):
    %q = math.sqrt %a : f64
    %v = arith.divf %one, %q : f64
    %t = arith.truncf %v : f64 to f32
    linalg.yield %t : f32
  } -> tensor<f32>
  bufferization.materialize_in_destination %r in restrict writable %y : (tensor<f32>, memref<f32>) -> ()
  return
}

// Scaled and transposed, into a part of a larger matrix.
func.func @turn(%x: memref<20x33xf32>, %s: memref<f32>, %y: memref<40x32xf32>)
    attributes {block.kernel, block.config = #block.config<rows = 8, warps = 4>} {
  %part = memref.subview %y[4, 8] [33, 20] [1, 1] : memref<40x32xf32> to memref<33x20xf32, strided<[32, 1], offset: 136>>
  %xt = bufferization.to_tensor %x restrict : memref<20x33xf32> to tensor<20x33xf32>
  %st = bufferization.to_tensor %s restrict : memref<f32> to tensor<f32>
  %e = tensor.empty() : tensor<33x20xf32>
  %r = linalg.generic {indexing_maps = [#ji, affine_map<(i, j) -> ()>, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%xt, %st : tensor<20x33xf32>, tensor<f32>) outs(%e : tensor<33x20xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.mulf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<33x20xf32>
  bufferization.materialize_in_destination %r in restrict writable %part : (tensor<33x20xf32>, memref<33x20xf32, strided<[32, 1], offset: 136>>) -> ()
  return
}
"""


def check(what, got, wanted, limit=1e-6):
    error = dev.distance(got, wanted)
    if not error <= limit:
        raise SystemExit(f"{what}: off by {error:.3g}, more than {limit}")
    print(f"{what}: right")


def main():
    if sys.argv[1] == "print":
        print(KERNELS)
        return
    gpu = dev.Device(sys.argv[2])
    module = gpu.load(sys.argv[3])

    def run(name, grid, *arrays):
        buffers = [dev.Buffer(gpu, a, kind) for a, kind in arrays]
        gpu.launch(module, name, (grid, 1, 1), 4, [*buffers, 0])
        return buffers[-1].read()

    x = dev.normal(53 * 70, 1)
    got = run("mean", 2, (x, "f"), ([0.0] * 70, "f"))
    check("mean", got, [math.fsum(x[j::70]) / 53 for j in range(70)])

    x = dev.normal(48 * 40, 2)
    got = run("groups", 2, (x, "f"), ([0.0] * 240, "d"))
    check("groups", got, [math.fsum(x[g * 320 + j : (g + 1) * 320 : 40])
                          for g in range(6) for j in range(40)], 1e-14)

    x = [y * y for y in dev.normal(777, 3)]
    check("inverse", run("inverse", 1, (x, "d"), ([0.0], "f")), [1 / math.sqrt(math.fsum(x))])

    x = dev.normal(20 * 33, 4)
    wanted = [9.0] * (40 * 32)
    for i in range(33):
        for j in range(20):
            wanted[(i + 4) * 32 + j + 8] = 0.25 * x[j * 33 + i]
    got = run("turn", 5, (x, "f"), ([0.25], "f"), ([9.0] * (40 * 32), "f"))
    check("turn", got, wanted, 0)


main()
