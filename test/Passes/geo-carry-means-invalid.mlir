// RUN: steep-opt %s --split-input-file --geo-carry-means --verify-diagnostics

optim.spec @p {
  optim.bound_group @all uses "r" lr 0.1 wd 0.0
  optim.parameter "a" : tensor<64x8xf32> in @all
  // expected-error @+1 {{names @there, which is no function of the module}}
  optim.batch @there update @there squares @squares ["a"]
}
