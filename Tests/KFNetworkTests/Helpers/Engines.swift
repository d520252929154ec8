import KFNetwork
import Synchronization
import Testing

/// Makes the engines of a test, and shuts them down when it has ended.
struct Engines: SuiteTrait, TestTrait, TestScoping {
    private final class Made: Sendable {
        let engines = Mutex<[TransferEngine]>([])
    }

    @TaskLocal private static var made = Made()
    let isRecursive = true

    static func make(_ change: (inout EngineConfiguration) -> Void = { _ in }) -> TransferEngine {
        var configuration = EngineConfiguration()
        change(&configuration)
        let engine = TransferEngine(configuration: configuration)
        made.engines.withLock { $0.append(engine) }
        return engine
    }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let made = Made()
        defer { for engine in made.engines.withLock({ $0 }) { engine.shutdown() } }
        try await Self.$made.withValue(made) { try await function() }
    }
}

extension Trait where Self == Engines {
    static var engines: Self { Engines() }
}
