import KFCore
import Support
import Testing

@testable import Command

/// What the command puts together for people, without a run.
@Suite("Lines of progress and repeated messages")
struct MessageTests {
    private func figures(_ change: (inout ProgressFigures) -> Void) -> ProgressFigures {
        var figures = ProgressFigures()
        figures.expected = 100
        change(&figures)
        return figures
    }

    @Test("What was not tried is not done")
    func notTried() {
        let figures = figures {
            $0.progress.completed = 10
            $0.progress.notTried = 90
        }
        #expect(figures.line(width: 200, bar: false).hasPrefix("10% 10/100, "))
    }

    @Test("The remaining time is not guessed at once", arguments: [(2, 1.0, false), (2, 4, true), (6, 1, true)])
    func remaining(done: Int, seconds: Double, isGuessed: Bool) {
        let figures = figures {
            $0.progress.completed = done
            $0.measure(seconds: seconds)
        }
        #expect(figures.line(width: 200, bar: false).contains(" left") == isGuessed)
    }

    @Test("Sources and images count for the work of a run")
    func work() {
        let tally = RunTally()
        tally.add(RunTally.Steps(sources: 3, images: 6))
        tally.received(5 << 20)
        var figures = figures { ($0.tally, $0.imagesPerItem, $0.progress.completed) = (tally, 3, 10) }
        figures.measure(seconds: 4)
        let line = figures.line(width: 200, bar: false)
        #expect(line.hasPrefix("12% 13/100 sources, 36/300 images, "), "\(line)")
        #expect(line.hasSuffix(", 9/s, 5 MiB, 1.25 MiB/s"), "\(line)")
    }

    @Test("One source with several images counts both")
    func oneSource() {
        let tally = RunTally()
        tally.add(RunTally.Steps(sources: 1, images: 2))
        let figures = figures {
            ($0.tally, $0.imagesPerItem, $0.size, $0.received) = (tally, 4, 1000, 1000)
        }
        let line = figures.line(width: 200, bar: false)
        #expect(line.hasPrefix("60% 1000 B/1000 B, ") && line.hasSuffix(", 2/4 images"), "\(line)")
    }

    @Test("Nothing is guessed while no transfer ends")
    func standstill() {
        var figures = figures { $0.progress.completed = 1 }
        figures.expected = 9
        figures.measure(seconds: 4)
        #expect(figures.line(width: 200, bar: false).contains(" left, 15/min, "))
        for _ in 0..<1000 { figures.measure(seconds: 1) }
        let line = figures.line(width: 200, bar: false)
        #expect(!line.contains(" left") && !line.contains("/min") && !line.contains("0/s"), "\(line)")
    }

    @Test("A wait and an upload are named")
    func waits() {
        let figures = figures {
            $0.wait = ("example.com", 12)
            $0.uploads = (1234, 2000)
        }
        let line = figures.line(width: 200, bar: false)
        #expect(line.contains("waiting 12 s for example.com") && line.hasSuffix("uploading 1,234 of 2,000"))
    }

    @Test("Messages that differ only in a time are one kind")
    func times() {
        let messages = RepeatedMessages()
        let times = ["1.5 s", "300 ms", "2 minutes", "12 s"]
        let admitted = (0..<12).map { messages.admits("kf: ", "no answer in \(times[$0 % 4]), tried \($0) times") }
        #expect(admitted == Array(repeating: true, count: 10) + [false, false])
        #expect(messages.admits("kf: ", "no answer in 3 images"), "another kind")
    }
}
