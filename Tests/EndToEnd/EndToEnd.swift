import Testing

/// The built binary against a real nginx. One test at a time: several measure or count what the machine does.
@Suite("kf, from outside", .serialized)
enum EndToEnd {}
