"""Two subinterpreters, each run by a thread of the main one; with GILS=1 each has a second thread, and both want its
GIL all the time."""
import os
import threading

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

begun, begins = os.pipe()

CODE = """
import os, time
gils = bool(os.environ.get("GILS"))
def insub():
    os.write(%d, b"1")
    while True:
        total = 0
        for i in range(1000):
            total += i
        if not gils:
            time.sleep(0)
if gils:
    import threading
    threading.Thread(target=insub).start()
insub()
""" % begins


def runs():
    interpreter = interpreters.create()
    run = getattr(interpreters, "exec", None) or interpreters.run_string
    run(interpreter, CODE)


for _ in range(2):
    threading.Thread(target=runs, daemon=True).start()
for _ in range(4 if os.environ.get("GILS") else 2):
    os.read(begun, 1)
print("ready", flush=True)
threading.Event().wait()
