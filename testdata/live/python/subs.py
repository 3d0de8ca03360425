"""Two subinterpreters, each run by a thread of the main one."""
import threading
import time

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

CODE = """
import time
def insub():
    while True:
        total = 0
        for i in range(1000):
            total += i
        time.sleep(0)
insub()
"""


def runs():
    interpreter = interpreters.create()
    run = getattr(interpreters, "exec", None) or interpreters.run_string
    run(interpreter, CODE)


for _ in range(2):
    threading.Thread(target=runs, daemon=True).start()
time.sleep(0.5)
print("ready", flush=True)
while True:
    time.sleep(1000)
