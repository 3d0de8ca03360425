// Coroutines that wait, N of each kind, beside others that come to their end all the time. A line that ends in a mark is
// where those of that kind wait.
#include <unistd.h>

#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using handle = std::coroutine_handle<>;

// final lets go on who waits.
struct final_awaiter {
	bool await_ready() noexcept { return false; }
	template <class P> handle await_suspend(std::coroutine_handle<P> h) noexcept {
		return h.promise().continuation ? h.promise().continuation : std::noop_coroutine();
	}
	void await_resume() noexcept {}
};

struct promise_base {
	std::suspend_always initial_suspend() noexcept { return {}; }
	final_awaiter final_suspend() noexcept { return {}; }
	void unhandled_exception() { std::terminate(); }
};

template <class T> struct result : promise_base {
	T value{};
	handle continuation;
	void return_value(T v) { value = std::move(v); }
	T get() { return std::move(value); }
};

template <> struct result<void> : promise_base {
	handle continuation;
	void return_void() {}
	void get() {}
};

// task is what begins when it is awaited, and belongs to who has it.
template <class T> struct [[nodiscard]] task {
	struct promise_type : result<T> {
		task get_return_object() { return task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
	};
	std::coroutine_handle<promise_type> h;
	explicit task(std::coroutine_handle<promise_type> h) : h(h) {}
	task(task &&o) : h(std::exchange(o.h, nullptr)) {}
	~task() {
		if (h) h.destroy();
	}
	bool await_ready() const { return h.done(); }
	handle await_suspend(handle by) {
		h.promise().continuation = by;
		return h;
	}
	T await_resume() { return h.promise().get(); }
};

// eager begins at once and belongs to nobody.
struct eager {
	struct promise_type {
		eager get_return_object() { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
};

struct generator {
	struct promise_type {
		int value;
		generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(int v) {
			value = v;
			return {};
		}
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
	std::coroutine_handle<promise_type> h;
};

// event keeps who waits for it.
struct event {
	std::vector<handle> waiters;
	bool await_ready() const { return false; }
	void await_suspend(handle h) { waiters.push_back(h); }
	int await_resume() { return static_cast<int>(waiters.size()); }
	void set() {
		for (handle h : std::exchange(waiters, {})) h.resume();
	}
};

// mutex has those that wait for it in a list through their frames.
struct async_mutex {
	struct lock_awaiter {
		async_mutex &of;
		lock_awaiter *next = nullptr;
		handle by;
		bool await_ready() {
			if (of.locked) return false;
			return of.locked = true;
		}
		void await_suspend(handle h) {
			by = h;
			next = of.first;
			of.first = this;
		}
		int await_resume() { return of.owners++; }
	};
	bool locked = false;
	int owners = 0;
	lock_awaiter *first = nullptr;
	lock_awaiter lock() { return {*this}; }
};

struct nowhere {
	bool await_ready() const { return false; }
	void await_suspend(handle) {}
	int await_resume() { return value; }
	int value = 1;
};

event stuck, timer;
async_mutex pool;
long work;

task<int> fetch_row(int i) {
	int v = co_await stuck; // chain 1
	co_return v + i;
}

task<int> load_order(int i) {
	int sum = 0;
	for (int k = 0; k < 3; k++) {
		sum += co_await fetch_row(i + k); // chain 2
	}
	co_return sum;
}

struct service {
	long calls = 0;
	task<long> handle_request(int i) {
		calls++;
		long v = co_await load_order(i); // chain 3
		calls += v;
		long w = co_await fetch_row(2);
		co_return v + w + calls;
	}
};

task<void> locker(int i) {
	work += i;
	int n = co_await pool.lock(); // lock 1
	work += n;
}

task<void> uses_pool(int i) {
	co_await locker(i); // lock 2
	work++;
	co_await locker(i + 1);
}

task<std::string> text(int i) {
	std::string s = std::to_string(i);
	s += std::to_string(co_await timer); // text 1
	co_return s;
}

task<int> length(int i) {
	std::string s = co_await text(i); // text 2
	co_return static_cast<int>(s.size());
}

task<int> deep(int n) {
	if (n == 0) co_return co_await stuck; // deep 1
	int v = co_await deep(n - 1); // deep 2
	co_return v + 1;
}

template <class T> task<T> twice(T v) {
	T n = co_await stuck; // template 1
	co_return n + v;
}

// It has another that has not begun, which it does not wait for.
task<int> keeps(int i) {
	task<int> later = fetch_row(i); // keeps 2
	int v = co_await stuck; // keeps 1
	co_return v + co_await std::move(later);
}

eager detached(int i) {
	work += i;
	work += co_await timer; // detached 1
	work++;
}

eager lost(int i) {
	work += co_await nowhere{i}; // lost 1
	work++;
}

generator counts(int i) {
	for (;; i++) {
		co_yield i; // generator 1
	}
}

task<int> brief(event &e, int i) {
	int v = co_await e;
	co_return v + i;
}

task<int> outer(event &e, int i) {
	int v = co_await brief(e, i);
	co_return v + co_await brief(e, v);
}

// churn makes coroutines that come to their end.
void churn() {
	for (int round = 0;; round++) {
		event e;
		std::vector<task<int>> all;
		for (int i = 0; i < 20; i++) {
			all.push_back(outer(e, i));
			all.back().h.resume();
		}
		e.set();
		e.set();
		if (round % 16 == 0) usleep(1000);
	}
}

int main(int, char **argv) {
	int n = atoi(argv[1]);
	service s;
	std::vector<task<long>> requests;
	std::vector<task<void>> lockers;
	std::vector<task<int>> others;
	std::vector<generator> generators;
	auto lambda = [](int i) -> task<int> {
		int v = co_await stuck; // lambda 1
		co_return v + i;
	};
	pool.locked = true;
	for (int i = 0; i < n; i++) {
		requests.push_back(s.handle_request(i));
		requests.back().h.resume();
		lockers.push_back(uses_pool(i));
		lockers.back().h.resume();
		for (auto t : {&length, &keeps}) others.push_back(t(i));
		others.push_back(deep(4));
		others.push_back(twice<int>(i));
		others.push_back(lambda(i));
		for (size_t k = others.size() - 5; k < others.size(); k++) others[k].h.resume();
		detached(i);
		lost(i);
		generators.push_back(counts(i));
		generators.back().h.resume();
	}
	if (argv[2]) std::thread(churn).detach();
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
