"""The child that holds one MCP server: all that loads the protocol's library, within the sandbox."""
