// Package ci writes what is known of a hang in the forms that CI systems read: commands in the log of a job, a summary
// in Markdown, and JUnit's XML.
//
// The caller gives a case, its verdict and the text that is already written of them, and the environment as a function.
//
// It guarantees that no name of the target becomes a command of a CI system, ends a block of Markdown or breaks an XML
// document, and that the limits of each system are kept; what is left out is counted.
//
// It opens no files and starts nothing: it gives bytes.
//
// It follows, for GitHub, ActionCommand.cs and ActionCommandManager.cs of the runner; for Azure,
// CommandStringConvertor.cs of the agent; for TeamCity, "Service messages" of its manual; for GitLab, "CI/CD job logs"
// of its manual; for Buildkite, "Managing log output" of its manual; for JUnit, the schema of Jenkins' xunit plugin.
package ci
