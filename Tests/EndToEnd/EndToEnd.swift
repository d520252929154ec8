import Support
import Testing

/// The built binary against a real nginx.
@Suite("kf, from outside", .bounded, .ownThread)
enum EndToEnd {}
