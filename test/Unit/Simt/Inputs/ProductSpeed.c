// C (n x n, f32) = A B for bf16 matrices of multiples of 64, on blocks of 128
// threads: 64 x 64 tiles, two stages of asynchronous copies, each warp 32 x 32
// by mma.sync.m16n8k16. ProductSpeed.ll was made of it:
//
//   clang --target=nvptx64-nvidia-cuda -march=sm_80 -Xclang -target-feature
//         -Xclang +ptx70 -O2 -ffp-contract=off -nogpulib -S -emit-llvm
//
// with the names of the intrinsics put in, that clang has no builtins for.
typedef __attribute__((address_space(1))) unsigned short global_half;
typedef __attribute__((address_space(3))) unsigned short shared_half;
typedef __attribute__((address_space(1))) float global_float;
typedef struct {
  int x, y, z, w;
} quad;
typedef struct {
  int x, y;
} pair;
typedef struct {
  float x, y, z, w;
} quadf;

quad ldmatrix4(shared_half *p) __asm__(
    "INTRINSIC.ldmatrix.sync.aligned.m8n8.x4.b16.p3");
quad ldmatrix4t(shared_half *p) __asm__(
    "INTRINSIC.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3");
quadf mma(int, int, int, int, int, int, float, float, float,
          float) __asm__("INTRINSIC.mma.m16n8k16.row.col.bf16");
void copy16(shared_half *,
            global_half *) __asm__("INTRINSIC.cp.async.cg.shared.global.16");
void commit(void) __asm__("INTRINSIC.cp.async.commit.group");
void barrier(int) __asm__("INTRINSIC.barrier.cta.sync.aligned.all");
void wait(int) __asm__("INTRINSIC.cp.async.wait.group");

static __attribute__((address_space(3)))
__attribute__((aligned(16))) unsigned short a_tile[2][64 * 40];
static __attribute__((address_space(3)))
__attribute__((aligned(16))) unsigned short b_tile[2][32 * 72];

static inline __attribute__((always_inline)) void
load(int stage, const global_half *a, const global_half *b, int n, int row,
     int column, int k, int t) {
  for (int i = 0; i < 2; ++i) { // A: 64 x 32, rows of 40 against conflicts.
    int unit = t + 128 * i;
    copy16(&a_tile[stage][unit / 4 * 40 + unit % 4 * 8],
           (global_half *)&a[(long)(row + unit / 4) * n + k + unit % 4 * 8]);
  }
  for (int i = 0; i < 2; ++i) { // B: 32 x 64, rows of 72.
    int unit = t + 128 * i;
    copy16(&b_tile[stage][unit / 8 * 72 + unit % 8 * 8],
           (global_half *)&b[(long)(k + unit / 8) * n + column + unit % 8 * 8]);
  }
  commit();
}

__attribute__((nvptx_kernel)) void
product(const global_half *a, const global_half *b, global_float *c, int n) {
  int t = __nvvm_read_ptx_sreg_tid_x(), lane = t % 32, warp = t / 32;
  int row = __nvvm_read_ptx_sreg_ctaid_y() * 64,
      column = __nvvm_read_ptx_sreg_ctaid_x() * 64;
  int wr = warp / 2 * 32, wc = warp % 2 * 32;
  quadf sums[2][4] = {};
  load(0, a, b, n, row, column, 0, t);
  for (int k = 0; k < n; k += 32) {
    int stage = k / 32 & 1;
    if (k + 32 < n) {
      load(!stage, a, b, n, row, column, k + 32, t);
      wait(1);
    } else
      wait(0);
    barrier(0);
    for (int kk = 0; kk < 32; kk += 16) {
      quad x[2], y[2];
      for (int i = 0; i < 2; ++i)
        x[i] = ldmatrix4(&a_tile[stage][(wr + 16 * i + lane % 16) * 40 + kk +
                                        lane / 16 * 8]);
      for (int j = 0; j < 2; ++j)
        y[j] = ldmatrix4t(&b_tile[stage][(kk + lane % 16) * 72 + wc + 16 * j +
                                         lane / 16 * 8]);
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) {
          quadf s = sums[i][j];
          quad q = y[j / 2];
          sums[i][j] = mma(x[i].x, x[i].y, x[i].z, x[i].w, j % 2 ? q.z : q.x,
                           j % 2 ? q.w : q.y, s.x, s.y, s.z, s.w);
        }
    }
    barrier(0);
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) {
      global_float *to = &c[(long)(row + wr + 16 * i + lane / 4) * n + column +
                            wc + 8 * j + lane % 4 * 2];
      to[0] = sums[i][j].x;
      to[1] = sums[i][j].y;
      to[8 * (long)n] = sums[i][j].z;
      to[8 * (long)n + 1] = sums[i][j].w;
    }
}
