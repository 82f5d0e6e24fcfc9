; Threads without a row return before a barrier of all threads.
;
; report: no thread can go on
; launch: grid=1 block=64 buffer=128
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

;bug   %out.of.range = icmp uge i32 %tid, 32
;good   %out.of.range = icmp uge i32 %tid, 64
  br i1 %out.of.range, label %end, label %work
work:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %end
end:
  ret void
}
