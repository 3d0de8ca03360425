# A consumer waits for an item; the only producer waits for room of another queue, whose consumer is the first.
import queue, threading

requests, replies = queue.Queue(1), queue.Queue(1)

def produce():
    while True:
        requests.put(1)  # HERE

def consume():
    while True:
        replies.put(requests.get())  # HERE

threading.Thread(target=produce).start()
threading.Thread(target=consume).start()
print("ready", flush=True)
