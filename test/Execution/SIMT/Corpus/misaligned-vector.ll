; A vector of four floats is read at an address that is only aligned to four bytes.
;
; report: misaligned read
; launch: grid=1 block=32 buffer=1024 buffer=512
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

;bug   %o = mul i64 %t, 20
;good   %o = mul i64 %t, 16
  %p = getelementptr i8, ptr addrspace(1) %in, i64 %o
  %v = load <4 x float>, ptr addrspace(1) %p, align 16
  %q = getelementptr <4 x float>, ptr addrspace(1) %out, i64 %t
  store <4 x float> %v, ptr addrspace(1) %q, align 16
  ret void
}
