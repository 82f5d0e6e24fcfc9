; Warp 0 writes for warp 1, and meets warp 2 instead, after warp 1 has done so.
;
; report: race: this
; launch: grid=1 block=96 buffer=256
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
@s = internal addrspace(3) global [64 x i32] undef, align 16

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

  %p0 = icmp ult i32 %tid, 64
  br i1 %p0, label %clear, label %cleared
clear:
  %pc = getelementptr i32, ptr addrspace(3) @s, i64 %t
  store i32 0, ptr addrspace(3) %pc
  br label %cleared
cleared:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %warp = lshr i32 %tid, 5
  switch i32 %warp, label %two [ i32 0, label %zero
                                 i32 1, label %one ]
zero:
  %p = getelementptr i32, ptr addrspace(3) @s, i64 %t
  store i32 %tid, ptr addrspace(3) %p
;bug   call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)
;good   call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 2, i32 64)
  br label %end
one:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 2, i32 64)
  %o = sub i64 %t, 32
  %q = getelementptr i32, ptr addrspace(3) @s, i64 %o
  %v = load i32, ptr addrspace(3) %q
  %r = getelementptr i32, ptr addrspace(1) %out, i64 %o
  store i32 %v, ptr addrspace(1) %r
  br label %end
two:
;bug   call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 2, i32 64)
;bug   call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)
  br label %end
end:
  ret void
}
