/// Polls a condition until it holds. False when it does not within 30 s.
package func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
    let end = ContinuousClock.now + .seconds(30)
    while try await !condition() {
        guard ContinuousClock.now < end else { return false }
        do { try await Task.sleep(for: .milliseconds(1)) } catch { return try await condition() }
    }
    return true
}

/// Lets other tasks run for a moment, so that what must not happen could happen. No test depends on the length.
package func others(run span: Duration = .milliseconds(20)) async {
    _ = try? await Task.sleep(for: span)
}
