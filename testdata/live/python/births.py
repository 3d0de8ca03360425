"""Threads that live for some milliseconds each, one begun by the end of another: they compute and sleep."""
import threading
import time


def born():
    end = time.perf_counter() + 0.004
    while time.perf_counter() < end:
        pass
    time.sleep(0.004)


print("ready", flush=True)
while True:
    one, two = threading.Thread(target=born), threading.Thread(target=born)
    one.start()
    time.sleep(0.002)
    two.start()
    one.join()
    two.join()
