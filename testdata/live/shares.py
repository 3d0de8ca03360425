"""Three functions that have known shares of the time, called by C (sorted) and calling it (zlib). Each quarter of a
second a line with the seconds that half, third and fifth took so far; the chain is always a prefix of
<module>, main, pick, one of the three, work. With an argument as many threads wait beside."""
import random
import sys
import threading
import time
import zlib

DATA = bytes(range(256)) * 16
spent = [0.0, 0.0, 0.0]


def work(until):
    while time.perf_counter() < until:
        zlib.crc32(DATA)


def half(start):
    work(start + random.uniform(0.001, 0.009))


def third(start):
    work(start + random.uniform(0.001, 0.005))


def fifth(start):
    work(start + random.uniform(0.001, 0.003))


FUNCTIONS = [half, third, fifth]


def pick(n):
    start = time.perf_counter()
    FUNCTIONS[n](start)
    spent[n] += time.perf_counter() - start


def main():
    said = 0.0
    while True:
        sorted([random.randrange(3)], key=pick)
        now = time.perf_counter()
        if now - said > 0.25:
            said = now
            print(*spent, flush=True)


event = threading.Event()
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 0):
    threading.Thread(target=event.wait, daemon=True).start()
print("R", flush=True)
main()
