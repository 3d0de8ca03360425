"""Says how much CPU time four of its functions took, by the clock of its thread: a loop, a copy in C, objects that the
garbage collector sees, and exceptions."""
import time

DATA = bytes(1 << 18)
clock = time.thread_time if hasattr(time, "thread_time") else time.process_time
sink = 0


def numbers():
    global sink
    x = sink
    for i in range(5000):
        x = (x * 31 + i) & 0xffffffff
    sink = x


def copies():
    global sink
    for i in range(40):
        sink += len(bytearray(DATA))


def objects():
    global sink
    rows = [{"key": [i, None]} for i in range(1500)]
    for row in rows:
        row["key"][1] = row
    sink += len(rows)


def failures():
    global sink
    for i in range(1000):
        try:
            int("x")
        except ValueError:
            sink += 1


def main():
    spent, said = {numbers: 0.0, copies: 0.0, objects: 0.0, failures: 0.0}, time.time()
    while True:
        for part in spent:
            begin = clock()
            part()
            spent[part] += clock() - begin
        if time.time() - said > 0.25:
            said = time.time()
            print("shares", " ".join("%s %d" % (part.__name__, 1e9 * t) for part, t in spent.items()), flush=True)


main()
