# A task of a pool of one waits for another task of that pool.
from concurrent.futures import ThreadPoolExecutor

pool = ThreadPoolExecutor(1)

def inner():
    return 1

def outer():
    return pool.submit(inner).result()  # HERE

print("ready", flush=True)
pool.submit(outer).result()
