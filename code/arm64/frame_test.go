package arm64

import "testing"

// TestFrameInstructions: what moves SP and the frame record is told apart, and by how much; encodings of gas.
func TestFrameInstructions(t *testing.T) {
	type told struct {
		saves, before, loads, behind, sets, adds, pushes, pops, jumps, calls bool
		n                                                                    int64
	}
	for _, c := range []struct {
		text string
		i    Inst
		want told
	}{
		{"stp x29, x30, [sp, #80]", 0xa9057bfd, told{saves: true, n: 80}},
		{"stp x29, x30, [sp, #-16]!", 0xa9bf7bfd, told{saves: true, before: true, pushes: true, n: -16}},
		{"stp x1, x2, [sp, #-32]!", 0xa9be0be1, told{pushes: true, n: 32}},
		{"ldp x29, x30, [sp, #80]", 0xa9457bfd, told{loads: true, n: 80}},
		{"ldp x29, x30, [sp], #16", 0xa8c17bfd, told{loads: true, behind: true, pops: true, n: 16}},
		{"ldp w1, w2, [sp], #8", 0x28c10be1, told{pops: true, n: 8}},
		{"ldp d8, d9, [sp], #16", 0x6cc127e8, told{pops: true, n: 16}},
		{"ldr x0, [sp], #16", 0xf84107e0, told{pops: true, n: 16}},
		{"ldr x0, [x1], #16", 0xf8410420, told{}},
		{"mov x29, sp", 0x910003fd, told{sets: true}},
		{"add x29, sp, #16", 0x910043fd, told{sets: true, n: 16}},
		{"add sp, sp, #96", 0x910183ff, told{adds: true, n: 96}},
		{"sub sp, sp, #1, lsl #12", 0xd14007ff, told{adds: true, n: -4096}},
		{"add x0, sp, #96", 0x910183e0, told{}},
		{"ret", Ret, told{jumps: true}},
		{"b", 0x14000001, told{jumps: true}},
		{"br x16", 0xd61f0200, told{jumps: true}},
		{"b.eq", 0x54000040, told{}},
		{"bl", 0x94000001, told{calls: true}},
		{"blr x1", 0xd63f0020, told{calls: true}},
	} {
		got := told{jumps: c.i.IsJump(), calls: c.i.IsCall()}
		set := func(to *bool, n int64, ok bool) {
			if *to = ok; ok {
				got.n = n
			}
		}
		n, ok := c.i.Pushes()
		set(&got.pushes, n, ok)
		n, ok = c.i.Pops()
		set(&got.pops, n, ok)
		n, before, ok := c.i.SavesRecord()
		set(&got.saves, n, ok)
		got.before = ok && before
		n, behind, ok := c.i.LoadsRecord()
		set(&got.loads, n, ok)
		got.behind = ok && behind
		n, ok = c.i.SetsFP()
		set(&got.sets, n, ok)
		n, ok = c.i.AddsSP()
		set(&got.adds, n, ok)
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.text, got, c.want)
		}
	}
}
