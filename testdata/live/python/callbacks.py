"""Python called by C called by Python: ctypes, sorted, a signal handler, a destructor."""
import ctypes
import signal
import time

import truth

libc = ctypes.CDLL(None)
compare_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


def work(n):
    total = 0
    for i in range(n):
        total += i
    return total


@compare_type
def compare(a, b):
    work(30)
    return a[0] - b[0]


class Dying:
    def __del__(self):
        work(200)


def handler(*_):
    work(300)


def sort():
    numbers = (ctypes.c_int * 8)(3, 1, 4, 1, 5, 9, 2, 6)
    libc.qsort(numbers, len(numbers), ctypes.sizeof(ctypes.c_int), compare)
    return numbers[0]


def main():
    while True:
        sort()
        Dying()
        sorted([3, 1, 2], key=lambda x: sort())
        signal.setitimer(signal.ITIMER_REAL, 0.0005)
        work(2000)


signal.signal(signal.SIGALRM, handler)
truth.ready()
main()
