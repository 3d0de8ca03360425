package hang

// Judge says of a case whether its processes hang, and why.
func Judge(c *Case) *Verdict {
	j := newJudging(c)
	v := j.decide()
	v.Threads, v.Lacks = j.threads, c.Problems
	return v
}
