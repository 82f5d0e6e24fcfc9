; An asynchronous copy of 16 bytes from an address aligned to eight.
;
; report: misaligned asynchronous copy of 16 bytes
; launch: grid=1 block=32 buffer=1024
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
@s = internal addrspace(3) global [512 x i8] undef, align 16

define ptx_kernel void @k(ptr addrspace(1) %in) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

;bug   %o = mul i64 %t, 24
;good   %o = mul i64 %t, 16
  %p = getelementptr i8, ptr addrspace(1) %in, i64 %o
  %i = mul i64 %t, 16
  %q = getelementptr i8, ptr addrspace(3) @s, i64 %i
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %q, ptr addrspace(1) %p)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  ret void
}
