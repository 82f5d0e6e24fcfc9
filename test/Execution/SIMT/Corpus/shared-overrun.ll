; The last threads write behind their variable, into the next one.
;
; report: shared memory out of bounds: write of 4 bytes at offset
; launch: grid=1 block=64 buffer=128
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
@first = internal addrspace(3) global [32 x i32] undef, align 16
@second = internal addrspace(3) global [32 x i32] undef, align 16

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

;bug   %i = add i64 %t, 0
;good   %i = and i64 %t, 31
  %low = icmp ult i32 %tid, 32
;good   br i1 %low, label %then, label %join
;bug   br label %then
then:
  %p = getelementptr i32, ptr addrspace(3) @first, i64 %i
  store i32 %tid, ptr addrspace(3) %p
  %v = load i32, ptr addrspace(3) %p
  %j = and i64 %t, 31
  %q = getelementptr i32, ptr addrspace(3) @second, i64 %j
  store i32 %v, ptr addrspace(3) %q
  br label %join
join:
  ret void
}
