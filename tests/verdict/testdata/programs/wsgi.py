# Two requests at once take two locks in two orders.
import threading, time

first, second = threading.Lock(), threading.Lock()
both = threading.Barrier(2)

def transfer(one, other):
    with one:
        both.wait()
        with open("out", "a") as f:
            f.write("locked\n")
        with other:  # HERE
            return b"ok"

def app(environ, start_response):
    path = environ["PATH_INFO"]
    body = b"idle"
    if path == "/a":
        body = transfer(first, second)
    if path == "/b":
        body = transfer(second, first)
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
