"""Sleeps under three calls."""
import sys
import time


def innermost():
    sys.stdout.write("R\n")
    sys.stdout.flush()
    while True:
        time.sleep(3600)


def middle():
    innermost()


def outermost():
    middle()


outermost()
