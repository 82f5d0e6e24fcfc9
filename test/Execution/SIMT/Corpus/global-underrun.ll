; The first thread reads its left neighbour.
;
; report: global memory out of bounds: read of 4 bytes at offset -4
; launch: grid=1 block=32 buffer=128 buffer=128
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

  %left = sub i64 %t, 1
;bug   %i = add i64 %left, 0
;good   %i = call i64 @llvm.smax.i64(i64 %left, i64 0)
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %i
  %v = load i32, ptr addrspace(1) %p
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %t
  store i32 %v, ptr addrspace(1) %q
  ret void
}
