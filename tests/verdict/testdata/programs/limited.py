# A batch that may ask once in 30 seconds, beside a thread that writes what comes.
import queue, threading, time

done = queue.Queue()

def write():
    while True:
        done.get()

threading.Thread(target=write, daemon=True).start()
for i in range(1000):
    done.put(i)
    print("ready", flush=True)
    time.sleep(30)
