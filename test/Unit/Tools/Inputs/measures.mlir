// All measurements, on a rule without facts and on one with both.
optim.spec @measures clip(#optim.global_norm<1.0>) {
  optim.group @plain ["plain.*"] uses @all lr 0.5
  optim.group @facts ["facts.*"] uses @head lr 0.5
    facts(#geo.zero_column_sum, #geo.shift_invariant)
  optim.group @none  ["none.*"]  uses @none lr 0.5
}

optim.rule @all(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.common_ball %gc radius(%lr)
  %u1 = geo.apply %u, %s decay(%lr, %wd)
  %ratio, %rows = geo.measure_certificate %gc
  %least, %most = geo.measure_tension %gc
  %norm, %defect = geo.measure_columns %g
  %decrease = geo.measure_decrease %g, %s
  %row    = geo.dual_norm %g {ball = "max_row"}
  %common = geo.dual_norm %g {ball = "common_ball"}
  %column = geo.dual_norm %g {ball = "max_column"}
  %sign   = geo.dual_norm %g {ball = "sign"}
  %fro    = geo.dual_norm %g {ball = "frobenius"}
  %nuclear = geo.measure_nuclear %g
  %diameter = geo.measure_diameter %s
  %separation, %rho = geo.measure_separation %s
  %lower, %upper = geo.measure_covering %s
  %hilbert = geo.measure_hilbert %s, %u : tensor<?x?xf32>, tensor<?x?xf32>
  optim.yield %u1 measures(%ratio "certificate", %rows "effective_rows",
    %least "tension_lower", %most "tension_upper", %norm "column_sum", %defect "column_defect", %decrease "decrease",
    %row "dual_max_row", %common "dual_common_ball", %column "dual_max_column",
    %sign "dual_sign", %fro "dual_frobenius", %nuclear "dual_spectral",
    %diameter "diameter", %separation "separation", %rho "rho",
    %lower "covering_lower", %upper "covering_upper", %hilbert "hilbert")
}

optim.rule @head(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.95}
  %c  = geo.correct_bias %b1, %t {beta = 0.95}
  %s  = geo.common_ball %c radius(%lr) {eps = 1.0e-8}
  %u1 = geo.apply %u, %s decay(%lr, %wd)
  %ratio, %rows = geo.measure_certificate %c
  %dual = geo.dual_norm %b1 {ball = "common_ball"}
  %least, %most = geo.measure_tension %b1
  optim.yield %u1, %b1 measures(%ratio "certificate", %rows "effective_rows", %dual "dual",
                                %least "tension_lower", %most "tension_upper")
}

optim.rule @none(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.sign %gc radius(%lr)
  %u1 = geo.apply %u, %s decay(%lr, %wd)
  optim.yield %u1
}
