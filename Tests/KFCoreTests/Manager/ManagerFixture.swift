import Foundation
import Support
import Synchronization

@testable import KFCore
@testable import KFPipeline

/// Bytes that count how often they were asked for.
final class CountingProvider: ImageDataProvider {
    let cacheKey: String
    let name = "counting"
    private let bytes: [UInt8]
    private let asked = Mutex(0)
    private let gate: StopSignal?

    /// With a gate, every read waits until the signal is given.
    init(_ key: String, _ bytes: [UInt8], gate: StopSignal? = nil) {
        cacheKey = key
        self.bytes = bytes
        self.gate = gate
    }

    var count: Int { asked.withLock { $0 } }

    func data() async throws(KingfisherError) -> [UInt8] {
        asked.withLock { $0 += 1 }
        _ = await gate?.wait()
        return bytes
    }
}

/// A manager over a cache of its own, with a clock that the test moves.
struct ManagerFixture {
    let directory: TemporaryDirectory
    let time = SharedValue(Timestamp(milliseconds: 1_700_000_000_000))
    let manager: KingfisherManager

    /// `transport` answers in place of a network.
    init(
        disk: Bool = true, transport: (any Transport)? = nil,
        downloading: (inout ImageDownloader.Configuration) -> Void = { _ in },
        caching: (inout ImageCache.Configuration) -> Void = { _ in }
    ) throws {
        directory = try TemporaryDirectory()
        var configuration = ImageCache.Configuration(
            directory: disk ? directory.url.appendingPathComponent("cache").path : nil)
        let time = time
        configuration.clock = CacheClock { time.value }
        // Tests hold locks for as long as a busy machine makes them.
        configuration.lockTimeout = .seconds(60)
        caching(&configuration)
        var settings = ImageDownloader.Configuration()
        downloading(&settings)
        let downloader = transport.map { ImageDownloader(settings, transport: $0) } ?? ImageDownloader(settings)
        manager = KingfisherManager(cache: ImageCache(configuration), downloader: downloader)
    }

    func advance(seconds: Int64) { time.value = time.value.advanced(by: seconds * 1000) }

    static func fixture(_ name: String) throws -> [UInt8] { try FixturesDirectory.bytes(name) }

    static func options(_ change: (inout KingfisherOptions) -> Void = { _ in }) -> KingfisherOptions {
        var options = KingfisherOptions()
        options.waitForCache = true
        options.memoryCacheExpiration = .expired
        change(&options)
        return options
    }

    static func resized(_ change: (inout KingfisherOptions) -> Void = { _ in }) throws -> KingfisherOptions {
        let processor = try ProcessorParser.parse("resize:20x10")
        return options {
            $0.processor = processor
            $0.memoryCacheExpiration = nil
            change(&$0)
        }
    }

    func get(
        _ options: KingfisherOptions = ManagerFixture.options(), from url: String = "http://h/a.png"
    ) async throws -> RetrieveImageResult {
        try await manager.retrieveImage(with: .network(RequestURL(url)), options: options)
    }
}

/// A manager whose origin gives one answer for each request; the last one stays.
func answering(_ answers: ScriptedTransport.Answer...) throws -> (ManagerFixture, ScriptedTransport) {
    let transport = ScriptedTransport { _, number in answers[min(number, answers.count - 1)] }
    return (try ManagerFixture(transport: transport), transport)
}

/// A value that several closures share.
final class SharedValue<Value: Sendable>: Sendable {
    private let storage: Mutex<Value>

    init(_ value: Value) { storage = Mutex(value) }

    var value: Value {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }

    /// Changes it in one piece, where several threads do.
    func change(_ body: (inout Value) -> Void) { storage.withLock { body(&$0) } }
}

/// Returns the error of the work; nil when it succeeds.
func failure(_ work: () async throws -> some Sendable) async -> KingfisherError? {
    do {
        _ = try await work()
        return nil
    } catch {
        return error as? KingfisherError
    }
}

extension KingfisherOptions {
    /// Options under which the server's headers count.
    static func http(_ change: (inout KingfisherOptions) -> Void = { _ in }) -> KingfisherOptions {
        ManagerFixture.options {
            $0.cachePolicy = .http
            change(&$0)
        }
    }
}

extension KingfisherManager {
    /// Whether a download or another shared piece of work is in progress.
    var isWorking: Bool {
        var isWorking = false
        downloader.work.cancel { _ in
            isWorking = true
            return false
        }
        return isWorking
    }
}

extension PrefetchReport {
    /// The numbers of items that were skipped, that failed and that were completed.
    var counts: [Int] { [progress.skipped, progress.failed, progress.completed] }
}

/// Answers every challenge alike.
final class Responder: AuthenticationChallengeResponsible {
    let cacheIdentity: String?
    private let answer: DownloadChallengeAnswer

    init(_ answer: DownloadChallengeAnswer = .performDefaultHandling, identity: String? = nil) {
        self.answer = answer
        cacheIdentity = identity
    }

    func answer(to challenge: DownloadChallenge) async -> DownloadChallengeAnswer { answer }
}
