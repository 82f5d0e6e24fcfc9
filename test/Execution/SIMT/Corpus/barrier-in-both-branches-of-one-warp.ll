; The lanes of one warp meet at two barriers; those of the last one to come do not.
;
; report: divergent barrier
; launch: grid=1 block=64 buffer=256
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

;bug   %in = icmp ult i32 %tid, 7
;good   %in = icmp ult i32 %tid, 32
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %t
  br i1 %in, label %then, label %else
then:
  store i32 1, ptr addrspace(1) %p
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %join
else:
  store i32 2, ptr addrspace(1) %p
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %join
join:
  ret void
}
