# A thread beats; the first one waits for a child that sleeps between its steps.
import subprocess, sys, threading, time

def beat():
    while True:
        time.sleep(0.5)

threading.Thread(target=beat, daemon=True).start()
print("ready", flush=True)
subprocess.run([sys.executable, "-c", "import time\nwhile True: sum(range(10**6)); time.sleep(0.2)"])
