; A 64 x 8 product of BF16 over 16, c = a b': wgmma on tiles without swizzle,
; in the inline assembly that MLIR emits, after an mbarrier.
target triple = "nvptx64-nvidia-cuda"

@sa = internal addrspace(3) global [2048 x i8] undef, align 128
@sb = internal addrspace(3) global [256 x i8] undef, align 128
@ready = internal addrspace(3) global i64 undef, align 8

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.fence.proxy.async.shared_cta()
declare void @llvm.nvvm.wgmma.fence.sync.aligned()
declare void @llvm.nvvm.wgmma.commit_group.sync.aligned()
declare void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 immarg)

define ptx_kernel void @product(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) #0 {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %t, 0
  br i1 %first, label %init, label %copy
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @ready, i32 128)
  br label %copy
copy:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %row = lshr i32 %t, 1
  %half = and i32 %t, 1
  %block = lshr i32 %row, 3
  %line = and i32 %row, 7
  %x0 = shl i32 %block, 8
  %x1 = shl i32 %half, 7
  %x2 = shl i32 %line, 4
  %x3 = or i32 %x1, %x2
  %x4 = or i32 %x0, %x3
  %from = shl i32 %t, 4
  %ga = getelementptr i8, ptr addrspace(1) %a, i32 %from
  %ta = getelementptr i8, ptr addrspace(3) @sa, i32 %x4
  %va = load <4 x i32>, ptr addrspace(1) %ga, align 16
  store <4 x i32> %va, ptr addrspace(3) %ta, align 16
  %few = icmp ult i32 %t, 16
  br i1 %few, label %copyb, label %arrive
copyb:
  %gb = getelementptr i8, ptr addrspace(1) %b, i32 %from
  %tb = getelementptr i8, ptr addrspace(3) @sb, i32 %x3
  %vb = load <4 x i32>, ptr addrspace(1) %gb, align 16
  store <4 x i32> %vb, ptr addrspace(3) %tb, align 16
  br label %arrive
arrive:
  call void @llvm.nvvm.fence.proxy.async.shared_cta()
  %token = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @ready)
  call void asm sideeffect "{\0A\09.reg .pred       P1; \0A\09LAB_WAIT: \0A\09mbarrier.try_wait.parity.shared.b64 P1, [$0], $1, $2; \0A\09@P1 bra.uni DONE; \0A\09bra.uni     LAB_WAIT; \0A\09DONE: \0A\09}", "r,n,n"(ptr addrspace(3) @ready, i32 0, i32 10000000)
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  %ia = ptrtoint ptr addrspace(3) @sa to i64
  %ib = ptrtoint ptr addrspace(3) @sb to i64
  %ma = and i64 %ia, 262143
  %mb = and i64 %ib, 262143
  %sa4 = lshr i64 %ma, 4
  %sb4 = lshr i64 %mb, 4
  %da = or i64 %sa4, 68720001024
  %db = or i64 %sb4, 68720001024
  %d = call { float, float, float, float } asm sideeffect "{\0A.reg .pred p;\0Asetp.ne.b32 p, $10, 0;\0Awgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, $8, $9, p, $11,  $12, $13,  $14;\0A}\0A", "=f,=f,=f,=f,0,1,2,3,l,l,n,n,n,n,n"(float 0.0, float 0.0, float 0.0, float 0.0, i64 %da, i64 %db, i32 0, i32 1, i32 1, i32 0, i32 0)
  call void @llvm.nvvm.wgmma.commit_group.sync.aligned()
  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)
  %d0 = extractvalue { float, float, float, float } %d, 0
  %d1 = extractvalue { float, float, float, float } %d, 1
  %d2 = extractvalue { float, float, float, float } %d, 2
  %d3 = extractvalue { float, float, float, float } %d, 3
  %w = lshr i32 %t, 5
  %w16 = shl i32 %w, 4
  %lane = and i32 %t, 31
  %g = lshr i32 %lane, 2
  %r = or i32 %w16, %g
  %q = and i32 %lane, 3
  %q2 = shl i32 %q, 1
  %r8 = shl i32 %r, 3
  %at = or i32 %r8, %q2
  %below = add i32 %at, 64
  %p0 = getelementptr float, ptr addrspace(1) %c, i32 %at
  %p1 = getelementptr float, ptr addrspace(1) %c, i32 %below
  %u0 = insertelement <2 x float> poison, float %d0, i32 0
  %u = insertelement <2 x float> %u0, float %d1, i32 1
  %l0 = insertelement <2 x float> poison, float %d2, i32 0
  %l = insertelement <2 x float> %l0, float %d3, i32 1
  store <2 x float> %u, ptr addrspace(1) %p0, align 8
  store <2 x float> %l, ptr addrspace(1) %p1, align 8
  ret void
}

attributes #0 = { "nvvm.reqntid"="128,1,1" }
