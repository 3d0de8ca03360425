# The worker died of an exception; the queue is never done.
import queue, threading

jobs = queue.Queue()

def worker():
    while True:
        job = jobs.get()
        1 // job
        jobs.task_done()

def finish():
    jobs.join()  # HERE

for job in 1, 0, 2:
    jobs.put(job)
thread = threading.Thread(target=worker)
thread.start()
thread.join()
print("ready", flush=True)
finish()
