// RUN: %limit steep-opt %s --verify-roundtrip | FileCheck %s

// Keys come back in one order, absent ones and the default precision not at all.
// CHECK-LABEL: @rows
// CHECK-SAME: block.config = #block.config<rows = 4, chunk = 32, lanes = 16>
func.func private @rows() attributes {block.kernel, block.grid = 16 : i64,
    block.config = #block.config<lanes = 16, dot = ieee, chunk = 32, rows = 4>}

// CHECK-LABEL: @tile
// CHECK-SAME: #block.config<tile = [128, 64, 32], warps = 4, stages = 3, maxnreg = 128, dot = tf32x3>
func.func private @tile() attributes {block.kernel,
    block.config = #block.config<tile = [128, 64, 32], warps = 4, stages = 3, maxnreg = 128, dot = tf32x3>}

// CHECK-LABEL: @micro
// CHECK-SAME: #block.config<tile = [64, 64], micro = [8, 32]>
func.func private @micro() attributes {
    block.config = #block.config<tile = [64, 64], micro = [8, 32]>}
// CHECK-LABEL: @amx
// CHECK-SAME: #block.config<tile = [64, 64], micro = [32, 32], amx = [16, 16, 32], dot = bf16>
func.func private @amx() attributes {
    block.config = #block.config<tile = [64, 64], micro = [32, 32], amx = [16, 16, 32], dot = bf16>}

// CHECK-LABEL: @step
// CHECK-SAME: attributes {block.step}
func.func private @step() attributes {block.step}
