; Each thread waits for its own copies, and reads those of others.
;
; report: race: this
; launch: grid=1 block=64 buffer=256 buffer=256
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
@s = internal addrspace(3) global [64 x i32] undef, align 16

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64
  %p0 = getelementptr i32, ptr addrspace(3) @s, i64 %t
  store i32 0, ptr addrspace(3) %p0
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %f = getelementptr i32, ptr addrspace(1) %in, i64 %t
  %p = getelementptr i32, ptr addrspace(3) @s, i64 %t
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %p, ptr addrspace(1) %f)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
;good   call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %o = xor i64 %t, 63
  %q = getelementptr i32, ptr addrspace(3) @s, i64 %o
  %v = load i32, ptr addrspace(3) %q
  %r = getelementptr i32, ptr addrspace(1) %out, i64 %t
  store i32 %v, ptr addrspace(1) %r
  ret void
}
