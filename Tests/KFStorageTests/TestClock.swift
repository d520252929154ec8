import Synchronization

@testable import KFStorage

/// A clock that a test moves.
final class TestClock: Sendable {
    private let time: Mutex<Timestamp>

    init(_ start: Timestamp = Timestamp(milliseconds: 1_700_000_000_000)) { time = Mutex(start) }

    var now: Timestamp { time.withLock { $0 } }

    func advance(seconds: Double) { time.withLock { $0 = $0.advanced(by: Int64(seconds * 1000)) } }

    var clock: CacheClock { CacheClock { [self] in now } }
}
