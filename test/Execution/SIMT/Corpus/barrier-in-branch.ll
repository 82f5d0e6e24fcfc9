; Half of a warp meets at a barrier that the other half never reaches: it waits for its warp.
;
; report: no thread can go on
; launch: grid=1 block=32 buffer=128
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.bar.warp.sync(i32)

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

;bug   %in = icmp ult i32 %tid, 16
;good   %in = icmp ult i32 %tid, 32
  br i1 %in, label %then, label %join
then:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %join
join:
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  ret void
}
