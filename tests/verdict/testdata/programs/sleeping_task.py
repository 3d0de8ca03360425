# Waits for a task that sleeps, for half a minute.
import concurrent.futures, time

def backoff():
    time.sleep(30)

with concurrent.futures.ThreadPoolExecutor(2) as pool:
    future = pool.submit(backoff)
    print("ready", flush=True)
    future.result()
