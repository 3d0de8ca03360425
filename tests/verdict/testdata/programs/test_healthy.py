import json, time

def test_many():
    with open("out", "a") as f:
        f.write("ready\n")
    for i in range(10**6):
        json.loads(json.dumps(list(range(20000))))
        time.sleep(0.3)
