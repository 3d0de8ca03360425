/* locks.cc: what C++ waits for. The first argument says how; see locks.c. */
#include "live.h"
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

static std::atomic<int> ready;
static std::atomic<pid_t> id[4];

static void say(const std::string &name, long value) { live_say((name + " " + std::to_string(value) + "\n").c_str()); }

static void settle(int n) {
	for (int i = 0; i < n; i++) {
		while (id[i] == 0)
			live_sleep_us(500);
		live_await_sleep(id[i]);
	}
	live_sleep_us(100000);
	for (int i = 0; i < n; i++)
		say("t" + std::to_string(i), id[i]);
	live_ready();
}

template <class Mutex> static void abba() {
	static Mutex lock[2];
	auto take = [](int i) {
		id[i] = live_tid();
		lock[i].lock();
		for (ready++; ready < 2;)
			live_sleep_us(500);
		lock[1 - i].lock();
	};
	std::thread a(take, 0), b(take, 1);
	settle(2);
	live_forever();
}

/* Two static variables, each of whose initialisers needs the other: on two threads. */
struct Slow {
	Slow(int i);
};
static Slow &one() {
	static Slow value(0);
	return value;
}
static Slow &other() {
	static Slow value(1);
	return value;
}
Slow::Slow(int i) {
	for (ready++; ready < 2;)
		live_sleep_us(500);
	if (i == 0)
		other();
	else
		one();
}

int main(int argc, char **argv) {
	std::string how = argc > 1 ? argv[1] : "mutex";
	live_begin();
	if (how == "mutex")
		abba<std::mutex>();
	else if (how == "recursive")
		abba<std::recursive_mutex>();
	else if (how == "timed")
		abba<std::timed_mutex>();
	else if (how == "shared")
		abba<std::shared_mutex>();
	else if (how == "guard") {
		std::thread a([] { id[0] = live_tid(); one(); }), b([] { id[1] = live_tid(); other(); });
		settle(2);
		live_forever();
	} else if (how == "future") {
		std::promise<int> never;
		std::thread a([&] { id[0] = live_tid(); never.get_future().wait(); });
		settle(1);
		live_forever();
	}
	return 3;
}
