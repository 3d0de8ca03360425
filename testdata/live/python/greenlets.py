"""Greenlets that wait in several ways. The last one runs, and calls in a strict order."""
import threading

import greenlet


def leaf(main):
    main.switch()


def middle(main):
    leaf(main)


def by_sorted(main):
    return sorted([1], key=lambda _: middle(main))


class Derived(greenlet.greenlet):
    def run(self, main):
        for _ in self.numbers(main):
            pass

    def numbers(self, main):
        yield 1
        middle(main)


def spins(n):
    while n:
        n -= 1


def switches(turns):
    """Goes deep, lets the other go deep on the same stack, and comes back."""
    if turns:
        switches(turns - 1)
    elif others:
        others[greenlet.getcurrent()].switch()
    spins(50)


def ping():
    while True:
        switches(20)


def pong():
    while True:
        switches(3)


def other_thread():
    main = greenlet.getcurrent()
    kept = greenlet.greenlet(middle)
    kept.switch(main)
    threads_ready.release()
    threading.Event().wait()


others = {}
threads_ready = threading.Semaphore(0)
main = greenlet.getcurrent()
waiting = [greenlet.greenlet(by_sorted) for _ in range(3)] + [Derived()]
for g in waiting:
    g.switch(main)
ended = greenlet.greenlet(spins)
ended.switch(1)
begins = greenlet.greenlet(spins)
threading.Thread(target=other_thread, daemon=True).start()
threads_ready.acquire()
first, second = greenlet.greenlet(ping), greenlet.greenlet(pong)
others.update({first: second, second: first})
print("ready", flush=True)
first.switch()
