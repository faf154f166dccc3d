"""The HTTP API: routes, middleware, tokens."""
