package report

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Head tells when, where and how the tables came about.
func Head(command string, began time.Time, load string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- command: `%s`, %s, took %s\n", command, began.UTC().Format("2006-01-02 15:04 MST"), time.Since(began).Round(time.Second))
	fmt.Fprintf(&b, "- machine: %s, %d cores, %s/%s, %s\n", processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	fmt.Fprintf(&b, "- load average before and after: %s, %s\n", load, Load())
	fmt.Fprintf(&b, "- commit: %s\n", commit())
	return b.String()
}

// Load is the load average over 1, 5 and 15 minutes.
func Load() string {
	line, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(line))[:3], " ")
}

func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
