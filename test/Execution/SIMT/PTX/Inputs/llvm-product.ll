; A 16 x 8 product of BF16 over 16, row-major: cp.async, ldmatrix, mma.sync.
target triple = "nvptx64-nvidia-cuda"

@sa = internal addrspace(3) global [512 x i8] undef, align 128
@sb = internal addrspace(3) global [256 x i8] undef, align 128

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))
declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3(ptr addrspace(3))
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32, i32, i32, i32, i32, i32, float, float, float, float)

define ptx_kernel void @product(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a.at = shl i32 %lane, 4
  %ga = getelementptr i8, ptr addrspace(1) %a, i32 %a.at
  %ta = getelementptr i8, ptr addrspace(3) @sa, i32 %a.at
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %ta, ptr addrspace(1) %ga)
  %b.at = shl i32 %lane, 3
  %gb = getelementptr i8, ptr addrspace(1) %b, i32 %b.at
  %tb = getelementptr i8, ptr addrspace(3) @sb, i32 %b.at
  call void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3) %tb, ptr addrspace(1) %gb)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %row = and i32 %lane, 15
  %row.at = shl i32 %row, 5
  %half = lshr i32 %lane, 4
  %half.at = shl i32 %half, 4
  %line = or i32 %row.at, %half.at
  %pa = getelementptr i8, ptr addrspace(3) @sa, i32 %line
  %fa = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %pa)
  %k.at = shl i32 %row, 4
  %pb = getelementptr i8, ptr addrspace(3) @sb, i32 %k.at
  %fb = call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3(ptr addrspace(3) %pb)
  %a0 = extractvalue { i32, i32, i32, i32 } %fa, 0
  %a1 = extractvalue { i32, i32, i32, i32 } %fa, 1
  %a2 = extractvalue { i32, i32, i32, i32 } %fa, 2
  %a3 = extractvalue { i32, i32, i32, i32 } %fa, 3
  %b0 = extractvalue { i32, i32 } %fb, 0
  %b1 = extractvalue { i32, i32 } %fb, 1
  %d = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, float 0.0, float 0.0, float 0.0, float 0.0)
  %d0 = extractvalue { float, float, float, float } %d, 0
  %d1 = extractvalue { float, float, float, float } %d, 1
  %d2 = extractvalue { float, float, float, float } %d, 2
  %d3 = extractvalue { float, float, float, float } %d, 3
  %group = lshr i32 %lane, 2
  %pair = and i32 %lane, 3
  %c.row = shl i32 %group, 3
  %c.column = shl i32 %pair, 1
  %c.at = or i32 %c.row, %c.column
  %below = add i32 %c.at, 64
  %p0 = getelementptr float, ptr addrspace(1) %c, i32 %c.at
  %p1 = getelementptr float, ptr addrspace(1) %c, i32 %below
  %u0 = insertelement <2 x float> poison, float %d0, i32 0
  %u = insertelement <2 x float> %u0, float %d1, i32 1
  %l0 = insertelement <2 x float> poison, float %d2, i32 0
  %l = insertelement <2 x float> %l0, float %d3, i32 1
  store <2 x float> %u, ptr addrspace(1) %p0, align 8
  store <2 x float> %l, ptr addrspace(1) %p1, align 8
  ret void
}
