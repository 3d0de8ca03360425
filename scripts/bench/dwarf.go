//go:build linux

package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// unit is a source that brings much debug information: standard templates, and one function that is
// on the stack, with a call inlined.
const unit = `#include <algorithm>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
extern "C" long next_unit(long);
namespace {
template <class K> long use(long k) {
	std::map<K, std::vector<std::string>> tree;
	std::unordered_map<std::string, std::map<K, long>> table;
	std::variant<K, std::string, std::vector<K>> choice = std::to_string(k);
	std::regex words("([a-z]+)|(" + std::to_string(k) + ")*");
	std::function<long(long)> f = [&](long v) { return v + (long)tree.size(); };
	auto later = std::async(std::launch::deferred, f, k);
	std::ostringstream out;
	out << k << std::regex_replace(std::string("abc"), words, "x");
	tree[(K)k].push_back(out.str());
	table[out.str()][(K)k] = std::visit([](auto &v) { return (long)sizeof v; }, choice);
	std::vector<K> all(k);
	std::mt19937_64 dice(k);
	std::shuffle(all.begin(), all.end(), dice);
	std::stable_sort(all.begin(), all.end());
	return later.get() + (long)table.size() + (long)all.front();
}
inline __attribute__((always_inline)) long through(long k) { return next_unit(k + 1) + 1; }
}
extern "C" __attribute__((noinline)) long this_unit(long k) {
	if (k < 0)
		return use<int>(k) + use<long>(k) + use<short>(k) + use<unsigned char>(k);
	return through(k) + 1;
}
`

const lastUnit = `#include <stdio.h>
#include <unistd.h>
long unit_last(long k) { puts("R"); fflush(stdout); while (k) pause(); return k; }
long unit_0(long k);
int main(int n, char **v) { (void)v; return (int)unit_0(n); }
`

// buildUnits makes a program below dir that waits below calls through so many units that they
// have 100 MB of debug information. One unit is compiled, and copied under other names.
func buildUnits(dir string) (program string, megabytes float64, err error) {
	for name, text := range map[string]string{"unit.cc": unit, "last.c": lastUnit} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", 0, err
		}
	}
	script := `set -e
g++ -O2 -g -c -o unit.o unit.cc; gcc -O2 -g -c -o last.o last.c
size=$(size -A unit.o | awk '/^\.debug/ { s += $2 } END { print s }')
n=$((165000000 / size + 1)) i=0 all= # the linker joins strings and drops copies
while [ $i -lt $n ]; do
	next=unit_$((i + 1)); [ $((i + 1)) -lt $n ] || next=unit_last
	objcopy --redefine-sym this_unit=unit_$i --redefine-sym next_unit=$next unit.o u$i.o
	all="$all u$i.o"; i=$((i + 1))
done
g++ -o units last.o $all`
	c := exec.Command("sh", "-c", script)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return "", 0, fmt.Errorf("build the program with much debug information: %w: %s", err, out)
	}
	program = filepath.Join(dir, "units")
	f, err := elf.Open(program)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	size := uint64(0)
	for _, s := range f.Sections {
		if len(s.Name) > 6 && s.Name[:6] == ".debug" {
			size += s.Size
		}
	}
	return program, float64(size) / 1e6, nil
}

// dwarf compares the first dump of a process with 100 MB of debug information, lines and inlined
// calls included, with eu-stack and with gdb.
func (b *bench) dwarf() error {
	dir, err := os.MkdirTemp("", "bench-dwarf")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, megabytes, err := buildUnits(dir)
	if err != nil {
		return err
	}
	pid, stop, err := target(true, program)
	if err != nil {
		return err
	}
	defer stop()
	ours := []string{b.fpstack, "-p", pid}
	r, err := measure(ours...)
	if err != nil {
		return err
	}
	copies, err := filepath.Glob(filepath.Join(dir, "u[0-9]*.o"))
	if got := bytes.Count(r.output, []byte("through  "+dir+"/unit.cc:")); err != nil || got != len(copies) {
		return fmt.Errorf("%d inlined calls with a line, want %d, in %.2000s", got, len(copies), r.output)
	}
	what := fmt.Sprintf("first dump, %.0f MB of debug information", megabytes)
	for _, peer := range []struct {
		name   string
		rounds int
		argv   []string
	}{
		{"eu-stack -s -i", min(b.rounds, 5), []string{"eu-stack", "-s", "-i", "-p", pid}},
		{"gdb", min(b.rounds, 3), []string{"gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex",
			"thread apply all bt", "-p", pid}},
	} {
		rs, err := contest(peer.rounds, ours, peer.argv)
		if err != nil {
			return err
		}
		row(what+", against "+peer.name, medianOf(rs[0], milliseconds), medianOf(rs[1], milliseconds), 1, "ms")
		if err := memory(what+", beside "+peer.name, 150, ours, peer.argv); err != nil {
			return err
		}
	}
	used, err := peak(ours)
	if err != nil {
		return err
	}
	row(what+", peak memory, against 150 MiB", used/1024, 150, 1, "MiB")
	return nil
}
