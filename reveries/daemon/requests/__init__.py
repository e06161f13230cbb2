"""What each request of the protocol does: one module a subject, one function a request, found by `@handles`."""
