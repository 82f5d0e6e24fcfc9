// The loads, products and stores of a warp, as MLIR's own rewriting of
// linalg.matmul makes them: an account of the fragment layouts that is not
// ours. FragmentsFromMLIR.ll was made of it by the commands in MatricesTest.cpp.
module attributes {transform.with_named_sequence, gpu.container_module} {
  gpu.module @kernels {
    gpu.func @half(%a: memref<16x16xf16>, %b: memref<16x8xf16>, %c: memref<16x8xf16>) kernel {
      linalg.matmul ins(%a, %b : memref<16x16xf16>, memref<16x8xf16>) outs(%c : memref<16x8xf16>)
      gpu.return
    }
    gpu.func @tensor(%a: memref<16x4xf32>, %b: memref<4x8xf32>, %c: memref<16x8xf32>) kernel {
      linalg.matmul ins(%a, %b : memref<16x4xf32>, memref<4x8xf32>) outs(%c : memref<16x8xf32>)
      gpu.return
    }
  }
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %module : (!transform.any_op) -> !transform.any_op
    transform.nvgpu.rewrite_matmul_as_mma_sync %matmul : (!transform.any_op) -> ()
    transform.yield
  }
}
