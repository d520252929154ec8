import Dispatch
import Foundation
import Testing

extension Trait where Self == TimeLimitTrait {
    /// The time limit of each test that waits: far more than a busy machine needs, and less than a build server waits.
    package static var bounded: Self { .timeLimit(.minutes(3)) }
}

/// Runs each test on a thread of its own, and prints which took more than a second. Swift's thread pool has as many
/// threads as the machine has cores; tests that block in a system call would hold up all others there.
package struct OwnThreadTrait: SuiteTrait, TestTrait, TestScoping {
    package let isRecursive = true

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let start = ContinuousClock.now
        defer {
            let took = ContinuousClock.now - start
            if testCase != nil, took > .seconds(1) { print("slow: \(took.formatted) \(test.displayName ?? test.name)") }
        }
        try await withTaskExecutorPreference(QueueExecutor(), operation: function)
    }
}

extension Duration {
    /// The time in seconds, rounded to tenths.
    fileprivate var formatted: String { formatted(.units(allowed: [.seconds], fractionalPart: .show(length: 1))) }
}

extension Trait where Self == OwnThreadTrait {
    package static var ownThread: Self { OwnThreadTrait() }
}

/// Runs the jobs of one task on a serial queue.
private final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "test")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
