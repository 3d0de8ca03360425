"""A call of C that sleeps and keeps the GIL, as extensions do that forget to give it up; another thread wants it."""
import ctypes
import threading

libc = ctypes.PyDLL(None)


def wants():
    while True:
        sum(range(100))


def holds():
    libc.sleep(1000)


threading.Thread(target=wants, daemon=True, name="wants").start()
print("ready", flush=True)
holds()
