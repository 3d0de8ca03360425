package testcase

import (
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// Runners of Java.
const (
	junit5 = "JUnit 5"
	junit4 = "JUnit 4"
	junit3 = "JUnit 3"
	testNG = "TestNG"
)

// javaRunners are the methods by which runners call a test, and what comes before and after it. Sources: junit-platform
// commons, JUnit 4.13, TestNG 7.
var javaRunners = []struct{ method, runner string }{
	{"org.junit.platform.commons.util.ReflectionUtils.invokeMethod", junit5},
	{"org.junit.runners.model.FrameworkMethod$1.runReflectiveCall", junit4},
	{"junit.framework.TestCase.runTest", junit3},
	{"org.testng.internal.invokers.MethodInvocationHelper.invokeMethod", testNG},
	{"org.testng.internal.MethodInvocationHelper.invokeMethod", testNG},
}

// reflection begins the names of methods of the JDK that stand between a runner and a test.
var reflection = []string{"java.lang.reflect.", "jdk.internal.reflect.", "sun.reflect.", "java.lang.invoke."}

// java is the class and the method that a frame of a runner calls: `shop.TillTest.opens`.
func (f *finder) java(outer *profile.Frame, inner []profile.Frame) (runner, name string) {
	for _, r := range javaRunners {
		if !strings.HasPrefix(outer.Func, r.method) {
			continue
		}
		if at := f.own(r.runner, inner); at != nil {
			return r.runner, at.Func
		}
	}
	return "", ""
}
