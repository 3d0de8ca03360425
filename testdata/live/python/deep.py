"""900 frames, or as many as DEPTH says, that end in a sleep."""
import os
import sys
import time

sys.setrecursionlimit(5000)


def down(n):
    if n == 0:
        print("ready", flush=True)
        while True:
            time.sleep(100)
    return down(n - 1)


down(int(os.environ.get("DEPTH", 900)) - 1)
