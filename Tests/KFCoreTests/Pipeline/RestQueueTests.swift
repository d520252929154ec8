import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Images that rest before another try", .bounded)
struct RestQueueTests {
    private let transport = ManualTransport()
    private let fixture: ManagerFixture
    private let ended = EndedImages()
    private let rests = RestQueue()

    init() throws { fixture = try ManagerFixture(transport: transport) }

    private func job(_ number: Int) throws -> ImageJob {
        let source = Source.network(try RequestURL("http://h/\(number).png"))
        // While the cache is not open, each looks for a partial body on a thread of its own.
        _ = try fixture.manager.cache.storage()
        let retrieval = Retrieval(source, OptionsBox(ManagerFixture.options()), fixture.manager.cache)
        return ImageJob(fixture.manager, retrieval, for: ended, number: number)
    }

    private var requested: [String] { transport.urls }

    private func urls(_ numbers: Int...) -> [String] { numbers.map { "http://h/\($0).png" } }

    @Test("They go on in the order of their turns, whenever they came")
    func order() async throws {
        for (number, milliseconds) in [60, 20, 80, 40, 0].enumerated() {
            rests.rest(try job(number), for: .milliseconds(milliseconds))
        }
        #expect(await eventually { requested.count == 5 })
        #expect(requested == urls(4, 1, 3, 0, 2))
    }

    @Test("A hundred with the same turn all go on, each once")
    func many() async throws {
        for number in 0..<100 { rests.rest(try job(number), for: .milliseconds(number % 3)) }
        #expect(await eventually { requested.count == 100 })
        #expect(Set(requested).count == 100)
    }

    @Test("A span of zero, a negative one and a very long one are taken")
    func spans() async throws {
        let long = try job(3)
        rests.rest(long, for: .seconds(Int64.max / 4))
        rests.rest(try job(1), for: .seconds(-5))
        rests.rest(try job(2), for: .zero)
        #expect(await eventually { requested.count == 2 })
        #expect(requested == urls(1, 2))
        #expect(rests.isResting(long))
        rests.end()
    }

    @Test("A forgotten one does not go on; the others do")
    func forgotten() async throws {
        let (a, b) = (try job(1), try job(2))
        rests.rest(a, for: .milliseconds(500))
        rests.rest(b, for: .milliseconds(550))
        rests.forget(a)
        #expect(!rests.isResting(a) && rests.isResting(b))
        rests.forget(a)
        #expect(await eventually { requested.count == 1 })
        #expect(requested == urls(2))
        #expect(ended.count == 0, "who forgets it tells its recipient")
    }

    @Test("A cancelled one is told at once, and makes no request")
    func cancelled() async throws {
        let downloads = fixture.manager.downloader.rests
        let (a, b) = (try job(1), try job(2))
        downloads.rest(a, for: .milliseconds(10))
        downloads.rest(b, for: .milliseconds(30))
        a.cancel()
        #expect(ended.code(1) == 1003)
        #expect(!downloads.isResting(a))
        #expect(await eventually { requested.count == 1 })
        #expect(requested == urls(2))
    }

    @Test("One that was cancelled before it rests is not kept, however long its rest")
    func cancelledBefore() async throws {
        weak var weakJob: ImageJob?
        func run() throws {
            let gone = try job(1)
            weakJob = gone
            gone.cancel()
            fixture.manager.downloader.rests.rest(gone, for: .seconds(3600))
        }
        try run()
        #expect(weakJob == nil)
        #expect(ended.code(1) == 1003)
    }

    @Test("At the end all are told, and nobody rests any more")
    func end() async throws {
        let jobs = try (0..<3).map(job)
        for job in jobs { rests.rest(job, for: .seconds(3600)) }
        rests.end()
        #expect((0..<3).map { ended.code($0) } == [1003, 1003, 1003])
        #expect(!jobs.contains { rests.isResting($0) })
        rests.rest(try job(3), for: .zero)
        #expect(ended.code(3) == 1003)
        rests.end()
        #expect(requested.isEmpty && ended.count == 4)
    }

    @Test("Neither the queue nor its jobs outlive their use")
    func released() throws {
        weak var weakQueue: RestQueue?
        weak var weakJob: ImageJob?
        func run() throws {
            let (queue, resting) = (RestQueue(), try job(1))
            (weakQueue, weakJob) = (queue, resting)
            queue.rest(resting, for: .seconds(3600))
            queue.end()
        }
        try run()
        #expect(weakQueue == nil && weakJob == nil)
    }
}
