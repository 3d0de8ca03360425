// second.cc is a unit of its own beside mixed.cc, so that units and functions refer to each other
// where the linker optimizes.
#include <string>
#include <vector>

struct Tree {
	Tree *left = nullptr, *right = nullptr;
	std::string key;
	int depth() const { return 1 + std::max(left ? left->depth() : 0, right ? right->depth() : 0); }
	void insert(const std::string &k) {
		Tree *&t = k < key ? left : right;
		if (t) t->insert(k);
		else { t = new Tree; t->key = k; }
	}
};

int second(const std::vector<std::string> &v) {
	Tree t;
	for (auto &s : v) t.insert(s);
	return t.depth();
}
