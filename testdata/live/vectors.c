// A function whose frame is as long as the vectors of the processor (arm64 with SVE).
#include <arm_sve.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
NOINLINE void bottom(void) { for (;;) { pause(); __asm__ volatile(""); } }
// The vector calling convention keeps z8 to z23: this function saves those that it uses.
NOINLINE svfloat64_t vectors(svfloat64_t a, svfloat64_t b) {
  svfloat64_t c = svadd_x(svptrue_b64(), a, b);
  bottom();
  return svmul_x(svptrue_b64(), c, a);
}
NOINLINE double caller(double x) {
  svfloat64_t v = vectors(svdup_f64(x), svdup_f64(2));
  return svaddv(svptrue_b64(), v);
}
int main(int argc, char **argv) { return caller(argc) > 3; }
