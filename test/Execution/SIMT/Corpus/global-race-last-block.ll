; The last block sums what all have written; without a fence before the counter it
; need not see it.
;
; report: race: this read
; launch: grid=4 block=32 buffer=16 buffer=16 buffer=16:zero
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.membar.gl()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
@last = internal addrspace(3) global i32 undef, align 4

define ptx_kernel void @k(ptr addrspace(1) %part, ptr addrspace(1) %out, ptr addrspace(1) %counter) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %b = zext i32 %cta to i64

  %first = icmp eq i32 %tid, 0
  br i1 %first, label %one, label %join
one:
  %p = getelementptr i32, ptr addrspace(1) %part, i64 %b
  store i32 %cta, ptr addrspace(1) %p
;good   call void @llvm.nvvm.membar.gl()
  %n = atomicrmw add ptr addrspace(1) %counter, i32 1 monotonic
  store i32 %n, ptr addrspace(3) @last
  br label %join
join:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %m = load i32, ptr addrspace(3) @last
  %is = icmp eq i32 %m, 3
  %few = icmp ult i32 %tid, 4
  %sums = and i1 %is, %few
  br i1 %sums, label %sum, label %end
sum:
  %q = getelementptr i32, ptr addrspace(1) %part, i64 %t
  %v = load i32, ptr addrspace(1) %q
  %r = getelementptr i32, ptr addrspace(1) %out, i64 %t
  store i32 %v, ptr addrspace(1) %r
  br label %end
end:
  ret void
}
