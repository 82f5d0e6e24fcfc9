; The address is inside of another buffer, not of the one it was made from.
;
; report: global memory out of bounds: write
; launch: grid=1 block=32 buffer=128 buffer=128
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

  %ia = ptrtoint ptr addrspace(1) %a to i64
  %ib = ptrtoint ptr addrspace(1) %b to i64
  %distance = sub i64 %ib, %ia
;bug   %there = getelementptr i8, ptr addrspace(1) %a, i64 %distance
;good   %there = getelementptr i8, ptr addrspace(1) %b, i64 0
  %p = getelementptr i32, ptr addrspace(1) %there, i64 %t
  store i32 %tid, ptr addrspace(1) %p
  ret void
}
