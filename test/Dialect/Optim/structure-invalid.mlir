// RUN: %limit steep-opt %s --optim-bind-parameters --verify-diagnostics --split-input-file

optim.spec @s {
  optim.group @g ["a"] uses @sgd lr 0.1 split [8, 4]
  // expected-error@+1 {{'a' in group @g has type 'tensor<16x6xf32>', but its 16 rows are split into blocks of 12 in all}}
  optim.parameter "a" : tensor<16x6xf32>
}
optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  optim.group @g ["a"] uses @sgd lr 0.1 per_head 5
  // expected-error@+1 {{'a' in group @g has type 'tensor<16x6xf32>', but its 16 rows are no multiple of the 5 rows of a head}}
  optim.parameter "a" : tensor<16x6xf32>
}
optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  optim.group @g ["a"] uses @sgd lr 0.1 stacked
  // expected-error@+1 {{'a' in group @g has type 'tensor<16x6xf32>', but rules update matrices: expected rank 3 or more of what is stacked, not rank 2}}
  optim.parameter "a" : tensor<16x6xf32>
}
optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  optim.group @g ["a"] uses @sgd lr 0.1 convolution
  // expected-error@+1 {{expected rank 3 or more of a convolution's kernel, not rank 2}}
  optim.parameter "a" : tensor<16x6xf32>
}
optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  optim.group @g ["a"] uses @sgd lr 0.1
  // expected-error@+1 {{'a' in group @g has type 'tensor<2x16x6xf32>', but rules update matrices: expected rank 2, not rank 3}}
  optim.parameter "a" : tensor<2x16x6xf32>
}
optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  optim.group @g ["a"] uses @sgd lr 0.1 split [8, 4] stacked
  // expected-error@+1 {{its 16 rows are split into blocks of 12 in all}}
  optim.parameter "a" : tensor<2x16x6xf32>
}
optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  // expected-error@+1 {{'optim.group' op expected stacked or convolution, not both}}
  optim.group @g ["a"] uses @sgd lr 0.1 stacked convolution
  optim.parameter "a" : tensor<2x16x6xf32>
}
optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  // expected-error@+1 {{'optim.group' op expected split or per_head, not both}}
  optim.group @g ["a"] uses @sgd lr 0.1 split [8, 8] per_head 4
  optim.parameter "a" : tensor<16x6xf32>
}
optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  // expected-error@+1 {{'optim.group' op expected split to hold at least 1 row a block, but got 0}}
  optim.group @g ["a"] uses @sgd lr 0.1 split [16, 0]
  optim.parameter "a" : tensor<16x6xf32>
}
optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  // expected-error@+1 {{'optim.group' op expected split to name the rows of each block}}
  optim.group @g ["a"] uses @sgd lr 0.1 split []
  optim.parameter "a" : tensor<16x6xf32>
}
optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  // expected-error@+1 {{'optim.group' op expected per_head to be at least 1 row, but got 0}}
  optim.group @g ["a"] uses @sgd lr 0.1 per_head 0
  optim.parameter "a" : tensor<16x6xf32>
}
optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  // expected-error@+1 {{'optim.group' op states facts of whole matrices, which their blocks (split, per_head, stacked) do not have}}
  optim.group @g ["a"] uses @sgd lr 0.1 facts(#geo.zero_column_sum) per_head 4
  optim.parameter "a" : tensor<16x6xf32>
}
optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  optim.parameter "a" : tensor<8x6xf32>
  // expected-error@+1 {{'optim.batch' op expected a row for each of 1 parameters, but got 2}}
  optim.batch @f update @g squares @q ["a"] rows [0, 4]
}

// -----

optim.spec @s {
  optim.parameter "a" : tensor<8x6xf32>
  // expected-error@+1 {{'optim.batch' op expected rows of at least 0, but got -4}}
  optim.batch @f update @g squares @q ["a"] rows [-4]
}

// -----

optim.spec @s {
  optim.parameter "a" : tensor<8x6xf32>
  // expected-note@+2 {{first here}}
  // expected-error@+1 {{'optim.batch' op expected each parameter in one batch, but 'a' is named twice from row 4}}
  optim.batch @f update @g squares @q ["a", "a"] rows [4, 4]
}

// -----

optim.spec @s {
  optim.group @g ["a"] uses @sgd lr 0.1 split [4, 4] axis 1
  // expected-error@+1 {{'a' in group @g has type 'tensor<16x6xf32>', but its 6 columns are split into blocks of 8 in all}}
  optim.parameter "a" : tensor<16x6xf32>
}

optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  optim.group @g ["a"] uses @sgd lr 0.1 per_head 4 axis 1
  // expected-error@+1 {{its 6 columns are no multiple of the 4 columns of a head}}
  optim.parameter "a" : tensor<16x6xf32>
}

optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected axis 0 (rows) or 1 (columns), but got 2}}
  optim.group @g ["a"] uses @sgd lr 0.1 split [8, 8] axis 2
}

optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected split or per_head with axis, which says what they cut}}
  optim.group @g ["a"] uses @sgd lr 0.1 axis 1
}

optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected split to hold at least 1 column a block, but got 0}}
  optim.group @g ["a"] uses @sgd lr 0.1 split [6, 0] axis 1
}

optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected split to name the columns of each block}}
  optim.group @g ["a"] uses @sgd lr 0.1 split [] axis 1
}

optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @s {
  optim.parameter "a" : tensor<8x6xf32>
  // expected-error@+1 {{expected a column for each of 1 parameters, but got 2}}
  optim.batch @f update @g squares @q ["a"] columns [0, 4]
}

// -----

optim.spec @s {
  optim.parameter "a" : tensor<8x6xf32>
  // expected-error@+1 {{expected columns of at least 0, but got -4}}
  optim.batch @f update @g squares @q ["a"] columns [-4]
}
