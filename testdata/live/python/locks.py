"""Threads that wait for locks, as WHAT in the environment says."""
import concurrent.futures
import os
import queue
import threading
import time


def deadlock(kind):
    first, second = kind(), kind()
    both = threading.Barrier(2)

    def takes(one, other):
        with one:
            both.wait()
            with other:
                pass

    threading.Thread(target=takes, args=(first, second), name="one", daemon=True).start()
    threading.Thread(target=takes, args=(second, first), name="other", daemon=True).start()


def ended():
    """One was inside of a block of the lock, another has taken it without one."""
    lock = threading.Lock()
    left, taken = threading.Event(), threading.Event()

    def leaves():
        with lock:
            pass
        left.set()
        time.sleep(1000)

    def takes():
        left.wait()
        lock.acquire()
        taken.set()
        time.sleep(1000)

    def waits():
        taken.wait()
        with lock:
            pass

    for f in leaves, takes, waits:
        threading.Thread(target=f, name=f.__name__, daemon=True).start()
    taken.wait()


def itself():
    """A thread waits for a lock in whose block it is."""
    lock = threading.Lock()

    def again():
        with lock:
            with lock:
                pass

    threading.Thread(target=again, name="again", daemon=True).start()


def joins():
    sleeper = threading.Thread(target=time.sleep, args=(1000,), name="sleeper", daemon=True)
    sleeper.start()
    threading.Thread(target=sleeper.join, name="joiner", daemon=True).start()


def forks():
    """The child waits for a lock that a thread of its parent holds."""
    lock = threading.RLock()
    taken = threading.Event()

    def holds():
        with lock:
            taken.set()
            time.sleep(1000)

    threading.Thread(target=holds, name="holder", daemon=True).start()
    taken.wait()
    if os.fork() == 0:
        with lock:
            pass
    say()
    os.wait()


def awaits():
    """Each thread waits in the standard library by a lock that nobody holds, and has the name of what it waits for."""
    full = queue.Queue(1)
    full.put(0)
    condition, semaphore = threading.Condition(), threading.Semaphore(0)

    def notify():
        with condition:
            condition.wait(timeout=1000)

    class Mine(queue.Queue):
        pass

    waits = {"notify": notify, "event": threading.Event().wait, "barrier": threading.Barrier(2).wait,
             "semaphore": semaphore.acquire, "item": queue.Queue().get, "mine": Mine().get,
             "room": lambda: full.put(1), "done": full.join, "result": concurrent.futures.Future().result,
             "results": lambda: concurrent.futures.wait([concurrent.futures.Future()])}
    for name, f in waits.items():
        threading.Thread(target=f, name=name, daemon=True).start()
    global pool  # it ends with its last reference
    pool = concurrent.futures.ThreadPoolExecutor(2, "pool")
    pool.submit(int).result()
    pool.submit(threading.Event().wait)  # one waits for work, and one in work
    pool.submit(int).result()


def starves():
    """Of a pool of two each waits for work that is in its queue; another waits for one of these, and for nobody's."""
    global pool
    pool = concurrent.futures.ThreadPoolExecutor(2, "worker")
    both = threading.Barrier(2)

    def outer():
        both.wait()
        pool.submit(int).result()

    outers = [pool.submit(outer) for _ in range(2)]
    threading.Thread(target=outers[0].result, name="of-one", daemon=True).start()
    threading.Thread(target=concurrent.futures.Future().result, name="of-nobody", daemon=True).start()


def say():
    time.sleep(0.1)
    print("ready", flush=True)


what = os.environ["WHAT"]
if what == "forks":
    forks()
elif what == "awaits":
    awaits()
elif what == "starves":
    starves()
elif what == "joins":
    joins()
elif what == "ended":
    ended()
elif what == "itself":
    itself()
else:
    deadlock({"rlock": threading.RLock, "lock": threading.Lock, "python": threading._PyRLock}[what])
say()
time.sleep(1000)
