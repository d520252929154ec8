import KFNetwork
import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The downloader", .bounded)
struct DownloadingBehaviourTests {
    private let transport: ScriptedTransport
    private let downloader: ImageDownloader
    private let body: [UInt8]

    init() throws {
        body = try ManagerFixture.fixture("png/rgb.png")
        transport = ScriptedTransport(.init(body: body))
        downloader = ImageDownloader(.init(), transport: transport)
    }

    private func url(_ path: String = "a.png") throws -> RequestURL { try RequestURL("http://h/\(path)") }

    /// Waits until so many wait for transfers.
    private func joined(_ count: Int) async -> Bool { await eventually { downloader.work.waiterCount == count } }

    @Test("Cancelling one URL leaves the downloads of others")
    func cancelByURL() async throws {
        transport.close()
        let (one, two) = (try url("1"), try url("2"))
        let first = Task { try await downloader.downloadImage(with: one) }
        let second = Task { try await downloader.downloadImage(with: two) }
        await transport.requested(2)
        downloader.cancel(url: one)
        await #expect(throws: KingfisherError.requestError(reason: .taskCancelled)) { try await first.value }
        let third = Task { try await downloader.downloadImage(with: one) }
        await transport.requested(3)
        downloader.cancelAll()
        for task in [second, third] {
            await #expect(throws: KingfisherError.requestError(reason: .taskCancelled)) { try await task.value }
        }
    }

    @Test("A URL can be downloaded again while its cancellation ends")
    func restart() async throws {
        transport.close()
        let url = try url()
        let first = Task { try await downloader.downloadImage(with: url) }
        await transport.requested(1)
        first.cancel()
        let second = Task { try await downloader.downloadImage(with: url) }
        await transport.requested(2)
        transport.open()
        await #expect(throws: KingfisherError.self) { try await first.value }
        #expect(try await second.value.originalData == body)
    }

    /// Added to by several threads.
    private final class Names: Sendable {
        let names = Mutex<[String]>([])
    }

    @Test("Calls with different processors share one download")
    func processors() async throws {
        transport.close()
        let url = try url()
        let made = Names()
        let counting = { @Sendable (name: String) in
            CustomImageProcessor(identifier: name) { bitmap throws(ImagingError) in
                made.names.withLock { $0.append(name) }
                return bitmap
            }
        }
        let tasks = ["one", "two", "one", "two"].map { name in
            Task {
                try await downloader.downloadImage(with: url, options: KingfisherOptions([.processor(counting(name))]))
            }
        }
        await transport.requested(1)
        #expect(await joined(4))
        transport.open()
        for task in tasks { #expect(try await task.value.originalData == body) }
        #expect(transport.requests.count == 1)
        #expect(made.names.withLock { $0.sorted() } == ["one", "two"])
    }

    @Test("A modifier can refuse a request or change it")
    func modifiers() async throws {
        func code(_ modify: @escaping @Sendable (ImageDownloadRequest) async -> ImageDownloadRequest?) async -> Int? {
            let options = KingfisherOptions([.requestModifier(AnyModifier(modify: modify))])
            return await failure { try await downloader.downloadImage(with: url(), options: options) }?.errorCode
        }
        #expect(await code { _ in nil } == 1001)
        #expect(await code { _ in ImageDownloadRequest(url: nil) } == 1002)
        #expect(transport.requests.isEmpty)
        #expect(
            await code { request in
                var request = request
                request.url = try? RequestURL("http://other/b.png")
                request.headers.append(("X-Signed", "yes"))
                return request
            } == nil)
        #expect(transport.requests.first?.url == "http://other/b.png")
        #expect(transport.requests.first?.headers.contains { $0 == ("X-Signed", "yes") } == true)
    }

    private final class Delegate: ImageDownloaderDelegate {
        let events = Mutex<[String]>([])
        let refusesData: Bool
        let disposition: ResponseDisposition
        let accepted: Set<Int>

        init(refusesData: Bool = false, disposition: ResponseDisposition = .allow, accepted: Set<Int> = [200]) {
            self.refusesData = refusesData
            self.disposition = disposition
            self.accepted = accepted
        }

        private func note(_ event: String) { events.withLock { $0.append(event) } }

        func imageDownloader(willDownloadImageFor url: RequestURL, with request: ImageDownloadRequest) { note("will") }

        func imageDownloader(
            didFinishDownloadingImageFor url: RequestURL, with response: ResponseFacts?, error: KingfisherError?
        ) { note("finish \(error?.errorCode ?? response?.status ?? 0)") }

        func imageDownloader(didDownload data: [UInt8], for url: RequestURL) -> [UInt8]? {
            note("data")
            return refusesData ? nil : data
        }

        func imageDownloader(didDownload image: Image, for url: RequestURL, with response: ResponseFacts?) {
            note("image")
        }

        func isValidStatusCode(_ code: Int) -> Bool { accepted.contains(code) }

        func imageDownloader(didReceive response: ResponseFacts, for url: RequestURL) async -> ResponseDisposition {
            note("response")
            return disposition
        }
    }

    @Test("The delegate gets each event once and in order")
    func delegate() async throws {
        let delegate = Delegate()
        downloader.delegate = delegate
        _ = try await downloader.downloadImage(with: url())
        #expect(delegate.events.withLock { $0 } == ["will", "response", "data", "finish 200", "image"])
    }

    @Test("A data hook that returns nothing ends the download with 2004")
    func dataHook() async throws {
        let delegate = Delegate(refusesData: true)
        downloader.delegate = delegate
        await #expect(throws: KingfisherError.responseError(reason: .dataModifyingFailed)) {
            try await downloader.downloadImage(with: url())
        }
        #expect(delegate.events.withLock { $0.filter { $0.hasPrefix("finish") } } == ["finish 2004"])
    }

    @Test("A response hook that cancels ends the download with 2006")
    func responseHook() async throws {
        let delegate = Delegate(disposition: .cancel)
        downloader.delegate = delegate
        await #expect(throws: KingfisherError.responseError(reason: .cancelledByDelegate)) {
            try await downloader.downloadImage(with: url())
        }
        #expect(delegate.events.withLock { $0 } == ["will", "response", "finish 2006"])
    }

    @Test("The delegate decides which statuses are accepted")
    func statusHook() async throws {
        let teapot = ScriptedTransport(.init(status: 418, body: body))
        let downloader = ImageDownloader(.init(), transport: teapot)
        await #expect(throws: KingfisherError.self) { try await downloader.downloadImage(with: url()) }
        let delegate = Delegate(accepted: [418])
        downloader.delegate = delegate
        #expect(try await downloader.downloadImage(with: url()).response?.status == 418)
    }

    @Test("Progress reaches a call that joins a download")
    func wishes() async throws {
        transport.close()
        let url = try url()
        let seen = SharedValue<[Int64]>([])
        let low = Task {
            try await downloader.downloadImage(with: url, options: KingfisherOptions([.downloadPriority(0.1)]))
        }
        await transport.requested(1)
        let high = Task {
            try await downloader.downloadImage(
                with: url, options: KingfisherOptions([.downloadPriority(0.9)]),
                progress: { received, _ in seen.value.append(received) })
        }
        #expect(await joined(2))
        transport.open()
        _ = try await (low.value, high.value)
        #expect(seen.value == [Int64(body.count)])
        #expect(transport.requests[0].priority == 0.1)
    }
}
