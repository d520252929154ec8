import KFNetwork
import Support
import Testing

@testable import KFCore
@testable import KFPipeline
@testable import KFTerms

@Suite("Error codes of transfers", .bounded)
struct TransferFailureTests {
    private static let cases: [(TransferError, TransferFailure, transient: Bool)] = [
        (.resolve(host: "h"), .dns, true), (.connect(host: "h", detail: "refused"), .connection, true),
        (.proxy(detail: "gone"), .connection, true), (.proxyStatus(407), .connection, false),
        (.tls(.expired, host: "h", detail: ""), .tls, false), (.connectTimeout(host: "h"), .timeout, true),
        (.stalled(host: "h", after: .seconds(1)), .timeout, true), (.maxTimeExceeded(.seconds(1)), .timeout, true),
        (.truncated(expected: 2, got: 1), .interrupted, true), (.connectionLost(detail: "reset"), .interrupted, true),
        (.tooManyRedirects(limit: 1), .redirect, false), (.redirectRefused(status: 302), .redirect, false),
        (.privateAddress(host: "h", address: "::1"), .privateAddress, false),
        (.contentEncoding("x"), .other, false), (.libraryMissing(detail: ""), .other, false),
    ]

    @Test("Each network failure is error 2003 with its own name", arguments: cases.indices)
    func failures(_ index: Int) {
        let (error, failure, isTransient) = Self.cases[index]
        let expected = KingfisherError.responseError(
            reason: .transferError(failure, detail: error.message, isTransient: isTransient))
        #expect(KingfisherError(transfer: error) == expected)
        #expect(expected.errorCode == 2003)
        #expect(DelayRetryStrategy.canHelp(expected) == isTransient)
    }

    @Test("A malformed response is error 2001 and a missing one 2005")
    func answers() {
        let broken: [(TransferError, transient: Bool)] = [
            (.badHeaders(detail: "x"), false), (.unexpectedStatus(304), false),
            (.protocolError(detail: "x"), true),
        ]
        for (error, isTransient) in broken {
            let error = KingfisherError(transfer: error)
            #expect(error.errorCode == 2001)
            #expect(DelayRetryStrategy.canHelp(error) == isTransient)
        }
        let none = KingfisherError(transfer: .emptyReply)
        #expect(none == .responseError(reason: .noURLResponse) && none.errorCode == 2005)
        #expect(DelayRetryStrategy.canHelp(none))
    }

    @Test("A downloader that was shut down reports error 1007")
    func shutDown() async throws {
        let manager = try ManagerFixture().manager
        await manager.shutdown()
        let source = Source.network(try RequestURL("http://127.0.0.1:9/a.png"))
        let error = await #expect(throws: KingfisherError.self) { try await manager.retrieveImage(with: source) }
        #expect(error == .requestError(reason: .downloaderShutDown))
        #expect(error?.errorCode == 1007 && error?.isCancellation == false)
        let url = try RequestURL("http://127.0.0.1:9/a.png")
        await #expect(throws: KingfisherError.requestError(reason: .downloaderShutDown)) {
            try await manager.downloader.downloadImage(with: url)
        }
    }

    // MARK: Circuits

    /// A server that fails, save for /good.png.
    private func fixture(
        _ change: (inout ImageDownloader.Configuration) -> Void = { _ in }
    ) throws -> (manager: KingfisherManager, server: FaultServer) {
        let body = try ManagerFixture.fixture("png/one-pixel.png")
        let server = try FaultServer { request in
            request.path == "/good.png" ? [.reply(body: body)] : [.reply("500 Internal Server Error")]
        }
        var configuration = ImageDownloader.Configuration()
        change(&configuration)
        return (
            KingfisherManager(
                cache: ImageCache(.init(directory: nil)), downloader: ImageDownloader(configuration)), server
        )
    }

    private func codes(_ manager: KingfisherManager, _ urls: [String]) async throws -> [Int] {
        var codes: [Int] = []
        for url in urls {
            codes.append(
                await failure { try await manager.retrieveImage(with: .network(RequestURL(url))) }?.errorCode ?? 0)
        }
        return codes
    }

    @Test("Failing URLs do not block their host by default")
    func noCircuit() async throws {
        let (manager, server) = try fixture()
        let urls = (0..<20).map { server.url("/\($0).png") } + [server.url("/good.png")]
        #expect(try await codes(manager, urls) == Array(repeating: 2002, count: 20) + [0])
        await manager.shutdown()
    }

    @Test("An open circuit is error 2010")
    func circuit() async throws {
        let (manager, server) = try fixture { $0.failuresToOpenCircuit = 3 }
        let good = server.url("/good.png")
        let bad = (0..<3).map { server.url("/\($0).png") }
        #expect(try await codes(manager, bad + [good]) == [2002, 2002, 2002, 2010])
        #expect(server.requests.count == 3)
        #expect(try await codes(manager, [good.replacing("127.0.0.1", with: "127.0.0.2")]) == [2003])
        let source = Source.network(try RequestURL(good))
        let error = await #expect(throws: KingfisherError.self) { try await manager.retrieveImage(with: source) }
        guard case .responseError(reason: .circuitOpen(let host, let seconds)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(host == "127.0.0.1:\(server.port)" && seconds > 0 && seconds <= 60)
        #expect(error.map(DelayRetryStrategy.canHelp) == false)
        #expect(error?.isOriginUnavailable == true, "an expired image may serve")
        await manager.shutdown()
    }
}
