package procfs

import "testing"

func TestParseIO(t *testing.T) {
	const text = "rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\nread_bytes: 0\n" +
		"write_bytes: 323932160\ncancelled_write_bytes: 0\n"
	want := IO{Read: 323934931, Written: 323929600, Writes: 632675}
	if got, ok := ParseIO([]byte(text)); !ok || got != want {
		t.Errorf("got %+v, %v, want %+v", got, ok, want)
	}
	for _, bad := range []string{"", "rchar: 1\nwchar: 2\n", "rchar: 1\nwchar: -2\nsyscw: 3\n", "rchar 1\n"} {
		if got, ok := ParseIO([]byte(bad)); ok {
			t.Errorf("of %q got %+v", bad, got)
		}
	}
}
