; Two warps name different counts for one barrier.
;
; report: expects 64 threads, and this one says 96|expects 96 threads, and this one says 64
; launch: grid=1 block=96 buffer=128
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

  %warp = lshr i32 %tid, 5
  %zero = icmp eq i32 %warp, 0
;bug   %count = select i1 %zero, i32 64, i32 96
;good   %count = select i1 %zero, i32 96, i32 96
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 %count)
  ret void
}
