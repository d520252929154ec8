import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Calls cancelled at once", .bounded)
struct ImmediateCancellationTests {
    enum Kind: CaseIterable { case provider, transfer, derived }

    private let transport: ScriptedTransport
    private let fixture: ManagerFixture
    private let bytes: [UInt8]

    init() throws {
        let bytes = try ManagerFixture.fixture("png/one-pixel.png")
        self.bytes = bytes
        transport = ScriptedTransport(.init(body: bytes))
        fixture = try ManagerFixture(transport: transport)
    }

    private func options(_ kind: Kind, _ waits: Bool) throws -> KingfisherOptions {
        let processor = try ProcessorParser.parse("resize:2x2")
        return ManagerFixture.options {
            $0.waitForCache = waits
            if kind == .derived { $0.processor = processor }
        }
    }

    @Test("Five hundred calls cancelled at once leave no work", arguments: Kind.allCases, [true, false])
    func cancelled(_ kind: Kind, _ waits: Bool) async throws {
        let manager = fixture.manager
        let options = try options(kind, waits)
        // Half of the calls share their image with others; of the rest each has its own.
        let names = (0..<500).map { $0 % 2 == 0 ? "shared-\($0 % 10)" : "own-\($0)" }
        let providers = Dictionary(uniqueKeysWithValues: Set(names).map { ($0, CountingProvider($0, bytes)) })
        func source(_ name: String) throws -> Source {
            if kind == .transfer { return .network(try RequestURL("http://h/\(name).png")) }
            return .provider(try #require(providers[name]))
        }
        if kind == .derived {
            for name in providers.keys {
                _ = try await manager.retrieveImage(with: source(name), options: ManagerFixture.options())
            }
        }
        var calls: [Task<RetrieveImageResult, any Error>] = []
        for (number, name) in names.enumerated() {
            let source = try source(name)
            let call = Task { try await manager.retrieveImage(with: source, options: options) }
            // Some calls may have begun by then.
            if number % 3 == 0 { await Task.yield() }
            call.cancel()
            calls.append(call)
        }
        for call in calls {
            if case .failure(let error) = await call.result {
                #expect((error as? KingfisherError)?.errorCode == 1003)
            }
        }
        #expect(await eventually { !fixture.manager.isWorking })
        // What is stored meanwhile ends; a token that is left would hold this up.
        await manager.background.wait()
        // An answer that is left in the table would be given out instead of a new one.
        for name in ["own-1", "shared-0"] {
            _ = try await manager.retrieveImage(with: source(name), options: ManagerFixture.options())
            let key = kind == .transfer ? "http://h/\(name).png" : name
            _ = try await manager.cache.removeImage(forKey: key)
            let count = {
                providers[name].map { [transport] provider in provider.count + transport.requests.count } ?? 0
            }
            let before = count()
            let image = try await manager.retrieveImage(with: source(name), options: options)
            // All providers give the same bytes, of which another's result may be stored already.
            #expect(image.way == .fetched || kind == .derived && image.way == .disk)
            #expect(count() == before + 1)
        }
        await manager.background.wait()
        #expect(!fixture.manager.isWorking)
    }

    @Test("A job cancelled before its first stage starts nothing", arguments: [true, false])
    func beforeStart(_ waits: Bool) async throws {
        let ended = EndedImages()
        let manager = fixture.manager
        weak var weakJob: ImageJob?
        func run() throws {
            let box = OptionsBox(try options(.transfer, waits))
            let retrieval = Retrieval(.network(try RequestURL("http://h/a.png")), box, manager.cache)
            let job = ImageJob(manager, retrieval, for: ended)
            weakJob = job
            job.cancel()
            job.start(with: retrieval.source, retrieval.options.request)
            ImageJob.fetch([job])
            ImageJob.look([job])
            job.cancel()
        }
        try run()
        #expect(await eventually { weakJob == nil })
        #expect(ended.code(0) == 1003)
        #expect(transport.requests.isEmpty && !fixture.manager.isWorking)
        await manager.background.wait()
    }
}
