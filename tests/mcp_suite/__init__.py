"""The outside suites that MCP is tested with: what is installed, their fixture, and what does not pass."""
