"""A hundred threads that wait for an event."""
import threading

event = threading.Event()
for _ in range(100):
    threading.Thread(target=event.wait, daemon=True).start()
print("ready", flush=True)
event.wait()
