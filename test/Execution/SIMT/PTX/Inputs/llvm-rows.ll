; What scalar code looks like: sums over warps and over shared memory, roundings,
; conversions, integer division, a function that is not inlined, a loop over a
; pointer, and a switch.
target triple = "nvptx64-nvidia-cuda"

@partial = internal addrspace(3) global [4 x float] undef, align 16
@table = internal addrspace(4) constant [4 x i32] [i32 3, i32 1, i32 4, i32 1], align 4

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.sqrt.f32(float)
declare float @llvm.nvvm.ex2.approx.f32(float)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.smax.i32(i32, i32)
declare float @llvm.minnum.f32(float, float)
declare float @llvm.floor.f32(float)

define internal float @polynomial(float %x, i32 %n) noinline {
  %small = icmp slt i32 %n, 2
  br i1 %small, label %one, label %two
one:
  ret float %x
two:
  %y = call float @llvm.fma.f32(float %x, float %x, float 0x3FB99999A0000000)
  ret float %y
}

define float @chosen(float %x, i32 %n) noinline {
  switch i32 %n, label %other [ i32 0, label %a
                                i32 1, label %b
                                i32 2, label %c
                                i32 3, label %d
                                i32 4, label %e ]
a:
  ret float %x
b:
  %y = fsub float %x, 1.0
  ret float %y
c:
  %z = fdiv float 3.0, %x
  ret float %z
d:
  %t = call float @llvm.floor.f32(float %x)
  ret float %t
e:
  %u = frem float %x, 0.75
  ret float %u
other:
  ret float 7.0
}

define ptx_kernel void @rows(ptr addrspace(1) %x, ptr addrspace(1) %y, float %scale, i32 %count, double %shift, i64 %stride) #0 {
entry:
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %row = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %row64 = zext i32 %row to i64
  %first = mul i64 %row64, %stride
  %column = shl i32 %lane, 2
  %column64 = zext i32 %column to i64
  %at = add i64 %first, %column64
  %px = getelementptr float, ptr addrspace(1) %x, i64 %at
  %v = load <4 x float>, ptr addrspace(1) %px, align 16
  %v0 = extractelement <4 x float> %v, i32 0
  %v1 = extractelement <4 x float> %v, i32 1
  %v2 = extractelement <4 x float> %v, i32 2
  %v3 = extractelement <4 x float> %v, i32 3
  %s1 = fmul float %v0, %v0
  %s2 = call float @llvm.fma.f32(float %v1, float %v1, float %s1)
  %s3 = call float @llvm.fma.f32(float %v2, float %v2, float %s2)
  br label %warp
warp:
  %sum = phi float [ %s3, %entry ], [ %sum.next, %warp ]
  %distance = phi i32 [ 16, %entry ], [ %half, %warp ]
  %other = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %sum, i32 %distance, i32 31)
  %sum.next = fadd float %sum, %other
  %half = lshr i32 %distance, 1
  %more = icmp ne i32 %half, 0
  br i1 %more, label %warp, label %share
share:
  %w = lshr i32 %lane, 5
  %slot = getelementptr [4 x float], ptr addrspace(3) @partial, i32 0, i32 %w
  %inlane = and i32 %lane, 31
  %leader = icmp eq i32 %inlane, 0
  br i1 %leader, label %put, label %wait
put:
  store float %sum.next, ptr addrspace(3) %slot
  br label %wait
wait:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %gather
gather:
  %i = phi i32 [ 0, %wait ], [ %i.next, %gather ]
  %all = phi float [ 0.0, %wait ], [ %all.next, %gather ]
  %p = getelementptr [4 x float], ptr addrspace(3) @partial, i32 0, i32 %i
  %part = load float, ptr addrspace(3) %p
  %all.next = fadd float %all, %part
  %i.next = add i32 %i, 1
  %go = icmp slt i32 %i.next, %count
  br i1 %go, label %gather, label %out
out:
  %root = call float @llvm.sqrt.f32(float %all.next)
  %quotient = fdiv float %v0, %root
  %r0 = fmul float %quotient, %scale
  %poly = call float @polynomial(float %v1, i32 %row)
  %wide = fpext float %poly to double
  %moved = fadd double %wide, %shift
  %r1 = fptrunc double %moved to float
  %kind = urem i32 %lane, 6
  %r2 = call float @chosen(float %v2, i32 %kind)
  %bits = bitcast float %v3 to i32
  %turned = call i32 @llvm.fshl.i32(i32 %bits, i32 %lane, i32 7)
  %ones = call i32 @llvm.ctpop.i32(i32 %turned)
  %entry.at = and i32 %lane, 3
  %t.at = getelementptr [4 x i32], ptr addrspace(4) @table, i32 0, i32 %entry.at
  %t = load i32, ptr addrspace(4) %t.at
  %remainder = srem i32 %ones, %t
  %most = call i32 @llvm.smax.i32(i32 %remainder, i32 %row)
  %signed = sitofp i32 %most to float
  %short = fptosi float %v3 to i16
  %short.f = sitofp i16 %short to float
  %pow = call float @llvm.nvvm.ex2.approx.f32(float %v0)
  %least = call float @llvm.minnum.f32(float %pow, float 2.0)
  %h = fptrunc float %least to half
  %h.f = fpext half %h to float
  %m0 = fadd float %signed, %short.f
  %r3 = fadd float %m0, %h.f
  %o0 = insertelement <4 x float> poison, float %r0, i32 0
  %o1 = insertelement <4 x float> %o0, float %r1, i32 1
  %o2 = insertelement <4 x float> %o1, float %r2, i32 2
  %o3 = insertelement <4 x float> %o2, float %r3, i32 3
  %py = getelementptr float, ptr addrspace(1) %y, i64 %at
  store <4 x float> %o3, ptr addrspace(1) %py, align 16
  ret void
}

attributes #0 = { "nvvm.reqntid"="64,1,1" }
