// Package agent runs `fpstack agent` on programs that notice bad manners, with a store that fails as stores do, and
// ends it at random moments: what it recorded must arrive, once, and accounts must add up ([docs/agent.md]).
//
// Tests alone.
package agent
