; A shuffle brings values to other lanes and says nothing about memory.
;
; report: race: this
; launch: grid=1 block=32 buffer=256
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
@s = internal addrspace(3) global [64 x i32] undef, align 16

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

  %p = getelementptr i32, ptr addrspace(3) @s, i64 %t
  store i32 0, ptr addrspace(3) %p
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i32 %tid, ptr addrspace(3) %p
  %s = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %tid, i32 1, i32 31)
;good   call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %o = xor i64 %t, 31
  %q = getelementptr i32, ptr addrspace(3) @s, i64 %o
  %v = load i32, ptr addrspace(3) %q
  %w = add i32 %v, %s
  %r = getelementptr i32, ptr addrspace(1) %out, i64 %t
  store i32 %w, ptr addrspace(1) %r
  ret void
}
