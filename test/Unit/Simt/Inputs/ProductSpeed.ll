target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@a_tile = internal addrspace(3) global [2 x [2560 x i16]] zeroinitializer, align 16
@b_tile = internal addrspace(3) global [2 x [2304 x i16]] zeroinitializer, align 16

; Function Attrs: convergent nounwind
define dso_local ptx_kernel void @product(ptr addrspace(1) noundef %0, ptr addrspace(1) noundef %1, ptr addrspace(1) noundef writeonly captures(none) %2, i32 noundef %3) local_unnamed_addr #0 {
  %5 = alloca [2 x [4 x { float, float, float, float }]], align 4
  %6 = alloca [2 x { i32, i32, i32, i32 }], align 4
  %7 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %8 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %9 = shl nuw nsw i32 %8, 6
  call void @llvm.lifetime.start.p0(ptr nonnull %5) #4
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 4 dereferenceable(128) %5, i8 0, i64 128, i1 false)
  %10 = shl nuw nsw i32 %7, 3
  %11 = and i32 %10, 24
  %12 = sext i32 %3 to i64
  %13 = zext nneg i32 %11 to i64
  %14 = getelementptr i16, ptr addrspace(1) %0, i64 %13
  %15 = lshr i32 %7, 2
  %16 = mul nuw nsw i32 %15, 40
  %17 = add nuw nsw i32 %16, %11
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw i16, ptr addrspace(3) @a_tile, i64 %18
  %20 = add nuw nsw i32 %15, %9
  %21 = zext nneg i32 %20 to i64
  %22 = mul nsw i64 %21, %12
  %23 = getelementptr i16, ptr addrspace(1) %14, i64 %22
  tail call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) noundef %19, ptr addrspace(1) noundef %23) #9
  %24 = add nuw nsw i32 %7, 128
  %25 = lshr i32 %24, 2
  %26 = mul nuw nsw i32 %25, 40
  %27 = add nuw nsw i32 %26, %11
  %28 = zext nneg i32 %27 to i64
  %29 = getelementptr inbounds nuw i16, ptr addrspace(3) @a_tile, i64 %28
  %30 = add nuw nsw i32 %25, %9
  %31 = zext nneg i32 %30 to i64
  %32 = mul nsw i64 %31, %12
  %33 = getelementptr i16, ptr addrspace(1) %14, i64 %32
  tail call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) noundef %29, ptr addrspace(1) noundef %33) #9
  %34 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %35 = shl nsw i32 %34, 6
  %36 = and i32 %10, 56
  %37 = zext nneg i32 %35 to i64
  %38 = zext nneg i32 %36 to i64
  %39 = getelementptr i16, ptr addrspace(1) %1, i64 %37
  %40 = getelementptr i16, ptr addrspace(1) %39, i64 %38
  %41 = lshr i32 %7, 3
  %42 = mul nuw nsw i32 %41, 72
  %43 = add nuw nsw i32 %42, %36
  %44 = zext nneg i32 %43 to i64
  %45 = getelementptr inbounds nuw i16, ptr addrspace(3) @b_tile, i64 %44
  %46 = zext nneg i32 %41 to i64
  %47 = mul nsw i64 %46, %12
  %48 = getelementptr i16, ptr addrspace(1) %40, i64 %47
  tail call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) noundef %45, ptr addrspace(1) noundef %48) #9
  %49 = lshr i32 %24, 3
  %50 = mul nuw nsw i32 %49, 72
  %51 = add nuw nsw i32 %50, %36
  %52 = zext nneg i32 %51 to i64
  %53 = getelementptr inbounds nuw i16, ptr addrspace(3) @b_tile, i64 %52
  %54 = zext nneg i32 %49 to i64
  %55 = mul nsw i64 %54, %12
  %56 = getelementptr i16, ptr addrspace(1) %40, i64 %55
  tail call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) noundef %53, ptr addrspace(1) noundef %56) #9
  %57 = lshr i32 %7, 1
  %58 = and i32 %57, 480
  %59 = and i32 %7, 32
  tail call void @llvm.nvvm.cp.async.commit.group() #9
  %60 = icmp sgt i32 %3, 0
  %61 = getelementptr inbounds nuw i8, ptr %6, i64 16
  %62 = getelementptr inbounds nuw i8, ptr %5, i64 64
  br i1 %60, label %63, label %123

63:                                               ; preds = %4
  %64 = zext nneg i32 %3 to i64
  %65 = and i32 %7, 15
  %66 = or disjoint i32 %65, %58
  %67 = and i32 %57, 8
  %68 = or disjoint i32 %67, %59
  %69 = mul nuw nsw i64 %21, %64
  %70 = mul nuw nsw i64 %31, %64
  %71 = mul nuw nsw i32 %66, 40
  %72 = getelementptr inbounds nuw i8, ptr %6, i64 4
  %73 = getelementptr inbounds nuw i8, ptr %6, i64 8
  %74 = getelementptr inbounds nuw i8, ptr %6, i64 12
  %75 = getelementptr inbounds nuw i8, ptr %6, i64 16
  %76 = mul nuw nsw i32 %66, 40
  %77 = add nuw nsw i32 %76, 640
  %78 = getelementptr inbounds nuw i8, ptr %6, i64 20
  %79 = getelementptr inbounds nuw i8, ptr %6, i64 24
  %80 = getelementptr inbounds nuw i8, ptr %6, i64 28
  br label %215

81:                                               ; preds = %247
  %82 = load float, ptr %5, align 4
  %83 = getelementptr inbounds nuw i8, ptr %5, i64 4
  %84 = load float, ptr %83, align 4
  %85 = getelementptr inbounds nuw i8, ptr %5, i64 8
  %86 = load float, ptr %85, align 4
  %87 = getelementptr inbounds nuw i8, ptr %5, i64 12
  %88 = load float, ptr %87, align 4
  %89 = getelementptr inbounds nuw i8, ptr %5, i64 16
  %90 = load float, ptr %89, align 4
  %91 = getelementptr inbounds nuw i8, ptr %5, i64 20
  %92 = load float, ptr %91, align 4
  %93 = getelementptr inbounds nuw i8, ptr %5, i64 24
  %94 = load float, ptr %93, align 4
  %95 = getelementptr inbounds nuw i8, ptr %5, i64 28
  %96 = load float, ptr %95, align 4
  %97 = getelementptr inbounds nuw i8, ptr %5, i64 32
  %98 = load float, ptr %97, align 4
  %99 = getelementptr inbounds nuw i8, ptr %5, i64 36
  %100 = load float, ptr %99, align 4
  %101 = getelementptr inbounds nuw i8, ptr %5, i64 40
  %102 = load float, ptr %101, align 4
  %103 = getelementptr inbounds nuw i8, ptr %5, i64 44
  %104 = load float, ptr %103, align 4
  %105 = getelementptr inbounds nuw i8, ptr %5, i64 48
  %106 = load float, ptr %105, align 4
  %107 = getelementptr inbounds nuw i8, ptr %5, i64 52
  %108 = load float, ptr %107, align 4
  %109 = getelementptr inbounds nuw i8, ptr %5, i64 56
  %110 = load float, ptr %109, align 4
  %111 = getelementptr inbounds nuw i8, ptr %5, i64 60
  %112 = load float, ptr %111, align 4
  %113 = getelementptr inbounds nuw i8, ptr %5, i64 64
  %114 = load float, ptr %113, align 4
  %115 = getelementptr inbounds nuw i8, ptr %5, i64 68
  %116 = load float, ptr %115, align 4
  %117 = getelementptr inbounds nuw i8, ptr %5, i64 72
  %118 = load float, ptr %117, align 4
  %119 = getelementptr inbounds nuw i8, ptr %5, i64 76
  %120 = load float, ptr %119, align 4
  %121 = getelementptr inbounds nuw i8, ptr %5, i64 80
  %122 = load float, ptr %121, align 4
  br label %123

123:                                              ; preds = %81, %4
  %124 = phi float [ %122, %81 ], [ 0.000000e+00, %4 ]
  %125 = phi float [ %120, %81 ], [ 0.000000e+00, %4 ]
  %126 = phi float [ %118, %81 ], [ 0.000000e+00, %4 ]
  %127 = phi float [ %116, %81 ], [ 0.000000e+00, %4 ]
  %128 = phi float [ %114, %81 ], [ 0.000000e+00, %4 ]
  %129 = phi float [ %112, %81 ], [ 0.000000e+00, %4 ]
  %130 = phi float [ %110, %81 ], [ 0.000000e+00, %4 ]
  %131 = phi float [ %108, %81 ], [ 0.000000e+00, %4 ]
  %132 = phi float [ %106, %81 ], [ 0.000000e+00, %4 ]
  %133 = phi float [ %104, %81 ], [ 0.000000e+00, %4 ]
  %134 = phi float [ %102, %81 ], [ 0.000000e+00, %4 ]
  %135 = phi float [ %100, %81 ], [ 0.000000e+00, %4 ]
  %136 = phi float [ %98, %81 ], [ 0.000000e+00, %4 ]
  %137 = phi float [ %96, %81 ], [ 0.000000e+00, %4 ]
  %138 = phi float [ %94, %81 ], [ 0.000000e+00, %4 ]
  %139 = phi float [ %92, %81 ], [ 0.000000e+00, %4 ]
  %140 = phi float [ %90, %81 ], [ 0.000000e+00, %4 ]
  %141 = phi float [ %88, %81 ], [ 0.000000e+00, %4 ]
  %142 = phi float [ %86, %81 ], [ 0.000000e+00, %4 ]
  %143 = phi float [ %84, %81 ], [ 0.000000e+00, %4 ]
  %144 = phi float [ %82, %81 ], [ 0.000000e+00, %4 ]
  %145 = add nuw nsw i32 %58, %9
  %146 = and i32 %15, 7
  %147 = or disjoint i32 %145, %146
  %148 = zext nneg i32 %59 to i64
  %149 = shl nuw nsw i32 %7, 1
  %150 = and i32 %149, 6
  %151 = zext nneg i32 %150 to i64
  %152 = getelementptr float, ptr addrspace(1) %2, i64 %37
  %153 = getelementptr float, ptr addrspace(1) %152, i64 %148
  %154 = getelementptr float, ptr addrspace(1) %153, i64 %151
  %155 = shl nsw i64 %12, 5
  %156 = zext nneg i32 %147 to i64
  %157 = mul nsw i64 %156, %12
  %158 = getelementptr float, ptr addrspace(1) %154, i64 %157
  store float %144, ptr addrspace(1) %158, align 4
  %159 = getelementptr inbounds nuw i8, ptr addrspace(1) %158, i64 4
  store float %143, ptr addrspace(1) %159, align 4
  %160 = getelementptr inbounds i8, ptr addrspace(1) %158, i64 %155
  store float %142, ptr addrspace(1) %160, align 4
  %161 = getelementptr i8, ptr addrspace(1) %160, i64 4
  store float %141, ptr addrspace(1) %161, align 4
  %162 = getelementptr i8, ptr addrspace(1) %158, i64 32
  store float %140, ptr addrspace(1) %162, align 4
  %163 = getelementptr i8, ptr addrspace(1) %158, i64 36
  store float %139, ptr addrspace(1) %163, align 4
  %164 = getelementptr inbounds i8, ptr addrspace(1) %162, i64 %155
  store float %138, ptr addrspace(1) %164, align 4
  %165 = getelementptr i8, ptr addrspace(1) %164, i64 4
  store float %137, ptr addrspace(1) %165, align 4
  %166 = getelementptr i8, ptr addrspace(1) %158, i64 64
  store float %136, ptr addrspace(1) %166, align 4
  %167 = getelementptr i8, ptr addrspace(1) %158, i64 68
  store float %135, ptr addrspace(1) %167, align 4
  %168 = getelementptr inbounds i8, ptr addrspace(1) %166, i64 %155
  store float %134, ptr addrspace(1) %168, align 4
  %169 = getelementptr i8, ptr addrspace(1) %168, i64 4
  store float %133, ptr addrspace(1) %169, align 4
  %170 = getelementptr i8, ptr addrspace(1) %158, i64 96
  store float %132, ptr addrspace(1) %170, align 4
  %171 = getelementptr i8, ptr addrspace(1) %158, i64 100
  store float %131, ptr addrspace(1) %171, align 4
  %172 = getelementptr inbounds i8, ptr addrspace(1) %170, i64 %155
  store float %130, ptr addrspace(1) %172, align 4
  %173 = getelementptr i8, ptr addrspace(1) %172, i64 4
  store float %129, ptr addrspace(1) %173, align 4
  %174 = or disjoint i32 %147, 16
  %175 = zext nneg i32 %174 to i64
  %176 = mul nsw i64 %175, %12
  %177 = getelementptr float, ptr addrspace(1) %154, i64 %176
  store float %128, ptr addrspace(1) %177, align 4
  %178 = getelementptr inbounds nuw i8, ptr addrspace(1) %177, i64 4
  store float %127, ptr addrspace(1) %178, align 4
  %179 = getelementptr inbounds i8, ptr addrspace(1) %177, i64 %155
  store float %126, ptr addrspace(1) %179, align 4
  %180 = getelementptr i8, ptr addrspace(1) %179, i64 4
  store float %125, ptr addrspace(1) %180, align 4
  %181 = getelementptr i8, ptr addrspace(1) %177, i64 32
  store float %124, ptr addrspace(1) %181, align 4
  %182 = getelementptr inbounds nuw i8, ptr %5, i64 84
  %183 = load float, ptr %182, align 4
  %184 = getelementptr i8, ptr addrspace(1) %177, i64 36
  store float %183, ptr addrspace(1) %184, align 4
  %185 = getelementptr inbounds nuw i8, ptr %5, i64 88
  %186 = load float, ptr %185, align 4
  %187 = getelementptr inbounds i8, ptr addrspace(1) %181, i64 %155
  store float %186, ptr addrspace(1) %187, align 4
  %188 = getelementptr inbounds nuw i8, ptr %5, i64 92
  %189 = load float, ptr %188, align 4
  %190 = getelementptr i8, ptr addrspace(1) %187, i64 4
  store float %189, ptr addrspace(1) %190, align 4
  %191 = getelementptr i8, ptr addrspace(1) %177, i64 64
  %192 = getelementptr inbounds nuw i8, ptr %5, i64 96
  %193 = load float, ptr %192, align 4
  store float %193, ptr addrspace(1) %191, align 4
  %194 = getelementptr inbounds nuw i8, ptr %5, i64 100
  %195 = load float, ptr %194, align 4
  %196 = getelementptr i8, ptr addrspace(1) %177, i64 68
  store float %195, ptr addrspace(1) %196, align 4
  %197 = getelementptr inbounds nuw i8, ptr %5, i64 104
  %198 = load float, ptr %197, align 4
  %199 = getelementptr inbounds i8, ptr addrspace(1) %191, i64 %155
  store float %198, ptr addrspace(1) %199, align 4
  %200 = getelementptr inbounds nuw i8, ptr %5, i64 108
  %201 = load float, ptr %200, align 4
  %202 = getelementptr i8, ptr addrspace(1) %199, i64 4
  store float %201, ptr addrspace(1) %202, align 4
  %203 = getelementptr i8, ptr addrspace(1) %177, i64 96
  %204 = getelementptr inbounds nuw i8, ptr %5, i64 112
  %205 = load float, ptr %204, align 4
  store float %205, ptr addrspace(1) %203, align 4
  %206 = getelementptr inbounds nuw i8, ptr %5, i64 116
  %207 = load float, ptr %206, align 4
  %208 = getelementptr i8, ptr addrspace(1) %177, i64 100
  store float %207, ptr addrspace(1) %208, align 4
  %209 = getelementptr inbounds nuw i8, ptr %5, i64 120
  %210 = load float, ptr %209, align 4
  %211 = getelementptr inbounds i8, ptr addrspace(1) %203, i64 %155
  store float %210, ptr addrspace(1) %211, align 4
  %212 = getelementptr inbounds nuw i8, ptr %5, i64 124
  %213 = load float, ptr %212, align 4
  %214 = getelementptr i8, ptr addrspace(1) %211, i64 4
  store float %213, ptr addrspace(1) %214, align 4
  call void @llvm.lifetime.end.p0(ptr nonnull %5) #4
  ret void

215:                                              ; preds = %247, %63
  %216 = phi i32 [ 0, %63 ], [ %219, %247 ]
  %217 = lshr exact i32 %216, 5
  %218 = and i32 %217, 1
  %219 = add nuw nsw i32 %216, 32
  %220 = icmp slt i32 %219, %3
  br i1 %220, label %221, label %242

221:                                              ; preds = %215
  %222 = xor i32 %218, 1
  %223 = zext nneg i32 %222 to i64
  %224 = getelementptr inbounds nuw [2560 x i16], ptr addrspace(3) @a_tile, i64 %223
  %225 = zext nneg i32 %219 to i64
  %226 = getelementptr i16, ptr addrspace(1) %14, i64 %225
  %227 = getelementptr inbounds nuw i16, ptr addrspace(3) %224, i64 %18
  %228 = getelementptr i16, ptr addrspace(1) %226, i64 %69
  tail call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) noundef %227, ptr addrspace(1) noundef %228) #9
  %229 = getelementptr inbounds nuw i16, ptr addrspace(3) %224, i64 %28
  %230 = getelementptr i16, ptr addrspace(1) %226, i64 %70
  tail call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) noundef %229, ptr addrspace(1) noundef %230) #9
  %231 = getelementptr inbounds nuw [2304 x i16], ptr addrspace(3) @b_tile, i64 %223
  %232 = getelementptr inbounds nuw i16, ptr addrspace(3) %231, i64 %44
  %233 = add nuw nsw i32 %41, %219
  %234 = zext nneg i32 %233 to i64
  %235 = mul nuw nsw i64 %234, %64
  %236 = getelementptr i16, ptr addrspace(1) %40, i64 %235
  tail call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) noundef %232, ptr addrspace(1) noundef %236) #9
  %237 = getelementptr inbounds nuw i16, ptr addrspace(3) %231, i64 %52
  %238 = add nuw nsw i32 %49, %219
  %239 = zext nneg i32 %238 to i64
  %240 = mul nuw nsw i64 %239, %64
  %241 = getelementptr i16, ptr addrspace(1) %40, i64 %240
  tail call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) noundef %237, ptr addrspace(1) noundef %241) #9
  tail call void @llvm.nvvm.cp.async.commit.group() #9
  tail call void @llvm.nvvm.cp.async.wait.group(i32 noundef 1) #9
  br label %243

242:                                              ; preds = %215
  tail call void @llvm.nvvm.cp.async.wait.group(i32 noundef 0) #9
  br label %243

243:                                              ; preds = %242, %221
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 noundef 0) #9
  %244 = zext nneg i32 %218 to i64
  %245 = getelementptr inbounds nuw [2560 x i16], ptr addrspace(3) @a_tile, i64 %244
  %246 = getelementptr inbounds nuw [2304 x i16], ptr addrspace(3) @b_tile, i64 %244
  br label %248

247:                                              ; preds = %348
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 noundef 0) #9
  br i1 %220, label %215, label %81

248:                                              ; preds = %348, %243
  %249 = phi i1 [ true, %243 ], [ false, %348 ]
  %250 = phi i32 [ 0, %243 ], [ 16, %348 ]
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #4
  %251 = or disjoint i32 %250, %67
  %252 = add nuw nsw i32 %251, %71
  %253 = zext nneg i32 %252 to i64
  %254 = getelementptr inbounds nuw i16, ptr addrspace(3) %245, i64 %253
  %255 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) noundef %254) #9
  %256 = extractvalue { i32, i32, i32, i32 } %255, 0
  %257 = extractvalue { i32, i32, i32, i32 } %255, 1
  %258 = extractvalue { i32, i32, i32, i32 } %255, 2
  %259 = extractvalue { i32, i32, i32, i32 } %255, 3
  store i32 %256, ptr %6, align 4
  store i32 %257, ptr %72, align 4
  store i32 %258, ptr %73, align 4
  store i32 %259, ptr %74, align 4
  %260 = add nuw nsw i32 %251, %77
  %261 = zext nneg i32 %260 to i64
  %262 = getelementptr inbounds nuw i16, ptr addrspace(3) %245, i64 %261
  %263 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) noundef nonnull %262) #9
  %264 = extractvalue { i32, i32, i32, i32 } %263, 0
  %265 = extractvalue { i32, i32, i32, i32 } %263, 1
  %266 = extractvalue { i32, i32, i32, i32 } %263, 2
  %267 = extractvalue { i32, i32, i32, i32 } %263, 3
  store i32 %264, ptr %75, align 4
  store i32 %265, ptr %78, align 4
  store i32 %266, ptr %79, align 4
  store i32 %267, ptr %80, align 4
  %268 = or disjoint i32 %250, %65
  %269 = mul nuw nsw i32 %268, 72
  %270 = add nuw nsw i32 %68, %269
  %271 = zext nneg i32 %270 to i64
  %272 = getelementptr inbounds nuw i16, ptr addrspace(3) %246, i64 %271
  %273 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(ptr addrspace(3) noundef %272) #9
  %274 = extractvalue { i32, i32, i32, i32 } %273, 0
  %275 = extractvalue { i32, i32, i32, i32 } %273, 1
  %276 = extractvalue { i32, i32, i32, i32 } %273, 2
  %277 = extractvalue { i32, i32, i32, i32 } %273, 3
  %278 = zext nneg i32 %270 to i64
  %279 = getelementptr inbounds nuw i16, ptr addrspace(3) %246, i64 %278
  %280 = getelementptr inbounds nuw i8, ptr addrspace(3) %279, i64 32
  %281 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(ptr addrspace(3) noundef nonnull %280) #9
  %282 = extractvalue { i32, i32, i32, i32 } %281, 0
  %283 = extractvalue { i32, i32, i32, i32 } %281, 1
  %284 = extractvalue { i32, i32, i32, i32 } %281, 2
  %285 = extractvalue { i32, i32, i32, i32 } %281, 3
  br label %286

286:                                              ; preds = %286, %248
  %287 = phi i1 [ false, %286 ], [ true, %248 ]
  %288 = phi ptr [ %61, %286 ], [ %6, %248 ]
  %289 = phi ptr [ %62, %286 ], [ %5, %248 ]
  %290 = load i32, ptr %288, align 4
  %291 = getelementptr inbounds nuw i8, ptr %288, i64 4
  %292 = load i32, ptr %291, align 4
  %293 = getelementptr inbounds nuw i8, ptr %288, i64 8
  %294 = load i32, ptr %293, align 4
  %295 = getelementptr inbounds nuw i8, ptr %288, i64 12
  %296 = load i32, ptr %295, align 4
  %297 = load float, ptr %289, align 4
  %298 = getelementptr inbounds nuw i8, ptr %289, i64 4
  %299 = load float, ptr %298, align 4
  %300 = getelementptr inbounds nuw i8, ptr %289, i64 8
  %301 = load float, ptr %300, align 4
  %302 = getelementptr inbounds nuw i8, ptr %289, i64 12
  %303 = load float, ptr %302, align 4
  %304 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 noundef %290, i32 noundef %292, i32 noundef %294, i32 noundef %296, i32 noundef %274, i32 noundef %275, float noundef %297, float noundef %299, float noundef %301, float noundef %303) #9
  %305 = extractvalue { float, float, float, float } %304, 0
  %306 = extractvalue { float, float, float, float } %304, 1
  %307 = extractvalue { float, float, float, float } %304, 2
  %308 = extractvalue { float, float, float, float } %304, 3
  store float %305, ptr %289, align 4
  store float %306, ptr %298, align 4
  store float %307, ptr %300, align 4
  store float %308, ptr %302, align 4
  %309 = getelementptr inbounds nuw i8, ptr %289, i64 16
  %310 = load float, ptr %309, align 4
  %311 = getelementptr inbounds nuw i8, ptr %289, i64 20
  %312 = load float, ptr %311, align 4
  %313 = getelementptr inbounds nuw i8, ptr %289, i64 24
  %314 = load float, ptr %313, align 4
  %315 = getelementptr inbounds nuw i8, ptr %289, i64 28
  %316 = load float, ptr %315, align 4
  %317 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 noundef %290, i32 noundef %292, i32 noundef %294, i32 noundef %296, i32 noundef %276, i32 noundef %277, float noundef %310, float noundef %312, float noundef %314, float noundef %316) #9
  %318 = extractvalue { float, float, float, float } %317, 0
  %319 = extractvalue { float, float, float, float } %317, 1
  %320 = extractvalue { float, float, float, float } %317, 2
  %321 = extractvalue { float, float, float, float } %317, 3
  store float %318, ptr %309, align 4
  store float %319, ptr %311, align 4
  store float %320, ptr %313, align 4
  store float %321, ptr %315, align 4
  %322 = getelementptr inbounds nuw i8, ptr %289, i64 32
  %323 = load float, ptr %322, align 4
  %324 = getelementptr inbounds nuw i8, ptr %289, i64 36
  %325 = load float, ptr %324, align 4
  %326 = getelementptr inbounds nuw i8, ptr %289, i64 40
  %327 = load float, ptr %326, align 4
  %328 = getelementptr inbounds nuw i8, ptr %289, i64 44
  %329 = load float, ptr %328, align 4
  %330 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 noundef %290, i32 noundef %292, i32 noundef %294, i32 noundef %296, i32 noundef %282, i32 noundef %283, float noundef %323, float noundef %325, float noundef %327, float noundef %329) #9
  %331 = extractvalue { float, float, float, float } %330, 0
  %332 = extractvalue { float, float, float, float } %330, 1
  %333 = extractvalue { float, float, float, float } %330, 2
  %334 = extractvalue { float, float, float, float } %330, 3
  store float %331, ptr %322, align 4
  store float %332, ptr %324, align 4
  store float %333, ptr %326, align 4
  store float %334, ptr %328, align 4
  %335 = getelementptr inbounds nuw i8, ptr %289, i64 48
  %336 = load float, ptr %335, align 4
  %337 = getelementptr inbounds nuw i8, ptr %289, i64 52
  %338 = load float, ptr %337, align 4
  %339 = getelementptr inbounds nuw i8, ptr %289, i64 56
  %340 = load float, ptr %339, align 4
  %341 = getelementptr inbounds nuw i8, ptr %289, i64 60
  %342 = load float, ptr %341, align 4
  %343 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 noundef %290, i32 noundef %292, i32 noundef %294, i32 noundef %296, i32 noundef %284, i32 noundef %285, float noundef %336, float noundef %338, float noundef %340, float noundef %342) #9
  %344 = extractvalue { float, float, float, float } %343, 0
  %345 = extractvalue { float, float, float, float } %343, 1
  %346 = extractvalue { float, float, float, float } %343, 2
  %347 = extractvalue { float, float, float, float } %343, 3
  store float %344, ptr %335, align 4
  store float %345, ptr %337, align 4
  store float %346, ptr %339, align 4
  store float %347, ptr %341, align 4
  br i1 %287, label %286, label %348

348:                                              ; preds = %286
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #4
  br i1 %249, label %248, label %247
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 65535) i32 @llvm.nvvm.read.ptx.sreg.ctaid.y() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #3

; Function Attrs: nounwind
declare dso_local void @llvm.nvvm.cp.async.wait.group(i32 immarg) local_unnamed_addr #4

; Function Attrs: convergent nocallback nounwind
declare dso_local void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) local_unnamed_addr #5

; Function Attrs: convergent nocallback nounwind memory(argmem: read)
declare dso_local { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) readonly captures(none)) local_unnamed_addr #6

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

; Function Attrs: convergent nocallback nounwind memory(argmem: read)
declare dso_local { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(ptr addrspace(3) readonly captures(none)) local_unnamed_addr #6

; Function Attrs: nocallback nounwind memory(none)
declare dso_local { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32, i32, i32, i32, i32, i32, float, float, float, float) local_unnamed_addr #7

; Function Attrs: nocallback nounwind memory(argmem: readwrite)
declare dso_local void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) noalias writeonly, ptr addrspace(1) noalias readonly) local_unnamed_addr #8

; Function Attrs: nounwind
declare dso_local void @llvm.nvvm.cp.async.commit.group() local_unnamed_addr #4

attributes #0 = { convergent nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_80" "target-features"="+ptx88,+sm_80" }
attributes #1 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #4 = { nounwind }
attributes #5 = { convergent nocallback nounwind }
attributes #6 = { convergent nocallback nounwind memory(argmem: read) }
attributes #7 = { nocallback nounwind memory(none) }
attributes #8 = { nocallback nounwind memory(argmem: readwrite) }
attributes #9 = { convergent nounwind }
