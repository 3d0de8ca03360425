# Waits for a lock whose holder sleeps, for half a minute.
import threading, time

lock, locked = threading.Lock(), threading.Event()

def throttle():
    while True:
        with lock:
            locked.set()
            time.sleep(30)

threading.Thread(target=throttle, daemon=True).start()
locked.wait()
print("ready", flush=True)
with lock:
    pass
