import queue

def wait_for_row(rows):
    return rows.get()  # HERE

def test_quick():
    assert 1 + 1 == 2

def test_rows():
    with open("out", "a") as f:
        f.write("ready\n")
    assert wait_for_row(queue.Queue()) == 1
