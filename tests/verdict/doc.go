// Package verdict is a corpus of programs that hang, and of healthy ones that look like it. Each is one row: how it is
// started, by which line it is known to be ready, and what is true of it. fpstack judges them, and typed fields of its
// JSON are compared with the truth. TestVerdict has every row once, TestMatrix counts over many rounds
// (docs/dev/verdicts.md).
package verdict
