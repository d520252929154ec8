import Foundation

/// What a program left when it ended.
package struct CommandResult: Sendable, CustomStringConvertible {
    package let command: String
    /// As a shell counts it: the exit status, or 128 and the signal.
    package let status: Int32
    package let standardOutput: Data
    package let standardError: Data
    package let wall: Duration
    /// The most memory that it held, in bytes; at least that which the process of the tests had held when it started it.
    package let peakMemory: Int

    package init(
        command: String, status: Int32, standardOutput: Data, standardError: Data, wall: Duration, peakMemory: Int
    ) {
        self.command = command
        self.status = status
        self.standardOutput = standardOutput
        self.standardError = standardError
        self.wall = wall
        self.peakMemory = peakMemory
    }

    /// The memory that it held beyond another run of the program, in bytes. What the process of the tests holds is not counted.
    package func growth(over other: CommandResult) -> Int {
        var own = rusage()
        // Of this process; the constant is of another type.
        getrusage(__rusage_who_t(0), &own)
        return peakMemory - max(other.peakMemory, own.ru_maxrss * 1024)
    }

    package var output: String { String(decoding: standardOutput, as: UTF8.self) }
    package var errors: String { String(decoding: standardError, as: UTF8.self) }
    package var outputLines: [String] { Self.lines(output) }
    package var errorLines: [String] { Self.lines(errors) }

    /// Test Swift prints this when an expectation about the result fails.
    package var description: String {
        let shown = standardOutput.count > 2000 ? "\(standardOutput.count) bytes" : output
        return "\(command)\nended with \(status) after \(wall)\nstdout: \(shown)\nstderr: \(errors)"
    }

    private static func lines(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init).dropLast(
            text.hasSuffix("\n") ? 1 : 0
        )
        .filter { !text.isEmpty || !$0.isEmpty }
    }
}
