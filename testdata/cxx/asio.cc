// Coroutines of Boost.Asio that wait: N of each kind. A line that ends in a mark is where those of that kind wait.
#include <unistd.h>

#include <utility> // in front: Boost 1.74 uses it without including it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::use_awaitable;
using namespace std::chrono_literals;

asio::awaitable<int> pause_for(int hours) {
	asio::steady_timer t(co_await asio::this_coro::executor);
	t.expires_after(std::chrono::hours(hours));
	co_await t.async_wait(use_awaitable); // timer 1
	co_return hours;
}

asio::awaitable<void> job(int i) {
	int n = co_await pause_for(1 + i); // timer 2
	printf("%d\n", n);
}

asio::awaitable<size_t> request(tcp::socket &s) {
	char b[16];
	size_t n = co_await asio::async_read(s, asio::buffer(b), use_awaitable); // socket 1
	co_return n;
}

asio::awaitable<void> session(tcp::socket s) {
	size_t n = co_await request(s); // socket 2
	printf("%zu\n", n);
}

asio::awaitable<void> server(tcp::acceptor &a) {
	for (;;) {
		tcp::socket s = co_await a.async_accept(use_awaitable); // accept 1
		asio::co_spawn(a.get_executor(), session(std::move(s)), asio::detached);
	}
}

asio::awaitable<void> client(tcp::endpoint to) {
	tcp::socket s(co_await asio::this_coro::executor);
	co_await s.async_connect(to, use_awaitable);
	co_await request(s); // socket 3
}

int main(int, char **argv) {
	int n = atoi(argv[1]);
	asio::io_context io;
	tcp::acceptor a(io, {asio::ip::address_v4::loopback(), 0});
	asio::co_spawn(io, server(a), asio::detached);
	for (int i = 0; i < n; i++) {
		asio::co_spawn(io, job(i), asio::detached);
		asio::co_spawn(io, client(a.local_endpoint()), asio::detached);
	}
	asio::steady_timer ready(io, 300ms);
	ready.async_wait([](auto) {
		puts("ready");
		fflush(stdout);
	});
	io.run();
}
