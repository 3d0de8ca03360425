import app

for _ in range(2):
    app.report.delay()
