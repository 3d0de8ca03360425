# A client of make's jobserver; a daemon keeps all its tokens.
import os, re, subprocess

flags = os.environ["MAKEFLAGS"]
path = re.search(r"fifo:(\S+)", flags)
both = re.search(r"auth=(\d+),(\d+)", flags)
fds = [os.open(path[1], os.O_RDWR)] if path else [int(both[1]), int(both[2])]
subprocess.Popen(["setsid", "sleep", "1000"], pass_fds=fds)
os.read(fds[0], 1)
print("ready", flush=True)
