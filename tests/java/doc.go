// Package java stops programs of Java in several versions of the HotSpot JVM, and compares stacks with what the program
// knows of itself, and with what the JVM says. Tests alone.
package java
