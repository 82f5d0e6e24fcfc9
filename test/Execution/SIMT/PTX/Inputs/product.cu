// C = A B for row-major matrices of any size, by 16x16 tiles in shared memory.
#define TILE 16
extern "C" __global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float sa[TILE][TILE], sb[TILE][TILE + 1];
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < k; t += TILE) {
    sa[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[(size_t)row * k + t + threadIdx.x] : 0.0f;
    sb[threadIdx.y][threadIdx.x] = t + threadIdx.y < k && col < n ? b[(size_t)(t + threadIdx.y) * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; ++i)
      sum += sa[threadIdx.y][i] * sb[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n)
    c[(size_t)row * n + col] = sum;
}
