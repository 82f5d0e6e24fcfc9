; A thread waits for a flag that nobody sets.
;
; report: has run out of its time
; launch: grid=1 block=32 buffer=128:zero
; timeout: 200
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

define ptx_kernel void @k(ptr addrspace(1) %flag) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

  %first = icmp eq i32 %tid, 0
;good   br i1 %first, label %set, label %spin
;bug   br i1 %first, label %end, label %spin
set:
  store atomic i32 1, ptr addrspace(1) %flag release, align 4
  br label %end
spin:
  %v = load atomic i32, ptr addrspace(1) %flag acquire, align 4
  %on = icmp eq i32 %v, 1
  br i1 %on, label %end, label %spin
end:
  ret void
}
