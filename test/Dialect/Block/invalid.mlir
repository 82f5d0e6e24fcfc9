// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics

// expected-error@+2 {{expected rows to be positive, got -1}}
func.func private @f() attributes {
  block.config = #block.config<rows = -1>}

// -----

// expected-error@+2 {{expected the sizes of tile to be positive, got 0}}
func.func private @f() attributes {
  block.config = #block.config<tile = [64, 0]>}

// -----

// expected-error@+2 {{expected tile to hold 2 or 3 sizes, got 1}}
func.func private @f() attributes {
  block.config = #block.config<tile = [64]>}

// -----

// expected-error@+2 {{expected micro to hold 2 sizes, got 3}}
func.func private @f() attributes {
  block.config = #block.config<tile = [64, 64], micro = [8, 32, 1]>}

// -----

// expected-error@+2 {{expected amx to hold 3 sizes, got 2}}
func.func private @f() attributes {
  block.config = #block.config<tile = [64, 64], micro = [32, 32], amx = [16, 16]>}

// -----

// expected-error@+2 {{expected micro to be made of the 16 x 16 parts of amx}}
func.func private @f() attributes {
  block.config = #block.config<tile = [64, 64], micro = [8, 32], amx = [16, 16, 32]>}

// -----

// expected-error@+2 {{expected the sizes of amx to be positive, got 0}}
func.func private @f() attributes {
  block.config = #block.config<tile = [64, 64], micro = [32, 32], amx = [0, 16, 32]>}

// -----

// expected-error@+2 {{expected rows or tile, got both}}
func.func private @f() attributes {
  block.config = #block.config<rows = 4, tile = [64, 64]>}

// -----

// expected-error@+2 {{expected micro only beside tile}}
func.func private @f() attributes {
  block.config = #block.config<rows = 4, micro = [8, 32]>}

// -----

// expected-error@+2 {{expected lanes to be a power of two, got 12}}
func.func private @f() attributes {
  block.config = #block.config<rows = 4, lanes = 12>}

// -----

// expected-error@+2 {{expected warps to be a power of two, got 3}}
func.func private @f() attributes {
  block.config = #block.config<rows = 4, warps = 3>}

// -----

// expected-error@+2 {{expected maxnreg to be at most 255, got 256}}
func.func private @f() attributes {
  block.config = #block.config<rows = 4, maxnreg = 256>}

// -----

func.func private @f() attributes {
  // expected-error@+2 {{expected one of [ieee, tf32x3, bf16] for precision of a matrix product, got: fp8}}
  // expected-error@+1 {{failed to parse Block_ConfigAttr parameter 'dot'}}
  block.config = #block.config<dot = fp8>}

// -----

// expected-error@+1 {{expected 'block.config' to be a #block.config, got 4 : i64}}
func.func private @f() attributes {block.config = 4 : i64}

// -----

// expected-error@+1 {{expected 'block.kernel' to be a unit, got true}}
func.func private @f() attributes {block.kernel = true}

// -----

// expected-error@+1 {{expected 'block.grid' to be a positive i64, got 0 : i64}}
func.func private @f() attributes {block.grid = 0 : i64}

// -----

// expected-error@+1 {{expected 'block.host' to be a name, got unit}}
func.func private @f() attributes {block.host}

// -----

// expected-error@+1 {{has unknown attribute 'block.warps'}}
func.func private @f() attributes {block.warps = 4 : i64}

// -----

// expected-error@+1 {{has 'block.kernel', which belongs on a function}}
module attributes {block.kernel} {}
