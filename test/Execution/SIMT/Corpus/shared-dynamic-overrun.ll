; More dynamic shared memory is used than the launch gives.
;
; report: shared memory out of bounds: write of 4 bytes at offset
; launch: grid=1 block=64 shared=256 buffer=256
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
@dynamic = external addrspace(3) global [0 x i32], align 16

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

;bug   %i = add i64 %t, 16
;good   %i = add i64 %t, 0
  %p = getelementptr i32, ptr addrspace(3) @dynamic, i64 %i
  store i32 %tid, ptr addrspace(3) %p
  %v = load i32, ptr addrspace(3) %p
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %t
  store i32 %v, ptr addrspace(1) %q
  ret void
}
