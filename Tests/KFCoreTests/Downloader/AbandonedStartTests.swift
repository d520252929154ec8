import Glibc
import KFNetwork
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Downloads that are cancelled while they start", .bounded)
struct AbandonedStartTests {
    /// Cancels a task when a transfer is about to start.
    private final class Canceller: ImageDownloaderDelegate {
        let task = SharedValue<Task<RetrieveImageResult, any Error>?>(nil)

        func imageDownloader(willDownloadImageFor url: RequestURL, with request: ImageDownloadRequest) {
            // The transfer starts on another thread, and may be first.
            while task.value == nil { sched_yield() }
            task.value?.cancel()
        }
    }

    @Test("A download cancelled at its start ends its transfer", arguments: [false, true])
    func cancelled(looksForPartial: Bool) async throws {
        let transport = ManualTransport()
        let fixture = try ManagerFixture(transport: transport)
        if looksForPartial { fixture.manager.cache.notePartial() }
        let canceller = Canceller()
        fixture.manager.downloader.delegate = canceller
        let url = try RequestURL("http://h/a.png")
        let task = Task { () async throws -> RetrieveImageResult in
            try await fixture.manager.retrieveImage(with: .network(url), options: ManagerFixture.options())
        }
        canceller.task.value = task
        await #expect(throws: KingfisherError.self) { try await task.value }
        #expect(await eventually { !transport.urls.isEmpty && transport.open.isEmpty })
        #expect(transport.urls.count == 1 && transport.open.isEmpty)
        withExtendedLifetime(canceller) {}
    }
}
