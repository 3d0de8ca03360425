// mixed.cc is built by tests with many options: templates, lambdas, local classes, anonymous
// namespaces, exceptions, code in and out of line.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace {
struct Counter {
	int n = 0;
	int next() { return ++n; }
	static Counter &self() { static Counter c; return c; }
};
inline int twice(int x) { return x * 2; }
}

namespace outer { namespace inner {
template <class T> struct Box {
	std::vector<T> items;
	__attribute__((noinline)) void put(T x) {
		items.push_back(x);
		if (items.size() > 1000) throw std::runtime_error("full");
	}
	T sum() const { return std::accumulate(items.begin(), items.end(), T()); }
};
class Shape {
public:
	virtual ~Shape() {}
	virtual double area() const = 0;
};
class Square : public Shape {
	double side;
public:
	explicit Square(double s) : side(s) {}
	double area() const override { return side * side; }
};
class Circle : public Shape {
	double r;
public:
	explicit Circle(double r) : r(r) {}
	double area() const override { return 3.14159 * r * r; }
};
}}

static inline __attribute__((always_inline)) int deep3(int x) { return twice(x) + Counter::self().next(); }
static inline __attribute__((always_inline)) int deep2(int x) { return deep3(x + 1) ^ deep3(x + 2); }
static inline __attribute__((always_inline)) int deep1(int x) { return deep2(x) - deep2(x * 3); }

extern "C" __attribute__((noinline)) int c_function(int n) {
	int s = 0;
	for (int i = 0; i < n; i++) s += deep1(i);
	return s;
}

__attribute__((noinline)) int local_class(int n) {
	struct Local {
		int k;
		int go(int x) { return x * k + deep3(x); }
	};
	Local l{n};
	std::vector<int> v(n);
	std::generate(v.begin(), v.end(), [&]() { return l.go(Counter::self().next()); });
	std::sort(v.begin(), v.end(), [](int a, int b) { return a % 7 < b % 7 || (a % 7 == b % 7 && a < b); });
	return std::accumulate(v.begin(), v.end(), 0);
}

std::map<std::string, int> words(const std::string &text) {
	std::map<std::string, int> out;
	std::istringstream in(text);
	std::string w;
	while (in >> w) out[w]++;
	return out;
}

std::string replace(const std::string &s) {
	std::regex re("([a-z]+)([0-9]*)");
	return std::regex_replace(s, re, "<$1:$2>");
}

int main(int argc, char **argv) {
	outer::inner::Box<int> b;
	outer::inner::Box<std::string> bs;
	std::vector<std::unique_ptr<outer::inner::Shape>> shapes;
	for (int i = 0; i < argc + 3; i++) {
		b.put(i);
		bs.put(std::to_string(i));
		if (i & 1) shapes.emplace_back(new outer::inner::Square(i));
		else shapes.emplace_back(new outer::inner::Circle(i));
	}
	double area = 0;
	for (auto &s : shapes) area += s->area();
	std::unordered_map<int, std::string> m;
	std::function<int(int)> f = [&](int x) { m[x] = replace(argv[0]); return x + (int)m.size(); };
	try {
		printf("%d %s %f %d %d %d\n", b.sum(), bs.sum().c_str(), area, c_function(argc), local_class(argc + 10), f(argc));
	} catch (const std::exception &e) {
		puts(e.what());
	}
	for (auto &p : words("a b c a b")) printf("%s %d\n", p.first.c_str(), p.second);
	return 0;
}
