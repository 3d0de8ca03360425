# Waits for items of another process, one each 20 seconds.
import multiprocessing, time

def produce(items):
    while True:
        time.sleep(20)
        items.put(1)

if __name__ == "__main__":
    items = multiprocessing.Queue()
    multiprocessing.Process(target=produce, args=(items,), daemon=True).start()
    print("ready", flush=True)
    while True:
        items.get()
