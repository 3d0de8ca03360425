"""Threads that do different things, each with one stack that is known by its name."""
import hashlib
import os
import queue
import threading
import time


def spin_leaf(n):
    total = 0
    for i in range(n):
        total += i
    return total


def spin():
    while True:
        spin_leaf(1000)


def holds(lock):
    with lock:
        time.sleep(1000)


def wants(lock):
    with lock:
        pass


def sleeps():
    time.sleep(1000)


def reads(fd):
    os.read(fd, 1)


def hashes():
    data = b"x" * 2000000
    while True:
        hashlib.sha256(data)


def takes(q):
    q.get()


lock = threading.Lock()
r, w = os.pipe()
for name, target, args in [("spin-0", spin, ()), ("spin-1", spin, ()), ("holder", holds, (lock,)),
                           ("locker", wants, (lock,)), ("sleeper", sleeps, ()), ("reader-日本", reads, (r,)),
                           ("hasher", hashes, ()), ("taker", takes, (queue.Queue(),))]:
    threading.Thread(target=target, args=args, name=name, daemon=True).start()
    time.sleep(0.02)
print("ready", flush=True)
threading.Event().wait()
