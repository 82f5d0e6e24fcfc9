
define ptx_kernel void @half(ptr %0, ptr %1, ptr %2) {
  %4 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %5 = sext i32 %4 to i64
  %6 = icmp slt i64 %5, 0
  %7 = sub i64 -1, %5
  %8 = select i1 %6, i64 %7, i64 %5
  %9 = sdiv i64 %8, 4
  %10 = sub i64 -1, %9
  %11 = select i1 %6, i64 %10, i64 %9
  %12 = mul nsw i64 %5, 2
  %13 = mul nsw i64 %11, -8
  %14 = add i64 %12, %13
  %15 = mul nuw nsw i64 %11, 16
  %16 = add nuw nsw i64 %15, %14
  %17 = getelementptr inbounds nuw half, ptr %0, i64 %16
  %18 = load half, ptr %17, align 2
  %19 = add i64 %14, 1
  %20 = add nuw nsw i64 %15, %19
  %21 = getelementptr inbounds nuw half, ptr %0, i64 %20
  %22 = load half, ptr %21, align 2
  %23 = add i64 %11, 8
  %24 = mul nuw nsw i64 %23, 16
  %25 = add nuw nsw i64 %24, %14
  %26 = getelementptr inbounds nuw half, ptr %0, i64 %25
  %27 = load half, ptr %26, align 2
  %28 = add nuw nsw i64 %24, %19
  %29 = getelementptr inbounds nuw half, ptr %0, i64 %28
  %30 = load half, ptr %29, align 2
  %31 = add i64 %14, 8
  %32 = add nuw nsw i64 %15, %31
  %33 = getelementptr inbounds nuw half, ptr %0, i64 %32
  %34 = load half, ptr %33, align 2
  %35 = add i64 %14, 9
  %36 = add nuw nsw i64 %15, %35
  %37 = getelementptr inbounds nuw half, ptr %0, i64 %36
  %38 = load half, ptr %37, align 2
  %39 = add nuw nsw i64 %24, %31
  %40 = getelementptr inbounds nuw half, ptr %0, i64 %39
  %41 = load half, ptr %40, align 2
  %42 = add nuw nsw i64 %24, %35
  %43 = getelementptr inbounds nuw half, ptr %0, i64 %42
  %44 = load half, ptr %43, align 2
  %45 = insertelement <2 x half> poison, half %18, i32 0
  %46 = shufflevector <2 x half> %45, <2 x half> %45, <2 x i32> zeroinitializer
  %47 = insertelement <2 x half> %46, half %18, i64 0
  %48 = insertelement <2 x half> %47, half %22, i64 1
  %49 = insertelement <2 x half> %46, half %27, i64 0
  %50 = insertelement <2 x half> %49, half %30, i64 1
  %51 = insertelement <2 x half> %46, half %34, i64 0
  %52 = insertelement <2 x half> %51, half %38, i64 1
  %53 = insertelement <2 x half> %46, half %41, i64 0
  %54 = insertelement <2 x half> %53, half %44, i64 1
  %55 = mul nuw nsw i64 %14, 8
  %56 = add nuw nsw i64 %55, %11
  %57 = getelementptr inbounds nuw half, ptr %1, i64 %56
  %58 = load half, ptr %57, align 2
  %59 = mul nuw nsw i64 %19, 8
  %60 = add nuw nsw i64 %59, %11
  %61 = getelementptr inbounds nuw half, ptr %1, i64 %60
  %62 = load half, ptr %61, align 2
  %63 = mul nuw nsw i64 %31, 8
  %64 = add nuw nsw i64 %63, %11
  %65 = getelementptr inbounds nuw half, ptr %1, i64 %64
  %66 = load half, ptr %65, align 2
  %67 = mul nuw nsw i64 %35, 8
  %68 = add nuw nsw i64 %67, %11
  %69 = getelementptr inbounds nuw half, ptr %1, i64 %68
  %70 = load half, ptr %69, align 2
  %71 = insertelement <2 x half> poison, half %58, i32 0
  %72 = shufflevector <2 x half> %71, <2 x half> %71, <2 x i32> zeroinitializer
  %73 = insertelement <2 x half> %72, half %58, i64 0
  %74 = insertelement <2 x half> %73, half %62, i64 1
  %75 = insertelement <2 x half> %72, half %66, i64 0
  %76 = insertelement <2 x half> %75, half %70, i64 1
  %77 = mul nuw nsw i64 %11, 8
  %78 = add nuw nsw i64 %77, %14
  %79 = getelementptr inbounds nuw half, ptr %2, i64 %78
  %80 = load half, ptr %79, align 2
  %81 = add nuw nsw i64 %77, %19
  %82 = getelementptr inbounds nuw half, ptr %2, i64 %81
  %83 = load half, ptr %82, align 2
  %84 = mul nuw nsw i64 %23, 8
  %85 = add nuw nsw i64 %84, %14
  %86 = getelementptr inbounds nuw half, ptr %2, i64 %85
  %87 = load half, ptr %86, align 2
  %88 = add nuw nsw i64 %84, %19
  %89 = getelementptr inbounds nuw half, ptr %2, i64 %88
  %90 = load half, ptr %89, align 2
  %91 = insertelement <2 x half> poison, half %80, i32 0
  %92 = shufflevector <2 x half> %91, <2 x half> %91, <2 x i32> zeroinitializer
  %93 = insertelement <2 x half> %92, half %80, i64 0
  %94 = insertelement <2 x half> %93, half %83, i64 1
  %95 = insertelement <2 x half> %92, half %87, i64 0
  %96 = insertelement <2 x half> %95, half %90, i64 1
  %97 = call { <2 x half>, <2 x half> } @llvm.nvvm.mma.m16n8k16.row.col.f16.f16(<2 x half> %48, <2 x half> %50, <2 x half> %52, <2 x half> %54, <2 x half> %74, <2 x half> %76, <2 x half> %94, <2 x half> %96)
  %98 = extractvalue { <2 x half>, <2 x half> } %97, 0
  %99 = extractvalue { <2 x half>, <2 x half> } %97, 1
  %100 = extractelement <2 x half> %98, i64 0
  %101 = extractelement <2 x half> %98, i64 1
  %102 = extractelement <2 x half> %99, i64 0
  %103 = extractelement <2 x half> %99, i64 1
  store half %100, ptr %79, align 2
  store half %101, ptr %82, align 2
  store half %102, ptr %86, align 2
  store half %103, ptr %89, align 2
  ret void
}

define ptx_kernel void @tensor(ptr %0, ptr %1, ptr %2) {
  %4 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %5 = sext i32 %4 to i64
  %6 = icmp slt i64 %5, 0
  %7 = sub i64 -1, %5
  %8 = select i1 %6, i64 %7, i64 %5
  %9 = sdiv i64 %8, 4
  %10 = sub i64 -1, %9
  %11 = select i1 %6, i64 %10, i64 %9
  %12 = srem i64 %5, 4
  %13 = icmp slt i64 %12, 0
  %14 = add i64 %12, 4
  %15 = select i1 %13, i64 %14, i64 %12
  %16 = mul nuw nsw i64 %11, 4
  %17 = add nuw nsw i64 %16, %15
  %18 = getelementptr inbounds nuw float, ptr %0, i64 %17
  %19 = load float, ptr %18, align 4
  %20 = add i64 %11, 8
  %21 = mul nuw nsw i64 %20, 4
  %22 = add nuw nsw i64 %21, %15
  %23 = getelementptr inbounds nuw float, ptr %0, i64 %22
  %24 = load float, ptr %23, align 4
  %25 = insertelement <1 x float> poison, float %19, i32 0
  %26 = insertelement <1 x float> %25, float %19, i64 0
  %27 = insertelement <1 x float> %25, float %24, i64 0
  %28 = mul nuw nsw i64 %15, 8
  %29 = add nuw nsw i64 %28, %11
  %30 = getelementptr inbounds nuw float, ptr %1, i64 %29
  %31 = load float, ptr %30, align 4
  %32 = insertelement <1 x float> poison, float %31, i32 0
  %33 = insertelement <1 x float> %32, float %31, i64 0
  %34 = mul nsw i64 %5, 2
  %35 = mul nsw i64 %11, -8
  %36 = add i64 %34, %35
  %37 = mul nuw nsw i64 %11, 8
  %38 = add nuw nsw i64 %37, %36
  %39 = getelementptr inbounds nuw float, ptr %2, i64 %38
  %40 = load float, ptr %39, align 4
  %41 = add i64 %36, 1
  %42 = add nuw nsw i64 %37, %41
  %43 = getelementptr inbounds nuw float, ptr %2, i64 %42
  %44 = load float, ptr %43, align 4
  %45 = mul nuw nsw i64 %20, 8
  %46 = add nuw nsw i64 %45, %36
  %47 = getelementptr inbounds nuw float, ptr %2, i64 %46
  %48 = load float, ptr %47, align 4
  %49 = add nuw nsw i64 %45, %41
  %50 = getelementptr inbounds nuw float, ptr %2, i64 %49
  %51 = load float, ptr %50, align 4
  %52 = insertelement <2 x float> poison, float %40, i32 0
  %53 = shufflevector <2 x float> %52, <2 x float> %52, <2 x i32> zeroinitializer
  %54 = insertelement <2 x float> %53, float %40, i64 0
  %55 = insertelement <2 x float> %54, float %44, i64 1
  %56 = insertelement <2 x float> %53, float %48, i64 0
  %57 = insertelement <2 x float> %56, float %51, i64 1
  %58 = bitcast <1 x float> %26 to i32
  %59 = bitcast <1 x float> %27 to i32
  %60 = bitcast <1 x float> %33 to i32
  %61 = extractelement <2 x float> %55, i64 0
  %62 = extractelement <2 x float> %55, i64 1
  %63 = extractelement <2 x float> %57, i64 0
  %64 = extractelement <2 x float> %57, i64 1
  %65 = call { float, float, float, float } @llvm.nvvm.mma.m16n8k4.row.col.tf32(i32 %58, i32 %59, i32 %60, float %61, float %62, float %63, float %64)
  %66 = extractvalue { float, float, float, float } %65, 0
  %67 = extractvalue { float, float, float, float } %65, 1
  %68 = insertelement <2 x float> poison, float %66, i32 0
  %69 = insertelement <2 x float> %68, float %67, i32 1
  %70 = extractvalue { float, float, float, float } %65, 2
  %71 = extractvalue { float, float, float, float } %65, 3
  %72 = insertelement <2 x float> poison, float %70, i32 0
  %73 = insertelement <2 x float> %72, float %71, i32 1
  %74 = extractelement <2 x float> %69, i64 0
  %75 = extractelement <2 x float> %69, i64 1
  %76 = extractelement <2 x float> %73, i64 0
  %77 = extractelement <2 x float> %73, i64 1
  store float %74, ptr %39, align 4
  store float %75, ptr %43, align 4
  store float %76, ptr %47, align 4
  store float %77, ptr %50, align 4
  ret void
}

declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #0

declare { <2 x half>, <2 x half> } @llvm.nvvm.mma.m16n8k16.row.col.f16.f16(<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>) #1

declare { float, float, float, float } @llvm.nvvm.mma.m16n8k4.row.col.tf32(i32, i32, i32, float, float, float, float) #1

attributes #0 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #1 = { nocallback nounwind memory(none) }




