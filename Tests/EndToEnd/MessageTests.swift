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
