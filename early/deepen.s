// func Deepen()
TEXT ·Deepen(SB), 0, $32000-0
	RET
