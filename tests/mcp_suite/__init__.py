"""The outside suites that the MCP server is tested with: what is installed, and what of them needs a fixture."""
