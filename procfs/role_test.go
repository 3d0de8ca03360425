package procfs

import (
	"strings"
	"testing"
)

func TestRole(t *testing.T) {
	const spawn = "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, pipe_handle=7)"
	const server = "from multiprocessing.forkserver import main; main(6, 7, ['__main__'], **{'sys_path': ['/srv']})"
	const execnet = "import sys;exec(eval(sys.stdin.readline()))"
	for _, row := range []struct{ name, args, parent, want string }{
		{"fork and exec with the same arguments", "python3|app.py|exec", "python3|app.py|exec", ""},
		{"Django", "python3|manage.py|runserver", "python3|manage.py|runserver", "Django's server of 7"},
		{"Django's reloader", "python3|manage.py|runserver", "bash", "Django's reloader"},
		{"Django's other commands", "python3|manage.py|migrate", "bash", ""},
		{"spawn", "/usr/bin/python3|-c|" + spawn + "|--multiprocessing-fork", "python3|app.py",
			"multiprocessing worker (spawn) of 7"},
		{"resource tracker", "python3.11|-s|-c|from multiprocessing.resource_tracker import main;main(5)",
			"python3|app.py",
			"multiprocessing resource tracker of 7"},
		{"fork server", "python3|-c|" + server, "python3|app.py", "multiprocessing fork server of 7"},
		{"forked by the fork server", "python3|-c|" + server, "python3|-c|" + server,
			"multiprocessing worker (forkserver) of 7"},
		{"fork", "python3|app.py", "python3|app.py", "forked from 7"},
		{"started by another", "python3|app.py", "bash", ""},
		{"xdist", "/v/bin/python|-u|-c|" + execnet, "/v/bin/python|-m|pytest|-n|2", "pytest-xdist worker of 7"},
		{"xdist below the script", "python|-u|-c|" + execnet, "python3|/v/bin/pytest|-n|2", "pytest-xdist worker of 7"},
		{"execnet", "python|-u|-c|" + execnet, "python3|app.py", "execnet worker of 7"},
		{"gunicorn", "python3|/v/bin/gunicorn|-w|2|app:app", "bash", "gunicorn master"},
		{"its worker", "python3|/v/bin/gunicorn|app:app", "python3|/v/bin/gunicorn|app:app", "gunicorn worker of 7"},
		{"celery", "python3|-X|dev|/v/bin/celery|-A|tasks|worker", "bash", "celery worker"},
		{"its pool", "python3|-m|celery|-A|tasks|worker", "python3|-m|celery|-A|tasks|worker",
			"celery pool worker of 7"},
		{"celery's other commands", "python3|-m|celery|-A|tasks|beat", "bash", ""},
		{"Jupyter", "python3|-m|ipykernel_launcher|-f|k.json", "python3|/v/bin/jupyter-lab", "Jupyter kernel"},
		{"not Python", "/usr/sbin/nginx|-g", "/usr/sbin/nginx|-g", ""},
		{"no arguments", "", "", ""},
		{"nothing behind -c", "python3|-c", "python3|-c", "forked from 7"},
	} {
		split := func(s string) []string {
			if s == "" {
				return nil
			}
			return strings.Split(s, "|")
		}
		if got := Role(split(row.args), split(row.parent), 7, !strings.HasSuffix(row.args, "|exec")); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}
