"""Reads the clock again and again, and says each tenth of a second the longest time between two readings, in ms. With
an argument as many threads wait beside."""
import sys
import threading
import time

event = threading.Event()
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 0):
    threading.Thread(target=event.wait, daemon=True).start()


def watch(clock=time.perf_counter):
    while True:
        longest, last = 0.0, clock()
        end = last + 0.1
        while last < end:
            now = clock()
            if now - last > longest:
                longest = now - last
            last = now
        print(longest * 1e3, flush=True)


print("R", flush=True)
watch()
