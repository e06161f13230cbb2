"""The sandboxed child process for one MCP server. Only this package imports the MCP library."""
