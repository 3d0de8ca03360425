# Makes cycles of objects all the time, so that the collector runs a lot.
import gc

class Node:
    pass

def grow():
    keep = []
    for i in range(20000):
        a, b = Node(), Node()
        a.other, b.other = b, a
        if i % 10 == 0:
            keep.append(a)
    return keep

print("ready", flush=True)
while True:
    kept = grow()
    gc.collect()
