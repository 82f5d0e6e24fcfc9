; A tile is filled anew before the product that reads it has been waited for.
;
; report: which the tensor core may still read
; launch: grid=1 block=128 buffer=512
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.fence.proxy.async.shared_cta()
declare void @llvm.nvvm.wgmma.fence.sync.aligned()
declare void @llvm.nvvm.wgmma.commit_group.sync.aligned()
declare void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64)
@a = internal addrspace(3) global [2048 x i8] undef, align 1024
@b = internal addrspace(3) global [1024 x i8] undef, align 1024

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

  %oa = mul i64 %t, 16
  %pa = getelementptr i8, ptr addrspace(3) @a, i64 %oa
  store <8 x bfloat> splat (bfloat 1.0), ptr addrspace(3) %pa, align 16
  %ob = mul i64 %t, 8
  %pb = getelementptr i8, ptr addrspace(3) @b, i64 %ob
  store <4 x bfloat> splat (bfloat 1.0), ptr addrspace(3) %pb, align 8
  call void @llvm.nvvm.fence.proxy.async.shared_cta()
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  ; Core matrices of 128 bytes, one after the other: 1024 or 512 bytes to the
  ; next in k, 128 to the next in m or n.
  %ia = ptrtoint ptr addrspace(3) @a to i64
  %ma = and i64 %ia, 262143
  %sa = lshr i64 %ma, 4
  %da = or i64 %sa, 34363932672
  %ib = ptrtoint ptr addrspace(3) @b to i64
  %mb = and i64 %ib, 262143
  %sb = lshr i64 %mb, 4
  %db = or i64 %sb, 34361835520
  %d = call { float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float } asm sideeffect "{\0A.reg .pred p;\0Asetp.ne.b32 p, $34, 0;\0Awgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {$0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15}, $32, $33, p, $35,  $36, $37,  $38;\0A}\0A", "=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,l,l,n,n,n,n,n"(float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, i64 %da, i64 %db, i32 0, i32 1, i32 1, i32 0, i32 0)
  call void @llvm.nvvm.wgmma.commit_group.sync.aligned()
;good   call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)
;bug   call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 1)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store <8 x bfloat> splat (bfloat 2.0), ptr addrspace(3) %pa, align 16
;bug   call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)
  %v = extractvalue { float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float } %d, 0
  %r = getelementptr float, ptr addrspace(1) %out, i64 %t
  store float %v, ptr addrspace(1) %r
  ret void
}
