package snapshot

import "fmt"

// FormatError says what in a recorded file cannot be right.
type FormatError struct {
	What string // the part, as `thread 3`
	Err  error
}

func (e *FormatError) Error() string { return fmt.Sprintf("parse %s: %v", e.What, e.Err) }

func (e *FormatError) Unwrap() error { return e.Err }

// LimitError says that a snapshot is larger than a recorded file may be.
type LimitError struct {
	What    string // "threads", "bytes of memory"
	Has, At uint64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%d %s, at most %d are stored", e.Has, e.What, e.At)
}

// checkJSON adds the bytes of one record to those of all. It fails with a *LimitError if one or all have too many.
func checkJSON(record uint64, all *uint64) error {
	if record > maxRecord {
		return &LimitError{"bytes of JSON in one record", record, maxRecord}
	}
	if *all += record; *all > maxJSON {
		return &LimitError{"bytes of JSON", *all, maxJSON}
	}
	return nil
}
