"""600 threads that wait, while others begin and end all the time."""
import threading

threading.stack_size(256 << 10)
event = threading.Event()
inside = threading.Semaphore(0)


def waits():
    inside.release()
    event.wait()


def begins():
    while True:
        threads = [threading.Thread(target=int) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()


for _ in range(600):
    threading.Thread(target=waits, daemon=True).start()
for _ in range(600):
    inside.acquire()  # a thread has begun before it is there
threading.Thread(target=begins, daemon=True).start()
print("ready", flush=True)
event.wait()
