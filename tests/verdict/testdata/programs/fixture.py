# A test that starts a server, and asks it for a page that it never sends.
import socket, subprocess, sys, urllib.request

def test_page():
    server = subprocess.Popen([sys.executable, "backend.py"], stdout=subprocess.PIPE)
    port = int(server.stdout.readline())
    with open("out", "a") as f:
        f.write("ready\n")
    urllib.request.urlopen(f"http://127.0.0.1:{port}/").read()
