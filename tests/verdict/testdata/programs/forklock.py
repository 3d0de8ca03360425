# A child of a fork wants a lock that a thread of its parent had.
import os, threading, time

locked = threading.Event()
lock = threading.Lock()

def flusher():
    with lock:
        locked.set()
        while True:
            time.sleep(0.2)

def child():
    with lock:  # HERE
        pass

threading.Thread(target=flusher, daemon=True).start()
locked.wait()
pid = os.fork()
if pid == 0:
    child()
    os._exit(0)
with open("culprit", "w") as f:
    f.write(str(pid))
print("ready", flush=True)
os.waitpid(pid, 0)
