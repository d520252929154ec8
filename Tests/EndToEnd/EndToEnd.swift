import Support
import Testing

/// The built binary against a real nginx.
@Suite("The command", .bounded, .ownThread)
enum EndToEnd {}
