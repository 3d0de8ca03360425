import os

def emit():
    os.write(1, b"x" * 300000)  # HERE

emit()
