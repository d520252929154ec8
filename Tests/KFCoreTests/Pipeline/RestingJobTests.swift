import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Jobs that wait for a retry", .bounded)
struct RestingJobTests {
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

    @Test("Resting jobs go on in the order of their times")
    func order() async throws {
        rests.rest(
            try [60, 20, 80, 40, 0].enumerated().map { number, milliseconds in
                RestQueue.Wish(job: try job(number), span: .milliseconds(milliseconds))
            })
        #expect(await eventually { requested.count == 5 })
        #expect(requested == urls(4, 1, 3, 0, 2))
    }

    @Test("A hundred jobs with equal times each go on once")
    func many() async throws {
        for number in 0..<100 { rests.rest(try job(number), for: .milliseconds(number % 3)) }
        #expect(await eventually { requested.count == 100 })
        #expect(Set(requested).count == 100)
    }

    @Test("A zero, negative or very long rest is accepted")
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

    @Test("A forgotten job does not go on")
    func forgotten() async throws {
        let (a, b) = (try job(1), try job(2))
        rests.rest(a, for: .seconds(3600))
        rests.rest(b, for: .milliseconds(30))
        rests.forget(a)
        #expect(!rests.isResting(a))
        rests.forget(a)
        #expect(await eventually { requested.count == 1 })
        #expect(requested == urls(2))
        #expect(ended.count == 0, "who forgets it tells its recipient")
    }

    @Test("A cancelled job ends at once without a request")
    func cancelled() async throws {
        let downloads = fixture.manager.downloader.rests
        let (a, b) = (try job(1), try job(2))
        downloads.rest(a, for: .seconds(3600))
        downloads.rest(b, for: .milliseconds(30))
        a.cancel()
        #expect(ended.code(1) == 1003)
        #expect(!downloads.isResting(a))
        #expect(await eventually { requested.count == 1 })
        #expect(requested == urls(2))
    }

    @Test("A job cancelled before its rest is not kept")
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

    /// Cancels the job whose failure it decides on.
    private final class Cancelling: RetryStrategy {
        let job = SharedValue<ImageJob?>(nil)

        func decide(_ context: RetryContext) -> RetryDecision {
            job.value?.cancel()
            job.value = nil
            return .retry(after: .seconds(3600))
        }
    }

    @Test("A job cancelled during its retry decision is not kept")
    func cancelledInDecision() async throws {
        let fixture = try ManagerFixture(transport: ScriptedTransport(.init(status: 503)))
        let strategy = Cancelling()
        let options = OptionsBox(ManagerFixture.options { $0.retryStrategy = strategy })
        let source = Source.network(try RequestURL("http://h/a.png"))
        weak var resting: ImageJob?
        do {
            let manager = fixture.manager
            let job = ImageJob(manager, Retrieval(source, options, manager.cache), for: EndedImages())
            resting = job
            strategy.job.value = job
            ImageJob.start([job])
        }
        #expect(await eventually { resting == nil })
    }

    @Test("The end of the queue cancels all resting jobs")
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

    @Test("The queue and its jobs are released after use")
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
