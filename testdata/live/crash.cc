// Dies while an exception is in flight: by a destructor that faults, or as nobody catches it.
#include <stdexcept>
#include <string>

struct Guard {
	int *at;
	__attribute__((noinline)) ~Guard() { *(volatile int *)at = 1; }
};

__attribute__((noinline)) static void thrower(int n)
{
	if (n == 0)
		throw std::runtime_error("in flight");
	thrower(n - 1);
	asm volatile("");
}

__attribute__((noinline)) static void guarded(int *at)
{
	Guard guard{at};
	thrower(2);
}

int main(int argc, char **argv)
{
	if (argc > 1 && argv[1] == std::string("uncaught")) {
		thrower(2);
		return 0;
	}
	try {
		guarded((int *)32);
	} catch (const std::exception &) {
		return 1;
	}
	return 0;
}
