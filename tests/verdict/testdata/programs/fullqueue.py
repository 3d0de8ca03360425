# The child's thread writes to a pipe that nobody reads: its parent waits for the end of the child first.
import multiprocessing

def fill(rows):
    for _ in range(100_000):
        rows.put("x" * 100)

if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    rows = multiprocessing.Queue()
    child = multiprocessing.Process(target=fill, args=(rows,))
    child.start()
    print("ready", flush=True)
    child.join()  # HERE
