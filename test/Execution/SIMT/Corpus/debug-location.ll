; Reports name the line of the program that the debug information gives.
;
; report: rows.mlir:39: global memory out of bounds
; launch: grid=1 block=64 buffer=128
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @k(ptr addrspace(1) %out) !dbg !4 {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !6
;bug   %i = add i32 %tid, 0, !dbg !6
;good   %i = and i32 %tid, 31, !dbg !6
  %t = zext i32 %i to i64, !dbg !6
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %t, !dbg !6
  %v = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic, !dbg !7
  ret void, !dbg !7
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "MLIR", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "rows.mlir", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !5)
!4 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 30, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!5 = !{}
!6 = !DILocation(line: 38, column: 5, scope: !4)
!7 = !DILocation(line: 39, column: 5, scope: !4)
