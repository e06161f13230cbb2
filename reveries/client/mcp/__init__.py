"""The MCP server: what a program that speaks the Model Context Protocol gets of this mind."""
