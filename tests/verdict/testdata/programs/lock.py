# Locks a file and waits for ever, or tries to lock it each half second.
import fcntl, os, sys, time

f = open("lock-frontend", "w")
if len(sys.argv) > 1:
    fcntl.lockf(f, fcntl.LOCK_EX)
    open("locked", "w").close()
    time.sleep(100000)
print("ready", flush=True)
while True:
    try:
        fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        break
    except OSError:
        time.sleep(0.5)
