// A module with DWARF: lines_leaf, inlined into lines_outer, below lines_main.
// clang --target=wasm32 -g -O1 -nostdlib -Wl,--no-entry -o lines.wasm lines.c
static volatile int cell;

static inline __attribute__((always_inline)) int lines_leaf(int n)
{
	int s = 0;
	while (n-- > 0)
		s += cell * n;
	return s;
}

__attribute__((noinline)) int lines_outer(int n)
{
	int s = lines_leaf(n);
	return s + cell;
}

__attribute__((export_name("lines_main"))) int lines_main(int n)
{
	int s = 0;
	while (n-- > 0)
		s += lines_outer(1000) + cell;
	return s;
}
