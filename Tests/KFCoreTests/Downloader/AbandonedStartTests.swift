import Glibc
import KFNetwork
import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("A download that is cancelled while it starts", .bounded)
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

    /// A transport whose transfers end only by cancellation.
    private final class EndlessTransport: Transport {
        private let running = Mutex<[UInt64: TransferStart]>([:])
        let started = Atomic(0)

        var isIdle: Bool { running.withLock { $0.isEmpty } }

        func start(_ transfers: [TransferStart]) {
            running.withLock { running in
                for transfer in transfers { running[transfer.id] = transfer }
            }
            started.add(transfers.count, ordering: .relaxed)
        }

        func cancel(_ id: UInt64) {
            guard let transfer = running.withLock({ $0.removeValue(forKey: id) }) else { return }
            transfer.receiver.ended([
                EndedTransfer(id: id, token: transfer.token, result: .failure(.cancelled))
            ])
        }

        func prioritize(_ id: UInt64, _ priority: Float) {}
        func hold(_ isHeld: Bool) {}
        func pause(host: String, for duration: Duration) {}
        func drain() {}
        func shutdown() {}
    }

    @Test(
        "Its transfer is cancelled, also when it starts behind the look for a partial body", arguments: [false, true])
    func cancelled(looksForPartial: Bool) async throws {
        let transport = EndlessTransport()
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
        #expect(await eventually { transport.started.load(ordering: .relaxed) > 0 && transport.isIdle })
        #expect(transport.started.load(ordering: .relaxed) == 1)
        #expect(transport.isIdle)
        withExtendedLifetime(canceller) {}
    }
}
