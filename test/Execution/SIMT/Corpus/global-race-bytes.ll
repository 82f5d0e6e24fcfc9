; All threads write one byte; in the twin, neighbouring bytes of the same words.
;
; report: race: this write
; launch: grid=1 block=64 buffer=64
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64
  %v = trunc i32 %tid to i8

;bug   %i = add i64 0, 3
;good   %i = add i64 %t, 0
  %p = getelementptr i8, ptr addrspace(1) %out, i64 %i
  store i8 %v, ptr addrspace(1) %p
  ret void
}
