"""gil.py THREADS: THREADS threads compute in plain Python and fight for the interpreter's lock.

It prints R when all have begun, then about each second a line with the seconds of its
clock and the number of rounds so far.
"""
import sys
import threading
import time

begin = threading.Event()
rounds = [0] * int(sys.argv[1])


def leaf(n):
    return sum(i * i for i in range(n))


def middle(n):
    return leaf(n) + 1


def work(k):
    begin.wait()
    while True:
        middle(200)
        rounds[k] += 1


for k in range(len(rounds)):
    threading.Thread(target=work, args=(k,), daemon=True).start()
print("R", flush=True)
begin.set()
while True:
    time.sleep(1)
    print(time.monotonic(), sum(rounds), flush=True)
