; A tile is handed over by an mbarrier, for which the readers do not wait.
;
; report: race: this
; launch: grid=1 block=64 buffer=256
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64)
@s = internal addrspace(3) global [64 x i32] undef, align 16
@bar = internal addrspace(3) global i64 undef, align 8

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %init, label %ready
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @bar, i32 64)
  br label %ready
ready:
  %p = getelementptr i32, ptr addrspace(3) @s, i64 %t
  store i32 0, ptr addrspace(3) %p
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)

  store i32 %tid, ptr addrspace(3) %p
  %token = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @bar)
;good   br label %loop
;good loop:
;good   %done = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @bar, i64 %token)
;good   br i1 %done, label %after, label %loop
;good after:
  %o = xor i64 %t, 63
  %q = getelementptr i32, ptr addrspace(3) @s, i64 %o
  %v = load i32, ptr addrspace(3) %q
  %r = getelementptr i32, ptr addrspace(1) %out, i64 %t
  store i32 %v, ptr addrspace(1) %r
  ret void
}
