; The guard of the last thread is off by one.
;
; report: global memory out of bounds: write of 4 bytes at offset 256
; launch: grid=1 block=96 buffer=256
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

;bug   %in = icmp ule i32 %tid, 64
;good   %in = icmp ult i32 %tid, 64
  br i1 %in, label %then, label %join
then:
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %t
  store i32 %tid, ptr addrspace(1) %p
  br label %join
join:
  ret void
}
