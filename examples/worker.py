"""worker: threads of Python that wait for work which nobody gives them. It ends after an hour."""
import queue
import threading
import time

jobs = queue.Queue()


def next_job():
    return jobs.get()


def work():
    while True:
        next_job()()


for number in range(3):
    threading.Thread(target=work, name=f"worker-{number}", daemon=True).start()
time.sleep(3600)
