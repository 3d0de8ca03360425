package report

import (
	"reflect"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// lossless is a copy of doc, which has tags of JSON, as it is written: its strings without loss, its lists never null,
// its times as RFC 3339 has them. Members that JSON leaves out are as in doc.
func lossless[T any](doc *T) *T {
	to := new(T)
	copyLossless(reflect.ValueOf(to).Elem(), reflect.ValueOf(doc).Elem())
	return to
}

// copyLossless sets to, which is a zero value, to such a copy of from.
func copyLossless(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.String:
		to.SetString(profile.Lossless(from.String()))
	case reflect.Slice:
		to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			copyLossless(to.Index(i), from.Index(i))
		}
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			copyLossless(to.Elem(), from.Elem())
		}
	case reflect.Struct:
		to.Set(from)
		if at, ok := from.Interface().(time.Time); ok {
			to.SetZero()
			if utc := jsonTime(at); utc != nil {
				to.Set(reflect.ValueOf(*utc))
			}
			return
		}
		for i := range from.NumField() {
			if from.Type().Field(i).Tag.Get("json") != "-" {
				to.Field(i).SetZero()
				copyLossless(to.Field(i), from.Field(i))
			}
		}
	default:
		to.Set(from)
	}
}

// original is a copy of doc, which lossless made, as it was: of what could not be made by that it has the first error
// in err. A list that is empty is nil.
func (in *dumpReader) original(to, from reflect.Value, err *error) {
	switch from.Kind() {
	case reflect.String:
		to.SetString(in.text(from.String(), err))
	case reflect.Slice:
		if from.Len() > 0 {
			to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		}
		for i := range from.Len() {
			in.original(to.Index(i), from.Index(i), err)
		}
	case reflect.Struct:
		for i := range from.NumField() {
			in.original(to.Field(i), from.Field(i), err)
		}
	default:
		to.Set(from)
	}
}
