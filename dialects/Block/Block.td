//===- Block.td - how a kernel is executed -----------------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_BLOCK_BLOCK_TD
#define STEEP_DIALECTS_BLOCK_BLOCK_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td" // the documentation generator wants it

def Block_Dialect : Dialect {
  let name = "block";
  let cppNamespace = "::mlir::block";
  let summary = "Decisions on how a kernel is executed, as attributes";
  let description = [{
    A kernel is a block program: a function on memrefs whose body is one
    `scf.forall` over the blocks of a grid, with `linalg` or `vector` code
    inside. The dialect has no ops; it says, in attributes on such functions,
    what was decided about them.

    | attribute | on | set by | says |
    | --- | --- | --- | --- |
    | `block.kernel` (unit) | function | `block-form-kernels` | the function is one kernel |
    | `block.step` (unit) | function | `block-form-kernels` | the function lists the kernels of one update |
    | `block.config` (`#block.config`) | kernel | `block-select-config` | how the kernel is executed |
    | `block.group` (`i64`) | kernel | `block-form-kernels` | the kernel called after it takes its rows in groups of so many, and of what it writes a block needs its own group alone |
    | `block.grid` (`i64`) | kernel | `block-tile`, `block-to-gpu` | how many blocks there are |
    | `block.table`, `block.single` (unit) | kernel | `block-to-gpu` | external pointers are tables; there is one matrix |
    | `block.shared` (`i64`) | kernel | `block-lower-matmul` | bytes of dynamic shared memory |
    | `block.slot` (string) | argument of a kernel | `block-to-gpu` | what it points to on a GPU |
    | `block.host` (string) | function without a body | `block-form-kernels` | the host's function of this name is the kernel, one block; the op it computes is in `block.op` |
  }];
  let extraClassDeclaration = [{
    /// Names of the function attributes that the passes of this level share.
    static constexpr ::llvm::StringLiteral kernelAttrName = "block.kernel";
    static constexpr ::llvm::StringLiteral stepAttrName = "block.step";
    static constexpr ::llvm::StringLiteral configAttrName = "block.config";
    static constexpr ::llvm::StringLiteral gridAttrName = "block.grid";
    static constexpr ::llvm::StringLiteral groupAttrName = "block.group";
    static constexpr ::llvm::StringLiteral hostAttrName = "block.host";
    static constexpr ::llvm::StringLiteral opAttrName = "block.op";
    static constexpr ::llvm::StringLiteral tableAttrName = "block.table";
    static constexpr ::llvm::StringLiteral singleAttrName = "block.single";
    static constexpr ::llvm::StringLiteral slotAttrName = "block.slot";
    static constexpr ::llvm::StringLiteral sharedAttrName = "block.shared";
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

def Block_Dot : I32EnumAttr<"Dot", "precision of a matrix product", [
    I32EnumAttrCase<"ieee", 0>, I32EnumAttrCase<"tf32x3", 1>,
    I32EnumAttrCase<"bf16", 2>]> {
  let cppNamespace = "::mlir::block";
  let genSpecializedAttr = 0;
}

def Block_ConfigAttr : AttrDef<Block_Dialect, "Config"> {
  let mnemonic = "config";
  let summary = "how one kernel is executed";
  let description = [{
    Every decision about a kernel, as text. A pass chooses it, later passes
    only read it. A key that is absent leaves its matter open or does not
    concern the kernel; a kernel is either cut into `rows` or into a `tile`.

    * `rows`: rows of a block, of a kernel whose blocks own whole rows.
    * `chunk`: columns that one iteration of a loop over a row handles.
    * `tile`: `[m, n]`, the result tile of a block, or `[m, n, k]` with the
      depth that one iteration of the loop over k handles.
    * `micro`: `[m, n]`, the part of a tile that stays in registers on a CPU.
    * `amx`: `[m, n, k]`, what one instruction of a CPU's matrix unit (AMX) adds
      k terms to: m x n sums. `micro` is made of such parts. Absent: vectors.
    * `lanes`: 32-bit floats of a native vector that the kernel is cut for.
    * `warps`, `stages`, `maxnreg`: warps of a block, stages of the copy
      pipeline, registers of a thread (GPUs).
    * `dot`: how precise products of floats have to be: `ieee` (one fused
      multiply-add in binary32), `tf32x3` (three TF32 products), `bf16` (operands
      rounded). It is the user's bound; a target may do better.

    Example:
    ```mlir
    #block.config<rows = 4, chunk = 32, lanes = 16>
    #block.config<tile = [64, 512], micro = [32, 32], amx = [16, 16, 32], lanes = 16, dot = bf16>
    #block.config<tile = [128, 128, 32], warps = 4, stages = 3, dot = tf32x3>
    ```
  }];
  let parameters = (ins
    OptionalParameter<"int64_t">:$rows,
    OptionalParameter<"int64_t">:$chunk,
    OptionalArrayRefParameter<"int64_t">:$tile,
    OptionalArrayRefParameter<"int64_t">:$micro,
    OptionalArrayRefParameter<"int64_t">:$amx,
    OptionalParameter<"int64_t">:$lanes,
    OptionalParameter<"int64_t">:$warps,
    OptionalParameter<"int64_t">:$stages,
    OptionalParameter<"int64_t">:$maxnreg,
    DefaultValuedParameter<"::mlir::block::Dot", "::mlir::block::Dot::ieee">:$dot);
  let assemblyFormat = [{
    `<` struct($rows, $chunk, custom<Sizes>($tile), custom<Sizes>($micro),
               custom<Sizes>($amx), $lanes, $warps, $stages, $maxnreg, $dot) `>`
  }];
  let genVerifyDecl = 1;
}

#endif // STEEP_DIALECTS_BLOCK_BLOCK_TD
