; The last row of a tile is never written and yet read.
;
; report: which the block has not written
; launch: grid=1 block=64 buffer=256
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
@s = internal addrspace(3) global [64 x i32] undef, align 16

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

;bug   %in = icmp ult i32 %tid, 63
;good   %in = icmp ult i32 %tid, 64
  br i1 %in, label %write, label %join
write:
  %p = getelementptr i32, ptr addrspace(3) @s, i64 %t
  store i32 %tid, ptr addrspace(3) %p
  br label %join
join:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %o = xor i64 %t, 63
  %q = getelementptr i32, ptr addrspace(3) @s, i64 %o
  %v = load i32, ptr addrspace(3) %q
  %r = getelementptr i32, ptr addrspace(1) %out, i64 %t
  store i32 %v, ptr addrspace(1) %r
  ret void
}
