import Testing

@testable import KFNetwork

@Suite("The stall timer")
struct ProgressWindowTests {
    private let start = MonotonicTime(nanoseconds: 0)

    private func isOver(_ window: inout ProgressWindow, at time: MonotonicTime, pass: Int) -> Bool {
        window.isOver(now: time, pass: pass)
    }

    @Test func firesWhenASpanBringsLessThanTheQuota() {
        var window = ProgressWindow(timeout: .seconds(15), start: start)
        window.add(1023, time: start + .seconds(14), pass: 1)
        #expect(isOver(&window, at: start + .milliseconds(14_999), pass: 2) == false)
        #expect(isOver(&window, at: start + .seconds(15), pass: 2) == true)
    }

    @Test func quotaBeginsANewSpan() {
        var window = ProgressWindow(timeout: .seconds(15), start: start)
        window.add(1024, time: start + .seconds(14), pass: 1)
        #expect(window.deadline == start + .seconds(29))
        #expect(isOver(&window, at: start + .seconds(28), pass: 2) == false)
        #expect(isOver(&window, at: start + .seconds(29), pass: 3) == true)
    }

    @Test func turnThatTookTooLongIsNoStall() {
        var window = ProgressWindow(timeout: .seconds(15), start: start)
        window.add(4096, time: start, pass: 7)
        #expect(isOver(&window, at: start + .seconds(20), pass: 7) == false)
        #expect(isOver(&window, at: start + .seconds(35), pass: 8) == true)
    }

    @Test func noTimeoutNeverFires() {
        var window = ProgressWindow(timeout: nil, start: start)
        #expect(isOver(&window, at: start + .seconds(1_000_000), pass: 1) == false)
    }
}
