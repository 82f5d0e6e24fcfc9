; The next stage is copied into a buffer that other threads still read.
;
; report: race: this
; launch: grid=1 block=64 buffer=512 buffer=256
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

  br label %loop
loop:
  %k = phi i64 [0, %0], [%k1, %loop]
  %sum = phi i32 [0, %0], [%v, %loop]
  %stage = mul i64 %k, 64
  %i = add i64 %stage, %t
  %f = getelementptr i32, ptr addrspace(1) %in, i64 %i
  %p = getelementptr i32, ptr addrspace(3) @s, i64 %t
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %p, ptr addrspace(1) %f)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %o = xor i64 %t, 63
  %q = getelementptr i32, ptr addrspace(3) @s, i64 %o
  %x = load i32, ptr addrspace(3) %q
;good   call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %v = add i32 %sum, %x
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, 2
  br i1 %more, label %loop, label %done
done:
  %r = getelementptr i32, ptr addrspace(1) %out, i64 %t
  store i32 %v, ptr addrspace(1) %r
  ret void
}
