import KFNetwork
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("A job that is cancelled before it rests", .bounded)
struct CancelledRestTests {
    private final class Recipient: ImageRecipient {
        func take(_ ended: [EndedImage]) {}
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

    @Test("does not stay in the queue for the rest of its delay")
    func forgotten() async throws {
        let fixture = try ManagerFixture(transport: ScriptedTransport(.init(status: 503)))
        let strategy = Cancelling()
        let options = ManagerFixture.options { $0.retryStrategy = strategy }
        let source = Source.network(try RequestURL("http://h/a.png"))
        weak var resting: ImageJob?
        do {
            let manager = fixture.manager
            let job = ImageJob(
                manager, Retrieval(source, OptionsBox(options), manager.cache), for: Recipient())
            resting = job
            strategy.job.value = job
            manager.start([job])
        }
        #expect(await eventually { resting == nil })
    }
}
