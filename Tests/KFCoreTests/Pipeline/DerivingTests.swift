import KFImaging
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Images derived from an original", .bounded)
struct DerivingTests {
    private let fixture: ManagerFixture
    private let provider: CountingProvider
    private let ended = EndedImages()
    /// The number of the job that shows that those before it have been looked up.
    private static let last = 99

    private var manager: KingfisherManager { fixture.manager }

    init() async throws {
        fixture = try ManagerFixture()
        provider = CountingProvider("key", try ManagerFixture.fixture("png/rgba.png"))
        _ = try await fixture.manager.retrieveImage(with: .provider(provider), options: ManagerFixture.options())
    }

    private func options(_ processor: CountingProcessor) -> KingfisherOptions {
        ManagerFixture.options { $0.processor = processor }
    }

    private func job(_ number: Int, _ options: KingfisherOptions) -> ImageJob {
        ImageJob(
            manager, Retrieval(.provider(provider), OptionsBox(options), manager.cache), for: ended, number: number)
    }

    /// Starts jobs, and returns when all of them wait for their images.
    private func start(_ processors: [CountingProcessor]) async -> [ImageJob] {
        let jobs = processors.enumerated().map { number, processor in job(number, options(processor)) }
        // One thread looks all of them up in order; the last one, a disk hit, ends after the others have joined.
        ImageJob.start(jobs + [job(Self.last, ManagerFixture.options())])
        #expect(await eventually { ended.result(Self.last) != nil })
        return jobs
    }

    private func identifiers() async throws -> [String] {
        try await manager.cache.entries(forKey: "key").map(\.name.identifier).sorted()
    }

    @Test("Waiting calls share one decode for each processor")
    func processors() async throws {
        let (a, b) = (CountingProcessor("a"), CountingProcessor("b"))
        let workers = await BlockedWorkers()
        _ = await start([a, b, a, b, a, b, a, b])
        workers.release()
        #expect(await eventually { ended.count == 9 })
        for number in 0..<8 {
            let image = try #require(ended.result(number)).get()
            #expect(image.identifier == (number % 2 == 0 ? "a" : "b"))
            #expect(image.way == .derived && image.storing.diskError == nil)
        }
        #expect(a.count == 1 && b.count == 1 && provider.count == 1)
        #expect(try await identifiers() == ["", "a", "b"])
    }

    @Test("A failed decode fails its calls and is not remembered")
    func failing() async throws {
        let broken = CountingProcessor("broken", failing: .tooLarge(width: 1, height: 1, maxPixels: 0))
        let workers = await BlockedWorkers()
        _ = await start([broken, broken, broken])
        workers.release()
        #expect(await eventually { ended.count == 4 })
        let codes = (0..<3).map { ended.code($0) }
        #expect(Set(codes).count == 1 && codes[0] != nil)
        #expect(broken.count == 1)
        let again = options(broken)
        await #expect(throws: KingfisherError.self) {
            try await manager.retrieveImage(with: .provider(provider), options: again)
        }
        #expect(broken.count == 2)
        #expect(provider.count == 1, "the original is good")
    }

    @Test("Work whose callers are all cancelled never runs")
    func dropped() async throws {
        let processor = CountingProcessor("counting")
        let workers = await BlockedWorkers()
        let jobs = await start([processor, processor, processor])
        for job in jobs { job.cancel() }
        #expect((0..<3).map { ended.code($0) } == [1003, 1003, 1003])
        workers.release()
        let image = try await manager.retrieveImage(with: .provider(provider), options: options(processor))
        #expect(image.way == .derived)
        #expect(processor.count == 1, "for the call that came after them")
    }

    @Test("A cancelled caller does not stop the others")
    func cancelled() async throws {
        let processor = await CountingProcessor(closed: "counting")
        let jobs = await start([processor, processor])
        #expect(await eventually { processor.count == 1 })
        jobs[0].cancel()
        #expect(ended.code(0) == 1003)
        processor.open()
        #expect(await eventually { ended.count == 3 })
        #expect(try #require(ended.result(1)).get().way == .derived)
        #expect(ended.code(0) == 1003, "told once")
        #expect(processor.count == 1)
        #expect(try await identifiers() == ["", "counting"])
    }

    @Test("Variants of a cancelled call are not made")
    func variants() async throws {
        let processor = CountingProcessor("counting")
        let workers = await BlockedWorkers()
        let call = Task {
            await manager.retrieveVariants(of: .provider(provider), options: [options(processor)])
        }
        // The look-up of the variants precedes that of a job that starts once they have been looked up.
        await others()
        call.cancel()
        #expect(
            await call.value.map { result in
                if case .failure(let error) = result { error.errorCode } else { 0 }
            } == [1003])
        workers.release()
        // Work that was queued before has run by the time that each thread has been occupied again.
        await BlockedWorkers().release()
        #expect(processor.count == 0)
    }

    @Test("A replaced original is processed again")
    func replaced() async throws {
        let processor = await CountingProcessor(closed: "counting")
        let jobs = await start([processor, processor])
        #expect(await eventually { processor.count == 1 })
        let bytes = try ManagerFixture.fixture("png/one-pixel.png")
        let image = try ImageDecoder.decode(bytes, options: DecodeOptions())
        let stored = await manager.cache.store(image, original: bytes, forKey: "key")
        #expect(stored.diskError == nil)
        processor.open()
        #expect(await eventually { ended.count == 3 })
        for number in jobs.indices {
            let image = try #require(ended.result(number)).get()
            #expect(image.way == .derived)
            #expect(image.facts.width == 1, "not what was made of the old one")
        }
        #expect(processor.count >= 2)
        #expect(try await identifiers() == ["", "counting"])
        let kept = try await manager.retrieveImage(with: .provider(provider), options: options(processor))
        #expect(kept.way == .disk && kept.facts.width == 1)
    }
}
