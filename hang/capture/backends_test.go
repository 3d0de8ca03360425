package capture

import (
	"testing"

	"github.com/fpstack/fpstack/hang"
)

func TestBackendOf(t *testing.T) {
	for title, want := range map[string]hang.Backend{
		"postgres: postgres shop [local] UPDATE waiting":                  hang.BackendWaits,
		"postgres: main: app shop 10.0.0.7(4711) idle in transaction":     hang.BackendInTransaction,
		"postgres: app shop [local] idle in transaction (aborted)  ":      hang.BackendInTransaction,
		"postgres: app shop [local] idle":                                 hang.NoBackend,
		"postgres: checkpointer ":                                         hang.NoBackend,
		"vim notes: idle in transaction":                                  hang.NoBackend,
		"/usr/lib/postgresql/15/bin/postgres -D data idle in transaction": hang.NoBackend,
	} {
		if got := backendOf([]string{title}); got != want {
			t.Errorf("%q: got %q, want %q", title, got, want)
		}
	}
	if got := backendOf(nil); got != hang.NoBackend {
		t.Errorf("no arguments: got %q", got)
	}
}
