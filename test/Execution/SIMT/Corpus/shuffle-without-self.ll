; A lane is not in its own mask.
;
; report: is not in its own member mask
; launch: grid=1 block=32 buffer=128
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

;bug   %s = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -2, i32 %tid, i32 0, i32 31)
;good   %s = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %tid, i32 0, i32 31)
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %t
  store i32 %s, ptr addrspace(1) %p
  ret void
}
