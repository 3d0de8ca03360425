package heap

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/mem"
)

const (
	maxProperties = 1 << 12 // of one object; more are looked through no further
	maxPrototypes = 16      // of one object
)

// Method is how a closure is found from the receiver of its call.
type Method struct {
	Class string // "" where none has it
	Key   string // of the property, as "walk"
}

// MethodOf finds the closure at function from the receiver of the call: class "Robot" and key "walk", also where it is
// called on an object of a subclass. It is false where that cannot be shown: the receiver, or an object in its chain of
// prototypes, has the very closure as a property. The class is the name of the property "constructor" beside it, or,
// of a static method, that of the function that has it. Private methods are no properties, and strings and numbers no
// objects.
//
// It reads objects that move and change, from after the stop too: the answer proves itself by the address of the
// closure, which is to be a copied one.
func (h Heap) MethodOf(receiver Tagged, function mem.Addr) (m Method, ok bool) {
	at, ok := receiver.Object()
	for range maxPrototypes {
		if !ok || !h.isReceiver(at) {
			return m, false
		}
		if key, found := h.keyOf(at, function); found {
			name, err := h.String(key, MaxName) // a Symbol is none
			m.Key = name
			m.Class, _ = h.className(at)
			return m, err == nil && m.Key != constructorKey
		}
		shape, err := h.mapOf(at)
		if err != nil {
			return m, false
		}
		next, err := h.Word(shape, h.Map.Prototype)
		if err != nil {
			return m, false
		}
		at, ok = next.Object()
	}
	return m, false
}

// isReceiver reports whether the object at a is one of JavaScript, and not a string, an Oddball or an object of V8's
// own. Types of those that have properties follow JSReceiver, of which JSGlobalProxy is one of the first.
func (h Heap) isReceiver(a mem.Addr) bool {
	typ, err := h.Type(a)
	return err == nil && h.Types.GlobalProxy != 0 && typ >= h.Types.GlobalObject
}

// keyOf is the key of the property of the object at a that is the closure, or an accessor with it.
func (h Heap) keyOf(a, function mem.Addr) (key Tagged, found bool) {
	_ = h.properties(a, func(k, value Tagged) bool {
		if v, ok := value.Object(); ok && (v == function || h.isAccessorOf(v, function)) {
			key, found = k, true
		}
		return !found
	})
	return key, found
}

// isAccessorOf reports whether the object at a is an AccessorPair with the closure.
func (h Heap) isAccessorOf(a, function mem.Addr) bool {
	typ, err := h.Type(a)
	if err != nil || typ != h.Types.AccessorPair || typ == 0 {
		return false
	}
	const getter, setter = 8, 16
	for _, offset := range []int32{getter, setter} {
		if word, err := h.Word(a, offset); err == nil && word == TagOf(function) {
			return true
		}
	}
	return false
}

// className names the class whose prototype, or which itself, is the object at holder.
func (h Heap) className(holder mem.Addr) (string, bool) {
	if h.IsFunction(holder) {
		return h.functionName(holder)
	}
	class := mem.Addr(0)
	_ = h.properties(holder, func(k, value Tagged) bool {
		if h.isString(k, constructorKey) {
			class, _ = value.Object()
			return false
		}
		return true
	})
	if class == 0 || !h.IsFunction(class) {
		return "", false
	}
	return h.functionName(class)
}

const constructorKey = "constructor"

// functionName is the name of the closure at a, if it has one.
func (h Heap) functionName(a mem.Addr) (string, bool) {
	shared, err := h.FunctionAt(a)
	if err != nil {
		return "", false
	}
	name, _, err := h.Describe(shared)
	return name, err == nil && name != ""
}

// Name is the name of a function with that of its class in front, as V8 shows it: "Robot.walk", "Robot.get val"; the
// key where it has no name. It is the bare name where that begins with the class already, or is not the key's.
func (m Method) Name(name string) string {
	if name == "" {
		name = m.Key
	}
	bare := strings.TrimPrefix(strings.TrimPrefix(name, "get "), "set ")
	if m.Class == "" || bare != m.Key || strings.HasPrefix(name, m.Class+".") {
		return name
	}
	return m.Class + "." + name
}

// isString reports whether t is a string with that text.
func (h Heap) isString(t Tagged, text string) bool {
	a, ok := t.Object()
	if !ok {
		return false
	}
	if n, err := h.uint(a, h.Strings.Length, 4); err != nil || n != uint64(len(text)) {
		return false
	}
	if typ, err := h.Type(a); err != nil || typ >= h.Types.FirstNonstring {
		return false
	}
	got, err := h.String(t, len(text))
	return err == nil && got == text
}

// properties calls f with each named property of the object at a until that returns false.
func (h Heap) properties(a mem.Addr, f func(key, value Tagged) bool) error {
	shape, err := h.mapOf(a)
	if err != nil {
		return err
	}
	field3, err := h.uint(shape, h.Map.BitField3, 4)
	if err != nil {
		return err
	}
	rest, err := h.Word(a, h.ObjectProperties)
	if err != nil {
		return err
	}
	if field3>>uint(h.Map.DictionaryBit)&1 != 0 {
		return h.dictionary(rest, f)
	}
	return h.described(a, shape, rest, h.Map.DescriptorCount.of(field3), f)
}

// entry is a property in an array: three words.
const entry = 3

// described reads properties of an object with a fast map: keys and where their values are come from the map's
// descriptors. Source: DescriptorArray in src/objects/descriptor-array.tq, PropertyDetails in
// src/objects/property-details.h.
func (h Heap) described(a, shape mem.Addr, rest Tagged, n int, f func(key, value Tagged) bool) error {
	word, err := h.Word(shape, h.Map.Descriptors)
	if err != nil {
		return err
	}
	table, ok := word.Object()
	if !ok || n > maxProperties {
		return fmt.Errorf("%w: %d descriptors at %#x", ErrMoved, n, uint64(word))
	}
	words, err := h.words(table, h.DescriptorsData, n*entry)
	if err != nil {
		return err
	}
	inObject, size := h.inObject(shape)
	for ; len(words) >= entry; words = words[entry:] {
		details, ok := words[1].Int()
		if !ok {
			return fmt.Errorf("%w: details of a property are %#x", ErrMoved, uint64(words[1]))
		}
		value := words[2]
		if p := uint32(details); p&uint32(h.Property.Descriptor) == 0 {
			at := h.Property.Index.of(uint64(p))
			if value, err = h.fieldOf(a, rest, at, inObject, size); err != nil {
				return err
			}
		}
		if !f(words[0], value) {
			return nil
		}
	}
	return nil
}

// inObject is where an object of that map has the properties that are in it, and where it ends, in words.
func (h Heap) inObject(shape mem.Addr) (start, end int) {
	first, _ := h.uint(shape, h.Map.InObjectStart, 1)
	size, _ := h.uint(shape, h.Map.InstanceSize, 1)
	return int(first), int(size)
}

// fieldOf reads field number at: those in the object come first, others lie in its property array.
func (h Heap) fieldOf(a mem.Addr, rest Tagged, at, start, end int) (Tagged, error) {
	if start+at < end {
		return h.Word(a, int32(8*(start+at)))
	}
	out, ok := rest.Object()
	if !ok {
		return 0, fmt.Errorf("%w: field %d of the object at %#x", ErrMoved, at, uint64(a))
	}
	return h.Word(out, h.ArrayData+int32(8*(at-(end-start))))
}

// dictionary reads the properties of an object that has them in a NameDictionary: an array of a few numbers and then
// entries of key, value and details. Source: src/objects/dictionary.h, src/objects/hash-table.h.
func (h Heap) dictionary(rest Tagged, f func(key, value Tagged) bool) error {
	a, ok := rest.Object()
	if !ok {
		return fmt.Errorf("%w: a dictionary is %#x", ErrMoved, uint64(rest))
	}
	n, err := h.length(a, maxProperties*entry)
	if err != nil {
		return err
	}
	words, err := h.words(a, h.ArrayData, n)
	if err != nil {
		return err
	}
	if first := int(h.DictionaryFirst); first < len(words) {
		words = words[first:]
	}
	for ; len(words) >= entry; words = words[entry:] {
		if key, ok := words[0].Object(); ok && key != 0 && !f(words[0], words[1]) {
			return nil
		}
	}
	return nil
}

// words reads n words at offset of the object at a.
func (h Heap) words(a mem.Addr, offset int32, n int) ([]Tagged, error) {
	words, err := h.Words(a+mem.Addr(offset), n)
	out := make([]Tagged, len(words))
	for i, w := range words {
		out[i] = Tagged(w)
	}
	return out, err
}
