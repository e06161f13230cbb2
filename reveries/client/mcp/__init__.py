"""The MCP server: gives programs access to this mind over the Model Context Protocol."""
