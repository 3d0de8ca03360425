"""Local variables that hold much, and one that holds a cell."""
import time


def has_cell(pause):
    inner = 7

    def closure():
        return inner
    cell = closure.__closure__[0]
    del closure
    pause()
    return cell


def shows():
    numbers = list(range(99000))
    letters = set(range(99000))
    mapping = {i: i for i in range(99000)}
    has_cell(stops)
    return numbers, letters, mapping


def stops():
    print("ready", flush=True)
    while True:
        time.sleep(100)


shows()
