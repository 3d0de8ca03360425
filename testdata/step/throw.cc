// Exceptions: through destructors, cold code and a C call-back, caught, thrown again.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))
static volatile long sink;

struct Guard {
  std::string name;
  explicit Guard(const char *n) : name(n) {}
  NOINLINE ~Guard() { sink = sink + name.size(); }
};

NOINLINE void thrower(int n) {
  Guard g("a name that is too long for the small buffer");
  if (n == 0) throw std::runtime_error("bottom");
  thrower(n - 1);
}

NOINLINE void rethrower() {
  Guard g("rethrower");
  try {
    thrower(3);
  } catch (const std::logic_error &) {
    sink = sink + 1;
  } catch (const std::exception &e) {
    sink = sink + e.what()[0];
    throw;
  }
}

NOINLINE void cold(int n) {
  Guard g("cold");
  if (__builtin_expect(n > 1, 0)) throw n;
  sink = sink + n;
}

struct Base {
  virtual ~Base() = default;
  virtual long value(int n) = 0;
};
struct Derived : Base {
  NOINLINE long value(int n) override {
    std::map<int, std::string> m;
    for (int i = 0; i < n; i++) m[i * 7 % 5] = std::to_string(i);
    return m.size();
  }
};

static int compare(const void *a, const void *b) {
  if (*static_cast<const int *>(a) == 3) throw 3;
  return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

int main() {
  try {
    rethrower();
  } catch (const std::runtime_error &e) {
    sink = sink + e.what()[0];
  }
  for (int i = 0; i < 3; i++) try {
      cold(i);
    } catch (int n) {
      sink = sink + n;
    }
  int v[] = {1, 2, 3, 4};
  try {
    qsort(v, 4, sizeof v[0], compare);
  } catch (int) {
    sink = sink + 1;
  }
  try {
    std::vector<int>().at(3);
  } catch (const std::out_of_range &) {
    sink = sink + 1;
  }
  Derived d;
  Base *b = &d;
  std::printf("%d\n", b->value(4) != 0);
  return 0;
}
