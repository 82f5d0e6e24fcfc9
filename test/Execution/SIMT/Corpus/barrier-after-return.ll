; Threads without a row return before a barrier that counts them. One of all
; threads waits for those that are left, also where half a warp has returned.
;
; report: no thread can go on
; launch: grid=1 block=64 buffer=256
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

  %p = getelementptr i32, ptr addrspace(1) %out, i64 %t
  %r = sub i64 49, %t
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %r
  %out.of.range = icmp uge i32 %tid, 50
  br i1 %out.of.range, label %end, label %work
work:
  store i32 %tid, ptr addrspace(1) %p
;bug   call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 0, i32 64)
;good   call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %v = load i32, ptr addrspace(1) %q
;good   call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i32 %v, ptr addrspace(1) %p
  br label %end
end:
  ret void
}
