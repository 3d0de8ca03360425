package doctor

import (
	"os"
	"reflect"
)

// ownerOf is the owner of a file. The type that holds it differs between systems, and has no
// such field where files have no owners.
func ownerOf(path string) (int, bool) {
	st, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	v := reflect.Indirect(reflect.ValueOf(st.Sys()))
	if v.Kind() != reflect.Struct {
		return 0, false
	}
	uid := v.FieldByName("Uid")
	if !uid.IsValid() || !uid.CanUint() {
		return 0, false
	}
	return int(uid.Uint()), true
}
