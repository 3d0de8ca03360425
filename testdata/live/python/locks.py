"""Threads that wait for locks, as WHAT in the environment says."""
import os
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


def say():
    time.sleep(0.1)
    print("ready", flush=True)


what = os.environ["WHAT"]
if what == "forks":
    forks()
elif what == "joins":
    joins()
else:
    deadlock({"rlock": threading.RLock, "lock": threading.Lock, "python": threading._PyRLock}[what])
say()
time.sleep(1000)
