import sys, threading
kind = getattr(threading, sys.argv[1])
first, second, both = kind(), kind(), threading.Barrier(2)

def take(one, other):
    with one:
        both.wait()
        with other:  # HERE
            pass

threading.Thread(target=take, args=(first, second)).start()
print("ready", flush=True)
take(second, first)
