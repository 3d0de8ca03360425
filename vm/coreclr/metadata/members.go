package metadata

// Members are rows of fields or methods: those of one type lie behind each other.
type Members struct{ First, End uint32 }

// Has reports whether the row rid is one of m.
func (m Members) Has(rid uint32) bool { return rid >= m.First && rid < m.End }

// Fields are the rows of the fields of the type with the row rid. It fails with ErrFormat for a module that was edited,
// whose lists lead to rows that lead to fields.
func (t *Tables) Fields(rid uint32) (Members, error) { return t.members(rid, 4, fieldPtrs, fieldDefs) }

// Methods are the rows of its methods, as [Tables.Fields].
func (t *Tables) Methods(rid uint32) (Members, error) {
	return t.members(rid, 5, methodPtrs, methodDefs)
}

func (t *Tables) members(rid uint32, column, pointers, table int) (m Members, err error) {
	if t.tables[pointers].rows > 0 {
		return m, orFormat(nil, "its members are reordered")
	}
	r, err := t.row(typeDefs, rid)
	if err != nil {
		return m, err
	}
	m = Members{r[column], t.tables[table].rows + 1}
	if rid < t.tables[typeDefs].rows {
		if r, err = t.row(typeDefs, rid+1); err != nil {
			return Members{}, err
		}
		m.End = r[column]
	}
	const most = 1 << 16 // of one type, in files too
	if m.First == 0 || m.End < m.First || m.End-m.First > most || m.End > t.tables[table].rows+1 {
		return Members{}, orFormat(nil, "type %d has members %d to %d", rid, m.First, m.End)
	}
	return m, nil
}

// FieldName is the name of the field that a token means: of one of the module, or of a reference to one.
func (t *Tables) FieldName(token uint32) (string, error) {
	const rows = 1<<24 - 1
	table, column := int(token>>24), 1
	if table == memberRefs || table == fieldDefs {
		r, err := t.row(table, token&rows)
		if err != nil {
			return "", err
		}
		return t.name(r[column])
	}
	return "", orFormat(nil, "token %#08x is no field", token)
}

// MethodBody is the name of the method with the row rid, and the RVA of its body, 0 for none.
func (t *Tables) MethodBody(rid uint32) (name string, rva uint32, err error) {
	r, err := t.row(methodDefs, rid)
	if err != nil {
		return "", 0, err
	}
	name, err = t.name(r[3])
	return name, r[0], err
}
