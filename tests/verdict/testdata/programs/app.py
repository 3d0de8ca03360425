import os
from celery import Celery
import tasks

app = Celery("app", broker="redis://127.0.0.1:" + open("redis").read())

@app.task
def report():
    tasks.fetch_report(int(open("port").read()))
