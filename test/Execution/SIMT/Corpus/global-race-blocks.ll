; Two blocks add to the same element without an atomic.
;
; report: race: this
; launch: grid=2 block=32 buffer=128
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

  %p = getelementptr i32, ptr addrspace(1) %out, i64 %t
;bug   %v = load i32, ptr addrspace(1) %p
;bug   %w = add i32 %v, %tid
;bug   store i32 %w, ptr addrspace(1) %p
;good   %v = atomicrmw add ptr addrspace(1) %p, i32 %tid monotonic
  ret void
}
