; A shuffle of all lanes is executed by half of them.
;
; report: no thread can go on|names threads that have returned or do not exist
; launch: grid=1 block=32 buffer=128
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

;bug   %in = icmp ult i32 %tid, 16
;good   %in = icmp ult i32 %tid, 32
  br i1 %in, label %then, label %join
then:
  %s = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %tid, i32 1, i32 31)
  br label %join
join:
  ret void
}
