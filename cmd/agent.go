package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/agent/choose"
	"github.com/fpstack/fpstack/agent/config"
	"github.com/fpstack/fpstack/push"
	"github.com/fpstack/fpstack/push/perprocess"
)

// agentOptions are the flags of agent.
type agentOptions struct {
	samplingOptions
	pushOptions
	choice     choose.Rule // by flags other than -p and -n
	users      []string
	config     string
	interval   time.Duration
	maxTargets int
	maxThreads int
	stuckAfter time.Duration
	metrics    string
	metricsAny bool
	quiet      bool
	asyncCalls bool

	rules, exclude []choose.Rule
	relabel        []*perprocess.Relabel
}

// statusStuck says that the agent did not go on, and that a supervisor may start it again; EX_TEMPFAIL of sysexits.h.
const statusStuck = 75

func newAgentOptions() *agentOptions {
	return &agentOptions{interval: 15 * time.Second, stuckAfter: 10 * time.Minute}
}

// agentCommand records chosen processes all the time.
func (a *app) agentCommand() *cobra.Command {
	o := newAgentOptions()
	c := &cobra.Command{
		Use:   "agent [OPTION…] --push URL (-n NAME | --unit UNIT | … | --config FILE)",
		Short: "Record chosen processes all the time, and send profiles",
		Long: `Record chosen processes all the time, gently, and send a profile of each to the
stores that --push names, every 15 seconds.

Processes are looked for again each second, as they come and go. All of it
takes 1 % of a CPU at most: a process that exceeds its share is sampled less
often.
A process is recorded if any of the options that choose allows it; a file can
combine them. fpstack itself is never recorded.

SIGUSR1 writes all accounts to standard error, SIGHUP has the file read again.
SIGTERM and SIGINT end it: what was recorded until then is sent, or stays in the
spool.`,
		Example: `  fpstack agent -n redis-server --push otlp+http://collector
  fpstack agent --pod-uid '*' --push pyroscope://p --spool /var/lib/fpstack
  fpstack agent --config /etc/fpstack.yaml --metrics 127.0.0.1:9405`,
		Annotations: exitStatus("0", "it was ended by a signal, and nothing is left but what is in the spool",
			"2", "it could not begin, or failed", "64", "the command line or the file is wrong",
			"75", "it was stuck: start it again"),
		Args: o.processOptions.args,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(c.Flags()); err != nil {
				return err
			}
			return a.agent(c, o)
		},
	}
	o.register(c.Flags())
	return c
}

func (o *agentOptions) register(f *pflag.FlagSet) {
	o.processOptions.register(f)
	f.StringArrayVar(&o.choice.Cgroups, "cgroup", nil, "every process in this control group, or below: a `PATH` or "+
		"pattern")
	f.StringArrayVar(&o.choice.Containers, "container", nil, "every process of the container with this `ID`, or how "+
		"it begins; '*': of any")
	f.StringArrayVar(&o.choice.Pods, "pod-uid", nil, "every process of the Kubernetes pod with this `UID`; '*': of any")
	f.StringArrayVar(&o.choice.Units, "unit", nil, "every process of this systemd `UNIT`, or pattern")
	f.StringArrayVar(&o.users, "user", nil, "every process of this `USER`, a name or an id")
	f.StringVar(&o.config, "config", "", "read rules and options from this `FILE` (YAML)")
	f.IntVar(&o.maxTargets, "max-targets", 100, "record `N` processes at most")
	f.IntVar(&o.maxThreads, "max-threads", 10_000, "record `N` threads at most, of all processes")
	f.Var((*seconds)(&o.interval), "interval", "how long a profile is, as `TIME`; intervals end at multiples of it")
	o.pushOptions.registerStore(f)
	o.pushOptions.registerTrust(f)
	o.pushOptions.registerLabels(f)
	o.pushOptions.registerSpool(f)
	f.StringVar(&o.metrics, "metrics", "", "serve metrics for Prometheus at this `ADDRESS`, as 127.0.0.1:9405")
	f.BoolVar(&o.metricsAny, "metrics-any-host", false, "let --metrics be an address that other machines reach")
	f.BoolVar(&o.asyncCalls, "async-calls", false, "count the async calls of each process that wait, for --metrics")
	f.Var((*seconds)(&o.stuckAfter), "stuck-after",
		"exit with status 75 if the agent makes no progress for this `TIME`")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no status lines, only errors")
	o.samplingOptions.register(f)
	o.rate, o.maxOverhead = 19, 0.01
	f.Lookup("rate").DefValue, f.Lookup("max-overhead").DefValue = "19", o.maxOverhead.String()
	sections(f, "pid", "Processes", "interval", "Profiles", "metrics", "Status", "rate", "Sampling", "max-frames",
		"Stacks", "names", "Names")
}

// check reads the file, and refuses values that make no sense.
func (o *agentOptions) check(f *pflag.FlagSet) error {
	if err := o.readConfig(f); err != nil {
		return usageError{err}
	}
	if err := checkEffects("agent", f); err != nil {
		return err
	}
	if err := o.chooseByFlags(); err != nil {
		return usageError{err}
	}
	switch {
	case len(o.rules) == 0:
		return usageError{errors.New("nothing to record: give -n NAME, --unit UNIT, …, or --config FILE")}
	case len(o.to) == 0:
		return usageError{errors.New("no --push URL: " + strings.Join(push.Schemes(), ", ") + " are known")}
	case o.interval < time.Second || o.interval > time.Hour:
		return usageError{fmt.Errorf("--interval %v: want 1s to 1h", o.interval)}
	case o.stuckAfter < o.interval:
		return usageError{fmt.Errorf("--stuck-after %v: want an interval at least, %v", o.stuckAfter, o.interval)}
	case o.rate == 0:
		return usageError{errors.New("--rate 0: want a rate above 0")}
	case o.maxTargets <= 0:
		return usageError{fmt.Errorf("--max-targets %d is not positive", o.maxTargets)}
	case o.maxThreads <= 0:
		return usageError{fmt.Errorf("--max-threads %d is not positive", o.maxThreads)}
	}
	if err := o.checkMetrics(); err != nil {
		return usageError{err}
	}
	if err := o.pushOptions.check(); err != nil {
		return err
	}
	for _, r := range o.rules {
		if _, err := push.ParseLabels(r.Labels); err != nil {
			return usageError{fmt.Errorf("--config %s: %w", o.config, err)}
		}
	}
	return o.checkHow()
}

// chooseByFlags adds a rule for each flag that chooses: a process is recorded if any of them allows it.
func (o *agentOptions) chooseByFlags() error {
	for _, name := range o.users {
		id, err := choose.UserID(name)
		if err != nil {
			return fmt.Errorf("--user: %w", err)
		}
		o.choice.Users = append(o.choice.Users, id)
	}
	for _, r := range []choose.Rule{{PIDs: o.pids}, {Names: o.byName}, {Cgroups: o.choice.Cgroups},
		{Containers: o.choice.Containers}, {Pods: o.choice.Pods}, {Units: o.choice.Units},
		{Users: o.choice.Users}} {
		if r.Empty() {
			continue
		}
		if err := r.Check(); err != nil {
			return fmt.Errorf("--%w", err)
		}
		o.rules = append(o.rules, r)
	}
	return nil
}

// readConfig takes what --config says, where the command line does not say something else.
func (o *agentOptions) readConfig(f *pflag.FlagSet) error {
	if o.config == "" {
		return nil
	}
	text, err := readSome(o.config, config.MaxSize)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	notThere := []string{"config", "help"}
	file, err := config.Parse(text, func(name string) bool {
		return f.Lookup(name) != nil && !slices.Contains(notThere, name)
	})
	if err != nil {
		return fmt.Errorf("--config %s: %w", o.config, err)
	}
	given := map[string]bool{}
	f.Visit(func(flag *pflag.Flag) { given[flag.Name] = true })
	for _, option := range file.Options {
		if given[option.Name] {
			continue
		}
		for _, v := range option.Values {
			if err := f.Set(option.Name, v); err != nil {
				return fmt.Errorf("--config %s: line %d: %w", o.config, option.Line, err)
			}
		}
	}
	o.rules, o.exclude = file.Processes, file.Exclude
	for _, r := range file.Relabel {
		rule, err := perprocess.NewRelabel(r.From, r.Match, r.To, r.Value)
		if err != nil {
			return fmt.Errorf("--config %s: line %d: %w", o.config, r.Line, err)
		}
		o.relabel = append(o.relabel, rule)
	}
	return nil
}

// readSome reads a file of so many bytes at most.
func readSome(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("want a file of %d bytes at most", most)}
	}
	return os.ReadFile(path)
}

// checkMetrics refuses an address that other machines reach, unless that is wanted.
func (o *agentOptions) checkMetrics() error {
	if o.metrics == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(o.metrics)
	if err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	ip := net.ParseIP(host)
	if !o.metricsAny && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--metrics %s: other machines may reach it, and it says what runs here; "+
			"take 127.0.0.1, or add --metrics-any-host", o.metrics)
	}
	return nil
}
