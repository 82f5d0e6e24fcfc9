; Neighbouring elements of two bytes are written by different blocks; then one of them twice.
;
; report: race: this
; launch: grid=2 block=32 buffer=256
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %b = zext i32 %cta to i64

  %even = mul i64 %t, 2
;bug   %i = add i64 %even, 0
;good   %i = add i64 %even, %b
  %p = getelementptr i16, ptr addrspace(1) %out, i64 %i
  %v = trunc i32 %cta to i16
  store i16 %v, ptr addrspace(1) %p
  ret void
}
