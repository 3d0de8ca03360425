# Popen.wait with a pipe that the child fills.
import subprocess, sys

def build():
    p = subprocess.Popen([sys.executable, "child.py"], stdout=subprocess.PIPE)
    print("ready", flush=True)
    p.wait()  # HERE

build()
