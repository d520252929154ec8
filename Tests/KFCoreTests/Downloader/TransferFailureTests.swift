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

    private static let good = "http://h/good.png"

    private func fixture(
        _ body: [UInt8], _ change: (inout ImageDownloader.Configuration) -> Void = { _ in }
    ) throws -> (manager: KingfisherManager, transport: ScriptedTransport) {
        let transport = ScriptedTransport { request, _ in
            request.url == Self.good ? .init(body: body) : .init(status: 500)
        }
        var configuration = ImageDownloader.Configuration()
        change(&configuration)
        return (
            KingfisherManager(
                cache: ImageCache(.init(directory: nil)),
                downloader: ImageDownloader(configuration, transport: transport)), transport
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
        let (manager, _) = try fixture(try ManagerFixture.fixture("png/one-pixel.png"))
        let bad = (0..<10).map { "http://h/\($0).png" }
        #expect(try await codes(manager, bad + [Self.good]) == Array(repeating: 2002, count: 10) + [0])
    }

    @Test("A remembered lookup failure counts once for the circuit")
    func rememberedLookup() async throws {
        let transport = ScriptedTransport { request, _ in
            var answer = ScriptedTransport.Answer()
            if request.url != Self.good {
                answer.error = .resolve(host: "h", isRemembered: request.url != "http://h/0.png")
            } else {
                answer.body = (try? ManagerFixture.fixture("png/one-pixel.png")) ?? []
            }
            return answer
        }
        var configuration = ImageDownloader.Configuration()
        configuration.failuresToOpenCircuit = 3
        let manager = KingfisherManager(
            cache: ImageCache(.init(directory: nil)), downloader: ImageDownloader(configuration, transport: transport))
        let bad = (0..<20).map { "http://h/\($0).png" }
        #expect(try await codes(manager, bad + [Self.good]) == Array(repeating: 2003, count: 20) + [0])
    }

    @Test("An open circuit is error 2010")
    func circuit() async throws {
        let (manager, transport) = try fixture(try ManagerFixture.fixture("png/one-pixel.png")) {
            $0.failuresToOpenCircuit = 3
        }
        let bad = (0..<3).map { "http://h/\($0).png" }
        #expect(try await codes(manager, bad + [Self.good]) == [2002, 2002, 2002, 2010])
        #expect(transport.requests.count == 3)
        #expect(try await codes(manager, ["http://other/a.png"]) == [2002])
        let source = Source.network(try RequestURL(Self.good))
        let error = await #expect(throws: KingfisherError.self) { try await manager.retrieveImage(with: source) }
        guard case .responseError(reason: .circuitOpen(let host, let seconds)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(host == "h" && seconds > 0 && seconds <= 60)
        #expect(error.map(DelayRetryStrategy.canHelp) == false)
        #expect(error?.isOriginUnavailable == true, "an expired image may serve")
    }
}
