//! Commands, MCP servers and C libraries that reach out of their sandbox.
