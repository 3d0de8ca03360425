# Waits for an event that is set before it is cleared.
import threading

started = threading.Event()

def await_start():
    started.wait()  # HERE

started.set()
started.clear()
print("ready", flush=True)
await_start()
