; A buffer is written again while others may still read it: the second barrier of a loop is missing.
;
; report: race: this
; launch: grid=1 block=64 buffer=256
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
@s = internal addrspace(3) global [64 x i32] undef, align 16

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

  br label %loop
loop:
  %k = phi i32 [0, %0], [%k1, %loop]
  %sum = phi i32 [0, %0], [%sum1, %loop]
  %p = getelementptr i32, ptr addrspace(3) @s, i64 %t
  %x = add i32 %tid, %k
  store i32 %x, ptr addrspace(3) %p
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %o = xor i64 %t, 63
  %q = getelementptr i32, ptr addrspace(3) @s, i64 %o
  %v = load i32, ptr addrspace(3) %q
;good   call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %sum1 = add i32 %sum, %v
  %k1 = add i32 %k, 1
  %more = icmp ult i32 %k1, 3
  br i1 %more, label %loop, label %done
done:
  %r = getelementptr i32, ptr addrspace(1) %out, i64 %t
  store i32 %sum1, ptr addrspace(1) %r
  ret void
}
