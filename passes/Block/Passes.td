//===- Passes.td - from bound functions to block programs --*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_PASSES_TD
#define STEEP_PASSES_BLOCK_PASSES_TD

include "mlir/Pass/PassBase.td"

def FormKernels : Pass<"block-form-kernels", "::mlir::ModuleOp"> {
  let summary = "cut every update into kernels and a step that calls them";
  let description = [{
    Turns every function that carries `optim.role` on its arguments (an update
    on tensors) into one step function and its kernels, both on memrefs.

    An op that needs the whole of a value (a product needs its operands, a
    Frobenius norm its matrix) starts a new kernel after the kernel that makes
    the value; row-wise and elementwise ops stay in the kernel of what they
    read; a product keeps its fill and its elementwise epilogue. What an op
    needs is asked of its `TilingInterface` or of its indexing maps. Ops that
    do not depend on one another but have the same grid share a kernel, so
    that what both read is read once.

    Results go straight into the memory of the argument they replace. A value
    that crosses kernels lives in the workspace, one `memref<?xi8>` argument of
    the step, whose 64-byte aligned parts are reused once nobody reads them.

    ```mlir
    func.func @sign_8x8(%w: tensor<8x8xf32> {optim.role = "weight"}, ...)
        -> (tensor<8x8xf32> {optim.role = "weight"}) {...}
    ```
    becomes
    ```mlir
    func.func @sign_8x8_k0(%w: memref<8x8xf32>, ...) attributes {block.kernel} {
      %0 = bufferization.to_tensor %w restrict writable : ...
      ...
      bufferization.materialize_in_destination %9 in restrict writable %w : ...
      return
    }
    func.func @sign_8x8(%w: memref<8x8xf32> {optim.role = "weight"}, ...,
        %ws: memref<0xi8> {optim.role = "workspace"}) attributes {block.step} {
      call @sign_8x8_k0(%w, ...) : ...
      return
    }
    ```
    What a kernel looks like, in this order:
    * views of arguments (`memref.subview`, other shapes) and one
      `bufferization.to_tensor` a piece of memory, `writable` where it is written;
    * ops on tensors: scalars, `tensor.empty`, `linalg.fill`, `geo`, `linalg`. At
      most one product of matrices, then with its elementwise epilogue;
    * one `bufferization.materialize_in_destination` a result. There may be several
      results, and some that nothing else in the kernel reads; all are cut by the
      same grid: rows, tiles of a product's result, or, for what ends in tensors
      of rank 0, a single block.

    Kernels that equal one another are formed once.

    An op with `HostKernelOpInterface` is a kernel of its own, a declaration with
    `block.host` and `block.op`; its arguments are operands, results, work space
    and constants, in this order; a scalar that the rule computes is stored by a
    kernel before. A target that has no host sets `host-kernels=false`, and such
    an op is an error, which calls the target by the option `target`.

    With `panel`, a matrix of the workspace that a product multiplies lies in
    panels of that many columns, an array `[ceil(n / panel)][m][panel]`, if all
    kernels that touch it are products or work element by element. Such an
    argument has rank 3, and the kernel sees it through `linalg.unpack` and
    `linalg.pack`. An operand that is an argument, or of which a product wants
    the transpose, is copied first, once for all products. The numbers of a product's
    epilogue are arguments of its kernel then: the steps of an iteration whose
    coefficients differ are calls of one kernel.

    With `amx`, panels have 32 columns in updates whose products may round their
    operands, and left operands lie in rows of BF16, which is what AMX reads.

    Remarks of the category `block-form-kernels` tell what was fused and what
    was not, and why.
  }];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::block::BlockDialect",
    "mlir::bufferization::BufferizationDialect", "mlir::func::FuncDialect",
    "mlir::linalg::LinalgDialect", "mlir::memref::MemRefDialect",
    "mlir::tensor::TensorDialect", "mlir::ub::UBDialect"];
  let options = [
    Option<"hostKernels", "host-kernels", "bool", "true",
      "whether functions of the host can be kernels">,
    Option<"target", "target", "std::string", "",
      "the target's name, for errors">,
    Option<"panel", "panel", "int64_t", "0",
      "columns of the panels that operands of products lie in; 0: all memory is row-major">,
    Option<"amx", "amx", "bool", "false",
      "whether the target multiplies tiles of BF16 (AMX)">];
  let statistics = [
    Statistic<"numKernels", "kernels", "Number of kernels formed">,
    Statistic<"workspaceBytes", "workspace-bytes", "Bytes of workspace, summed over updates">];
}

def SelectConfig : Pass<"block-select-config", "::mlir::func::FuncOp"> {
  let summary = "decide how each kernel is executed";
  let description = [{
    Sets `#block.config` on every `block.kernel` that has none. This pass holds
    the only heuristics of the level; it knows the target only through its
    options. A config that is already there stays, so that a user or a tuner
    can decide otherwise.

    A kernel with a matrix product gets `tile` and `micro`: the largest part of
    the result that stays in registers, and blocks of a few such parts. Any other
    kernel gets `rows`, so many that a block moves about a quarter of the
    second-level cache, and `chunk`, two native vectors of columns.

    With `amx`, a product of BF16 whose operands lie as AMX reads them gets `amx`.

    For the target `nvptx` a product gets `tile`, `warps` and `stages`; any other
    kernel gets `warps`, and `rows` where its blocks own rows: several for each warp
    where rows are short, one for all warps where a warp cannot hold it. Geometries
    have to be `linalg` ops by then.
  }];
  let dependentDialects = ["mlir::block::BlockDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "cpu or nvptx">,
    Option<"lanes", "lanes", "int64_t", "16", "32-bit floats of a native vector">,
    Option<"registers", "registers", "int64_t", "32", "vector registers">,
    Option<"l2", "l2", "int64_t", "1048576", "bytes of a core's second-level cache">,
    Option<"amx", "amx", "bool", "false",
      "whether the target multiplies tiles of BF16 (AMX)">];
}

def Tile : Pass<"block-tile", "::mlir::func::FuncOp"> {
  let summary = "make each kernel one forall over the blocks of its grid";
  let description = [{
    Tiles every `block.kernel` as its `#block.config` says: one outer
    `scf.forall` with the mapping `#gpu.block<x>`, `scf.for` loops inside, and
    sets `block.grid`, the number of blocks. What makes the values of a result
    is made in its tile, by the ops' own `TilingInterface`; then `geo` ops are
    decomposed to `linalg`.

    | kernel | blocks | innermost body |
    | --- | --- | --- |
    | owns rows | `rows` rows | one row |
    | elementwise, reads a matrix transposed | `rows` rows | a few columns of a row, rows before columns |
    | ends in tensors of rank 0, or in a mean row | one | all of it |

    Products of matrices are an error: `block-lower-products` has made loops of
    them. A block may read an argument that the kernel overwrites only where it
    writes it; anything else is an error too.

    ```mlir
    %r = scf.forall (%b) in (8) shared_outs(%o = %w) -> (tensor<8x40xf32>) {
      %row = tensor.extract_slice %o[%b, 0] [1, 40] [1, 1] : ...
      %g1 = tensor.extract_slice %g[%b, 0] [1, 40] [1, 1] : ...
      %w1 = linalg.generic ... ins(%g1) outs(%row) ...
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %w1 into %o[%b, 0] [1, 40] [1, 1] : ...
      }
    } {mapping = [#gpu.block<x>]}
    ```
  }];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::block::BlockDialect", "mlir::gpu::GPUDialect",
    "mlir::linalg::LinalgDialect", "mlir::math::MathDialect",
    "mlir::scf::SCFDialect", "mlir::tensor::TensorDialect"];
}

def Vectorize : Pass<"block-vectorize", "::mlir::func::FuncOp"> {
  let summary = "turn the linalg ops of a block into vector ops";
  let description = [{
    Replaces the `linalg` ops of every innermost body by vector code that is
    driven by what is written: a value is computed for `chunk` columns when a
    store or a sum needs them, and never becomes a tensor.

    * A row is walked over once for every sum that later values wait for, and
      once for all that is written. The last walk alone writes, so those before
      it see the old values. Sums that nothing waits for join it.
    * Columns that `chunk` does not divide are pieces of halving widths: no
      masks, no access out of bounds, on every target.
    * Sums along a row: one vector of accumulators, then halves onto halves, then
      the pieces. The order is in the IR and depends on `chunk` alone.
    * Nowhere is a multiplication fused with an addition that is not written so;
      fast-math flags are an error.

    Vectors are read and written on tensors (`vector.transfer_read`, in bounds),
    for `block-bufferize` to place.
  }];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::math::MathDialect", "mlir::scf::SCFDialect",
    "mlir::tensor::TensorDialect", "mlir::vector::VectorDialect"];
}

def Bufferize : Pass<"block-bufferize", "::mlir::ModuleOp"> {
  let summary = "bufferize kernels in place";
  let description = [{
    Afterwards every tensor is a view of an argument: no allocation, no copy.
    A kernel for which that is impossible is an error.
  }];
  let dependentDialects = [
    "mlir::bufferization::BufferizationDialect", "mlir::memref::MemRefDialect"];
}

def ChainKernels : Pass<"block-chain-kernels", "::mlir::ModuleOp"> {
  let summary = "run sums over groups of rows on what is still in the cache";
  let description = [{
    Two kernels that a step calls one after the other become one where block b
    of the second needs, of what the first writes, the rows of its block b
    alone: the first has the attribute `block.group`, and was given blocks of
    so many rows. In the loop over blocks, the body of the second follows that of
    the first; where both walk over rows chunk by chunk, each row is added to the
    sums in a walk of the first: in its own, or in the next row's if the first
    kernel makes what is added. A projection's momentum and its column sums are thus
    one pass over memory. What stays a kernel for other steps is kept. Needs bufferised
    kernels; GPUs, whose blocks share no cache that large, do without.

    ```mlir
    call @k0(%g, %b)      // attributes {block.group = 128 : i64}
    call @k1(%b, %sums)
    ```
    becomes
    ```mlir
    call @k0_chain(%g, %b, %sums)
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::scf::SCFDialect"];
  let statistics = [Statistic<"numChained", "num-chained", "Kernels made of two">];
}

def Verify : Pass<"block-verify", "::mlir::ModuleOp"> {
  let summary = "check what holds after the block level";
  let description = [{
    Every `block.kernel` has memref and scalar arguments and no result, one
    `#block.config`, exactly one `scf.forall` at its top level, no `geo` op, no
    tensor, no allocation on the heap and no copy of a memref to itself, and
    writes memory only inside of the `scf.forall`. Every
    `block.step` only takes views of its workspace and calls kernels.
  }];
}

#endif // STEEP_PASSES_BLOCK_PASSES_TD
