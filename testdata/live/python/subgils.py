"""Two subinterpreters, each with two threads that want its GIL."""
import os
import threading

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

begun, begins = os.pipe()

CODE = """
import os, threading
def insub():
    os.write(%d, b"1")
    while True:
        total = 0
        for i in range(1000):
            total += i
threading.Thread(target=insub).start()
insub()
""" % begins


def runs():
    interpreter = interpreters.create()
    run = getattr(interpreters, "exec", None) or interpreters.run_string
    run(interpreter, CODE)


for _ in range(2):
    threading.Thread(target=runs, daemon=True).start()
for _ in range(4):
    os.read(begun, 1)
print("ready", flush=True)
threading.Event().wait()
