; A byte is read of the word that the next thread writes; in the twin, of the thread's own.
;
; report: race: this
; launch: grid=1 block=64 buffer=260
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = zext i32 %tid to i64

  %p = getelementptr i32, ptr addrspace(1) %out, i64 %t
  store i32 %tid, ptr addrspace(1) %p
;bug   %q = getelementptr i8, ptr addrspace(1) %p, i64 5
;good   %q = getelementptr i8, ptr addrspace(1) %p, i64 1
  %b = load i8, ptr addrspace(1) %q
  %w = zext i8 %b to i32
  %s = add i32 %w, 1
  store i32 %s, ptr addrspace(1) %p
  ret void
}
