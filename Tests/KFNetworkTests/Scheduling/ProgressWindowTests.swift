import Testing

@testable import KFNetwork

@Suite("The stall timer")
struct ProgressWindowTests {
    private let start = MonotonicTime(nanoseconds: 0)

    @Test("The timer fires when a span brings too few bytes") func fires() {
        var window = ProgressWindow(timeout: 15_000_000_000, start: start)
        window.add(1023, now: start + .seconds(14))
        #expect(window.deadline > start + .milliseconds(14_999))
        #expect(window.deadline <= start + .seconds(15))
    }

    @Test("Enough bytes begin a new span") func restarts() {
        var window = ProgressWindow(timeout: 15_000_000_000, start: start)
        window.add(1024, now: start + .seconds(14))
        #expect(window.deadline == start + .seconds(29))
        #expect(window.deadline > start + .seconds(28))
        #expect(window.deadline <= start + .seconds(29))
    }

    @Test("A disabled timer never fires") func disabled() {
        let window = ProgressWindow(timeout: .max, start: start)
        #expect(window.deadline > start + .seconds(1_000_000))
    }
}
