// except: a C++ exception in flight. The program sleeps in a destructor that runs
// while the exception passes through Guarded's frame.
//
// Truth, from the inside out: pause, Sleeper::~Sleeper, guarded's landing pad,
// caller, main. thrower's frame is gone: phase two has already left it.
#include "live.h"

// staying never becomes 0. A compiler that knew that the destructor never returns would
// drop the handler in main, and without a handler nothing is unwound.
static volatile int staying = 1, sink;

struct Sleeper {
	NOINLINE ~Sleeper() {
		live_ready();
		while (staying) {
			pause();
			sink = sink + 1;
		}
	}
};

NOINLINE static void thrower(int value) {
	if (value > 0)
		throw value;
	sink = sink + 1;
}

NOINLINE static void guarded(int value) {
	Sleeper sleeper;
	thrower(value);
	sink = sink + 1;
}

NOINLINE static void caller(int value) {
	guarded(value);
	sink = sink + 1;
}

int main(int argc, char **) {
	live_begin();
	try {
		caller(argc);
	} catch (int value) {
		sink = value;
	}
	return sink;
}
