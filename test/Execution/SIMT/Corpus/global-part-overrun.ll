; A workspace holds two matrices of 128 bytes, 256 apart; block 1 gets the second.
; The store leaves its matrix and stays inside of the allocation.
;
; report: global memory out of bounds: write of 4 bytes at offset 128 of 'ws' (128 bytes)
; launch: grid=2 block=32 buffer=512
; argument: i64 256
; declare: ws argument=0 bytes=128 stride=256 count=2
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

define ptx_kernel void @k(ptr addrspace(1) %ws, i64 %stride) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %b = zext i32 %cta to i64

  %offset = mul i64 %b, %stride
  %matrix = getelementptr i8, ptr addrspace(1) %ws, i64 %offset
;bug   %i = add i64 %t, 1
;good   %i = add i64 %t, 0
  %p = getelementptr i32, ptr addrspace(1) %matrix, i64 %i
  store i32 %tid, ptr addrspace(1) %p
  ret void
}
