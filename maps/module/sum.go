package module

import (
	"crypto/sha256"
	"encoding/hex"
)

// LoadedSum is the SHA-256, in hex, of what the object loads from its file: it tells files of one path apart that have
// no build id. It fails if that cannot be read, or is more than the budget of the module allows.
func (m *Module) LoadedSum() (string, error) {
	if m.Err != nil {
		return "", m.Err
	}
	sum := sha256.New()
	err := Guard(m.Path, func() error {
		for _, p := range m.elf.loads {
			if !m.budget.Spend(int64(len(p.Data))) {
				return m.budget.Refusal()
			}
			sum.Write(p.Data)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
