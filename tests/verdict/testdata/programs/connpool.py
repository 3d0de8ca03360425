# A pool of connections for three requests. The first two keep theirs for ever (leak), or give them back (turns).
import queue
import sys
import threading
import time

idle = queue.Queue()
for number in range(2):
    idle.put(number)
leaks = sys.argv[1] == "leak"
leaked = []


def checkout():
    return idle.get()  # HERE


def request():
    while True:
        connection = checkout()
        if leaks:
            leaked.append(connection)
            return
        time.sleep(0.3)
        idle.put(connection)


threads = [threading.Thread(target=request) for _ in range(2)]
for t in threads:
    t.start()
if leaks:
    for t in threads:
        t.join()
print("ready", flush=True)
request()
