// RUN: %limit steep-opt %s --block-bufferize --verify-diagnostics

// A block that reads the row above, which another block has overwritten or not:
// only a copy could make that right.
func.func @reads_neighbour(%X: memref<4x4xf32>) attributes {block.kernel, block.config = #block.config<rows = 1>, block.grid = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %x = bufferization.to_tensor %X restrict writable : memref<4x4xf32> to tensor<4x4xf32>
  // expected-error@+1 {{it cannot be bufferised in place}}
  %y = scf.forall (%b) in (4) shared_outs(%o = %x) -> (tensor<4x4xf32>) {
    %up = arith.subi %b, %c1 : index
    %above = arith.maxsi %up, %c0 : index
    %v = vector.transfer_read %x[%above, %c0], %zero {in_bounds = [true]} : tensor<4x4xf32>, vector<4xf32>
    %t = tensor.extract_slice %o[%b, 0] [1, 4] [1, 1] : tensor<4x4xf32> to tensor<1x4xf32>
    %w = vector.transfer_write %v, %t[%c0, %c0] {in_bounds = [true]} : vector<4xf32>, tensor<1x4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %w into %o[%b, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<4x4xf32>
    }
  } {mapping = [#gpu.block<x>]}
  bufferization.materialize_in_destination %y in restrict writable %X : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  return
}
